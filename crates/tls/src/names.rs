//! What the servers, and OpenSSL, call versions, ciphers and distinguished names.

use events::{CertificateDigest, PeerCertificate, TlsFacts};
use rustls::pki_types::CertificateDer;
use rustls::{CipherSuite, CommonState, ProtocolVersion};
use x509_parser::prelude::{FromDer, X509Certificate};
use x509_parser::x509::X509Name;

/// What was agreed upon, once it was, with a peer that we have `shown` a certificate.
pub(crate) fn facts(connection: &CommonState, shown: Option<CertificateDigest>) -> TlsFacts {
    let suite = connection.negotiated_cipher_suite();
    let certificate = connection
        .peer_certificates()
        .and_then(<[_]>::first)
        .and_then(certificate);
    TlsFacts {
        version: version(connection.protocol_version()),
        cipher: suite.map_or("", |suite| cipher(suite.suite())),
        certificate: certificate.map(Box::new),
        shown,
    }
}

fn version(version: Option<ProtocolVersion>) -> &'static str {
    match version {
        Some(ProtocolVersion::TLSv1_2) => "TLSv1.2",
        Some(ProtocolVersion::TLSv1_3) => "TLSv1.3",
        _ => "",
    }
}

fn cipher(suite: CipherSuite) -> &'static str {
    match suite {
        CipherSuite::TLS13_AES_128_GCM_SHA256 => "TLS_AES_128_GCM_SHA256",
        CipherSuite::TLS13_AES_256_GCM_SHA384 => "TLS_AES_256_GCM_SHA384",
        CipherSuite::TLS13_CHACHA20_POLY1305_SHA256 => "TLS_CHACHA20_POLY1305_SHA256",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 => "ECDHE-ECDSA-AES128-GCM-SHA256",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 => "ECDHE-ECDSA-AES256-GCM-SHA384",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 => {
            "ECDHE-ECDSA-CHACHA20-POLY1305"
        }
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 => "ECDHE-RSA-AES128-GCM-SHA256",
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 => "ECDHE-RSA-AES256-GCM-SHA384",
        CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 => "ECDHE-RSA-CHACHA20-POLY1305",
        other => other.as_str().unwrap_or_default(),
    }
}

fn certificate(der: &CertificateDer<'_>) -> Option<PeerCertificate> {
    let (_, certificate) = X509Certificate::from_der(der).ok()?;
    Some(PeerCertificate {
        subject: one_line(certificate.subject()),
        issuer: one_line(certificate.issuer()),
    })
}

/// As `X509_NAME_oneline` writes it.
fn one_line(name: &X509Name<'_>) -> String {
    let mut line = String::new();
    for attribute in name.iter_attributes() {
        let registry = x509_parser::objects::oid_registry();
        let key = x509_parser::objects::oid2abbrev(attribute.attr_type(), registry);
        let key = key.map_or_else(|_| attribute.attr_type().to_id_string(), str::to_owned);
        let value = attribute.as_str().unwrap_or_default();
        line.push('/');
        line.push_str(&key);
        line.push('=');
        line.push_str(value);
    }
    line
}
