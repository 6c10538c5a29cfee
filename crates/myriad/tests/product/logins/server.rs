//! A server that can be reached in every way: over TCP, with TLS, and over its unix socket.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use localdb::{LocalDb, Options};
use rcgen::{CertificateParams, KeyPair};
use tempfile::TempDir;

use crate::support::{Address, Server};

/// The server, which ends with the thread that started it.
pub(super) struct Reachable {
    local: LocalDb,
    tcp: SocketAddr,
    _folder: TempDir,
}

impl Reachable {
    pub(super) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        // The server may run as another user.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let port = free_port();
        let options = Options::in_folder(folder.path().join("data"))
            .port(port)
            .server_arg("--max-connections=1000");
        let options = certificate(folder.path())
            .into_iter()
            .fold(options, Options::server_arg);
        let local = LocalDb::start(Server::chosen().arrange(options)).unwrap();
        local.load_sample().unwrap();
        Self {
            local,
            tcp: (Ipv4Addr::LOCALHOST, port).into(),
            _folder: folder,
        }
    }

    /// Runs statements as root.
    pub(super) fn execute(&self, sql: &str) -> String {
        self.local.execute(sql).unwrap()
    }

    pub(super) fn tcp(&self) -> SocketAddr {
        self.tcp
    }

    pub(super) fn socket(&self) -> &Path {
        self.local.socket()
    }

    pub(super) fn address(&self) -> Address {
        Address::Unix(self.socket().to_owned())
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap().port()
}

/// Makes one and says where it is. MariaDB makes none for itself.
fn certificate(folder: &Path) -> [String; 2] {
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let key = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).unwrap();
    let pem = params.self_signed(&key).unwrap().pem();
    [("cert", pem), ("key", key.serialize_pem())].map(|(what, pem)| {
        let path = folder.join(format!("{what}.pem"));
        fs::write(&path, pem).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        format!("--ssl-{what}={}", path.display())
    })
}
