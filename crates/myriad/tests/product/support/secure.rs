//! A database of a test's own that is reached over TLS.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use localdb::{LocalDb, Options};
use rcgen::{CertificateParams, DnType, KeyPair};
use tempfile::TempDir;

use super::{Address, Client, FrontDoor, Login, Outcome, Pair, Server, authority};

/// A server over TCP, with certificates of an authority, and a private database that has them.
pub(crate) struct Secure {
    address: Address,
    pub(crate) local: LocalDb,
    pub(crate) authority: PathBuf,
    _folder: TempDir,
}

impl Secure {
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (authority, issuer) = authority(folder.path());
        let pair = Pair {
            certificate: folder.path().join("server-cert.pem"),
            key: folder.path().join("server-key.pem"),
        };
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, "server");
        let key = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).unwrap();
        let certificate = params.signed_by(&key, &issuer).unwrap();
        fs::write(&pair.certificate, certificate.pem()).unwrap();
        fs::write(&pair.key, key.serialize_pem()).unwrap();
        let arguments = ["--require-secure-transport=ON"];
        let (local, address) = database_with(folder.path(), (&authority, &pair), &arguments);
        Self {
            address,
            local,
            authority,
            _folder: folder,
        }
    }

    /// A front door with these settings that knows it by this name.
    pub(crate) fn door(&self, host: &str, settings: &[&str]) -> FrontDoor {
        let Address::Tcp(address) = &self.address else {
            unreachable!("it is reached over TCP")
        };
        let backend = format!("backend.address = \"{address}\"");
        let named = format!("backend.address = \"{host}:{}\"", address.port());
        let more = ["backend.queue_timeout = \"2s\""];
        let settings = [&more[..], settings].concat();
        FrontDoor::start_with(&self.address, &settings, |text| {
            assert!(text.contains(&backend), "{text}");
            text.replace(&backend, &named)
        })
    }

    /// What becomes of a statement through a front door with these settings.
    pub(crate) fn through(&self, host: &str, settings: &[&str]) -> Outcome {
        let door = self.door(host, settings);
        let mut client = match Client::login(&door.address(), &Login::default()) {
            Ok(client) => client,
            Err(outcome) => return outcome,
        };
        let sql = "SELECT VARIABLE_VALUE FROM performance_schema.session_status \
                   WHERE VARIABLE_NAME = 'Ssl_version'";
        let of_mariadb = "SELECT VARIABLE_VALUE FROM information_schema.SESSION_STATUS \
                          WHERE VARIABLE_NAME = 'Ssl_version'";
        let sql = if Server::is_mariadb() {
            of_mariadb
        } else {
            sql
        };
        client.run(sql).remove(0)
    }
}

/// A database in this folder that speaks TLS over TCP, with this authority and this certificate.
pub(crate) fn database_with(
    folder: &Path,
    (authority, own): (&Path, &Pair),
    arguments: &[&str],
) -> (LocalDb, Address) {
    // The server may run as another user.
    for path in [&own.certificate, &own.key, authority] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
    }
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    let port = free_port();
    let mut options = Options::in_folder(folder.join("data")).port(port);
    let files = [
        ("ca", authority),
        ("cert", &own.certificate),
        ("key", &own.key),
    ];
    for (name, path) in files {
        options = options.server_arg(format!("--ssl-{name}={}", path.display()));
    }
    for argument in arguments {
        options = options.server_arg(*argument);
    }
    let local = LocalDb::start(Server::chosen().arrange(options)).unwrap();
    local.load_sample().unwrap();
    (local, Address::Tcp(([127, 0, 0, 1], port).into()))
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.local_addr().unwrap().port()
}
