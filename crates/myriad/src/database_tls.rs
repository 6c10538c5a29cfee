//! TLS of the few connections to the database that are not a worker's: the account reader's, and the doctor's.
//!
//! Says `[backend]`'s settings in the driver's words. What workers speak TLS with is the matter of
//! `certificates`.

use std::path::Path;

use config::{Backend, BackendTls};
use mysql_async::{ClientIdentity, SslOpts};

/// The driver tells a name that does not fit from other errors by looking for this in the error's text, which
/// rustls no longer writes there. But rustls writes the name that was expected, and only into that error.
const NO_NAME: &str = "NotValidForName";

/// How such a connection speaks TLS; `None`: it does not. Over a unix socket none does. The files are
/// read for each connection anew.
pub(crate) fn of_backend(backend: &Backend) -> Option<SslOpts> {
    let trusting = |ca: Option<&Path>| {
        let ca = ca.map(|path| path.to_owned().into());
        SslOpts::default()
            .with_disable_built_in_roots(true)
            .with_root_certs(ca.into_iter().collect())
    };
    let is_tcp = matches!(backend.address, config::Address::Tcp { .. });
    let ca = backend.tls_ca.as_deref();
    let options = match backend.tls {
        _ if !is_tcp => None,
        BackendTls::Off => None,
        BackendTls::Require => Some(SslOpts::default().with_danger_accept_invalid_certs(true)),
        BackendTls::VerifyCa => Some(
            trusting(ca)
                .with_danger_skip_domain_validation(true)
                .with_danger_tls_hostname_override(Some(NO_NAME)),
        ),
        BackendTls::VerifyIdentity => Some(trusting(ca)),
    };
    let pair = backend
        .tls_certificate
        .as_ref()
        .zip(backend.tls_key.as_ref());
    let identity = pair.map(|(certificate, key)| {
        ClientIdentity::new(certificate.clone().into(), key.clone().into())
    });
    options.map(|options| options.with_client_identity(identity))
}
