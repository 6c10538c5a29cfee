//! A certificate with its key: from PEM, or made here. Owns no file.

use std::sync::Arc;

use events::CertificateDigest;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use sha2::{Digest, Sha256};

use crate::TlsError;

/// Who makes a certificate for itself calls itself so.
const COMMON_NAME: &str = "Myriad auto-generated certificate";

/// A chain of certificates, the own one first, and its key.
pub struct Identity {
    pub(crate) chain: Vec<CertificateDer<'static>>,
    pub(crate) key: PrivateKeyDer<'static>,
}

/// A certificate that was made here, and its key, as PEM.
pub struct MadeHere {
    /// The certificate.
    pub certificate: String,
    /// Its key.
    pub key: String,
}

impl Identity {
    /// From PEM.
    ///
    /// # Errors
    /// [`TlsError::Pem`] if either of them is not there.
    pub fn from_pem(certificates: &[u8], key: &[u8]) -> Result<Self, TlsError> {
        let chain = certificates_from_pem(certificates, "the certificate")?;
        let key = PrivateKeyDer::from_pem_slice(key)
            .map_err(|error| TlsError::Pem("the key", error.to_string()))?;
        Ok(Self { chain, key })
    }

    /// The digest of the own certificate.
    pub(crate) fn digest(&self) -> CertificateDigest {
        let own = self.chain.first().map_or(&[][..], |own| own.as_ref());
        Arc::new(Sha256::digest(own).into())
    }
}

impl Clone for Identity {
    fn clone(&self) -> Self {
        Self {
            chain: self.chain.clone(),
            key: self.key.clone_key(),
        }
    }
}

impl MadeHere {
    /// A new key, and a certificate for it that nobody else vouches for. `names` are the host names and
    /// addresses that it is for.
    ///
    /// # Errors
    /// [`TlsError::Making`] if a name cannot stand in a certificate.
    pub fn new(names: Vec<String>) -> Result<Self, TlsError> {
        let mut params = CertificateParams::new(names)?;
        let mut name = DistinguishedName::new();
        name.push(DnType::CommonName, COMMON_NAME);
        params.distinguished_name = name;
        let key = KeyPair::generate()?;
        let certificate = params.self_signed(&key)?;
        Ok(Self {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        })
    }
}

/// All certificates in a PEM text; at least one.
pub(crate) fn certificates_from_pem(
    pem: &[u8],
    what: &'static str,
) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match certificates {
        Ok(none) if none.is_empty() => Err(TlsError::Pem(what, "it has no certificate".into())),
        Ok(certificates) => Ok(certificates),
        Err(error) => Err(TlsError::Pem(what, error.to_string())),
    }
}
