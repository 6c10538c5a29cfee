//! What can be wrong with certificates and keys.

/// Why something cannot be used for TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A certificate or key is not PEM, or there is none in it.
    #[error("{0} cannot be read as PEM: {1}")]
    Pem(&'static str, String),
    /// What was read does not fit together or cannot be used.
    #[error("it cannot be used: {0}")]
    Unusable(#[from] rustls::Error),
    /// The certificates of authorities cannot be used.
    #[error("the certificates of authorities cannot be used: {0}")]
    Authorities(String),
    /// Neither a host name nor an address.
    #[error("{0:?} is no name that a certificate could have")]
    Name(String),
    /// No certificate could be made.
    #[error("no certificate could be made: {0}")]
    Making(#[from] rcgen::Error),
}
