//! How backends, or whoever we are a client of, are verified. Shared by all workers.

use std::sync::{Arc, PoisonError, RwLock};

use rustls::ClientConfig;
use rustls::client::danger::ServerCertVerifier;
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::ring;
use rustls::pki_types::ServerName;

use crate::TlsError;
use crate::identity::Identity;
use crate::server::authorities;
use crate::verify::AnyName;

/// How the peer is verified. The texts are PEM.
#[derive(Clone, Copy, Debug)]
pub enum Verify<'a> {
    /// Not at all: who can change what passes can read it.
    Nothing,
    /// One of these authorities vouches for it, whatever its name.
    Authority(&'a [u8]),
    /// One of these authorities vouches for it under the name that it was reached by.
    Identity(&'a [u8]),
}

/// Our end towards backends.
pub struct Client {
    now: RwLock<Arc<ClientConfig>>,
    name: ServerName<'static>,
}

impl Client {
    /// Reaches peers as `host`, a host name or an address. Shows `identity` to those who ask.
    ///
    /// # Errors
    /// [`TlsError`], if something of that cannot be used.
    pub fn new(
        host: &str,
        verify: Verify<'_>,
        identity: Option<&Identity>,
    ) -> Result<Self, TlsError> {
        let name = ServerName::try_from(host.to_owned());
        let name = name.map_err(|_| TlsError::Name(host.to_owned()))?;
        Ok(Self {
            now: RwLock::new(config(verify, identity)?),
            name,
        })
    }

    /// Each connection agrees on keys anew.
    #[must_use]
    pub fn without_resumption(self) -> Self {
        let (config, name) = self.config();
        let mut config = ClientConfig::clone(&config);
        config.resumption = Resumption::disabled();
        Self {
            now: RwLock::new(Arc::new(config)),
            name,
        }
    }

    /// From now on verifies like that.
    ///
    /// # Errors
    /// As [`Client::new`]; then everything is as it was.
    pub fn replace(&self, verify: Verify<'_>, identity: Option<&Identity>) -> Result<(), TlsError> {
        let config = config(verify, identity)?;
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = config;
        Ok(())
    }

    /// For the next connection.
    pub(crate) fn config(&self) -> (Arc<ClientConfig>, ServerName<'static>) {
        let now = self.now.read().unwrap_or_else(PoisonError::into_inner);
        (now.clone(), self.name.clone())
    }
}

fn config(verify: Verify<'_>, identity: Option<&Identity>) -> Result<Arc<ClientConfig>, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let trusted = |pem| {
        let roots = Arc::new(authorities(pem)?);
        WebPkiServerVerifier::builder_with_provider(roots, provider.clone())
            .build()
            .map_err(|error| TlsError::Authorities(error.to_string()))
    };
    let verifier: Arc<dyn ServerCertVerifier> = match verify {
        Verify::Nothing => Arc::new(AnyName::new(provider.clone(), None)),
        Verify::Authority(pem) => Arc::new(AnyName::new(provider.clone(), Some(trusted(pem)?))),
        Verify::Identity(pem) => trusted(pem)?,
    };
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let config = match identity {
        None => builder.with_no_client_auth(),
        Some(identity) => {
            let (chain, key) = (identity.chain.clone(), identity.key.clone_key());
            builder.with_client_auth_cert(chain, key)?
        }
    };
    Ok(Arc::new(config))
}
