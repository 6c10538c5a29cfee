//! What clients are shown, and what is asked of them. Shared by all workers, and replaced in one piece while
//! connections go on with what they began with.

use std::sync::{Arc, PoisonError, RwLock};

use events::CertificateDigest;
use rustls::RootCertStore;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::server::{NoServerSessionStorage, ProducesTickets, WebPkiClientVerifier};

use crate::TlsError;
use crate::identity::{Identity, certificates_from_pem};

/// Each is good for one resumption; a client that wants more of them asks by resuming.
const TICKETS: usize = 1;

/// Our end towards clients.
pub struct Server {
    now: RwLock<Offer>,
}

struct Offer {
    config: Arc<ServerConfig>,
    /// Of the certificate.
    shown: CertificateDigest,
    tickets: Arc<dyn ProducesTickets>,
    /// Of those who vouch for clients; a ticket tells of a certificate that was verified then.
    client_ca: Option<Vec<u8>>,
}

impl Server {
    /// Shows `identity`. A client may show a certificate that one of `client_ca`, which is PEM, vouches for.
    ///
    /// # Errors
    /// [`TlsError`], if certificate and key do not fit, or an authority cannot be read.
    pub fn new(identity: &Identity, client_ca: Option<&[u8]>) -> Result<Self, TlsError> {
        let tickets = ring::Ticketer::new()?;
        let offer = Offer::new(identity, client_ca, tickets)?;
        Ok(Self {
            now: RwLock::new(offer),
        })
    }

    /// From now on shows that. Sessions of before can be resumed unless other authorities count.
    ///
    /// # Errors
    /// As [`Server::new`]; then everything is as it was.
    pub fn replace(&self, identity: &Identity, client_ca: Option<&[u8]>) -> Result<(), TlsError> {
        let before = {
            let now = self.now.read().unwrap_or_else(PoisonError::into_inner);
            let same = now.client_ca.as_deref() == client_ca;
            same.then(|| now.tickets.clone())
        };
        let tickets = match before {
            Some(tickets) => tickets,
            None => ring::Ticketer::new()?,
        };
        let offer = Offer::new(identity, client_ca, tickets)?;
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = offer;
        Ok(())
    }

    /// For the next connection, and the digest of the certificate that it shows.
    pub fn config(&self) -> (Arc<ServerConfig>, CertificateDigest) {
        let now = self.now.read().unwrap_or_else(PoisonError::into_inner);
        (now.config.clone(), now.shown.clone())
    }
}

impl Offer {
    fn new(
        identity: &Identity,
        client_ca: Option<&[u8]>,
        tickets: Arc<dyn ProducesTickets>,
    ) -> Result<Self, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()?;
        let builder = match client_ca {
            None => builder.with_no_client_auth(),
            Some(pem) => {
                let roots = Arc::new(authorities(pem)?);
                // Who shows none is let in here: what an account requires is the engine's matter.
                let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider)
                    .allow_unauthenticated()
                    .build()
                    .map_err(|error| TlsError::Authorities(error.to_string()))?;
                builder.with_client_cert_verifier(verifier)
            }
        };
        let (chain, key) = (identity.chain.clone(), identity.key.clone_key());
        let mut config = builder.with_single_cert(chain, key)?;
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.ticketer = tickets.clone();
        config.send_tls13_tickets = TICKETS;
        Ok(Self {
            config: Arc::new(config),
            shown: identity.digest(),
            tickets,
            client_ca: client_ca.map(<[u8]>::to_vec),
        })
    }
}

/// The certificates in a PEM text, as those who vouch for others.
pub(crate) fn authorities(pem: &[u8]) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates_from_pem(pem, "the file of authorities")? {
        roots
            .add(certificate)
            .map_err(|error| TlsError::Authorities(error.to_string()))?;
    }
    Ok(roots)
}
