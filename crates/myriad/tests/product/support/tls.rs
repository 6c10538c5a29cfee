//! TLS of a client that trusts one certificate.

use std::net::TcpStream;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// A connection over TLS.
pub(crate) type Stream = StreamOwned<ClientConnection, TcpStream>;

/// From here on the connection speaks TLS.
pub(crate) fn secured(stream: TcpStream, trusted: &[u8]) -> Stream {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(trusted) {
        roots.add(certificate.unwrap()).unwrap();
    }
    let config = ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = "localhost".try_into().unwrap();
    StreamOwned::new(
        ClientConnection::new(Arc::new(config), name).unwrap(),
        stream,
    )
}
