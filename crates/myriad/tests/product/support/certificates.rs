//! Certificates that tests make, and who vouches for them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

/// A certificate for `localhost` with its key, in files that are written anew.
pub(crate) struct Pair {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

impl Pair {
    pub(crate) fn in_folder(folder: &Path) -> Self {
        let pair = Self {
            certificate: folder.join("cert.pem"),
            key: folder.join("key.pem"),
        };
        pair.renew("first");
        pair
    }

    pub(crate) fn renew(&self, common_name: &str) -> String {
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params
            .distinguished_name
            .push(DnType::CommonName, common_name);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        fs::write(&self.key, key.serialize_pem()).unwrap();
        fs::set_permissions(&self.key, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&self.certificate, &pem).unwrap();
        pem
    }

    pub(crate) fn settings(&self) -> [String; 2] {
        [("certificate", &self.certificate), ("key", &self.key)]
            .map(|(name, path)| format!("tls.{name} = {:?}", path.display().to_string()))
    }
}

/// An authority, and the file with its certificate.
pub(crate) fn authority(folder: &Path) -> (PathBuf, CertifiedIssuer<'static, KeyPair>) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params
        .distinguished_name
        .push(DnType::CommonName, "authority");
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let file = folder.join("ca.pem");
    fs::write(&file, authority.pem()).unwrap();
    (file, authority)
}

/// An authority, in a file, and a certificate for a client that it vouches for.
pub(crate) fn authority_and_client(folder: &Path) -> (PathBuf, Pair) {
    let (file, authority) = authority(folder);
    let pair = Pair {
        certificate: folder.join("client-cert.pem"),
        key: folder.join("client-key.pem"),
    };
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(DnType::CommonName, "app");
    let key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, &authority).unwrap();
    fs::write(&pair.certificate, certificate.pem()).unwrap();
    fs::write(&pair.key, key.serialize_pem()).unwrap();
    (file, pair)
}
