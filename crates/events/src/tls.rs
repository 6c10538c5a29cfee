//! What there is to say of a TLS connection. Owns no cryptography.

use std::sync::Arc;

/// The SHA-256 digest of a certificate, as it is sent (DER).
pub type CertificateDigest = Arc<[u8; 32]>;

/// What was agreed upon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFacts {
    /// The version, as the servers name it: `TLSv1.3`.
    pub version: &'static str,
    /// The cipher suite, as the servers name it: `TLS_AES_256_GCM_SHA384`.
    pub cipher: &'static str,
    /// The peer's certificate, if it showed one; it has been verified.
    pub certificate: Option<Box<PeerCertificate>>,
    /// The digest of the certificate that our end has shown; `None` if it has shown none.
    pub shown: Option<CertificateDigest>,
}

/// Whom a certificate is for, and who says so. Distinguished names as OpenSSL writes them on one line:
/// `/C=SE/O=Example/CN=app`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerCertificate {
    /// Whom it is for.
    pub subject: String,
    /// Who issued it.
    pub issuer: String,
}
