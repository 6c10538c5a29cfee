//! `[tls]`: TLS towards clients. Owns the keys; the files that they name are read elsewhere.

use std::path::{Path, PathBuf};

use crate::error::Wrong;
use crate::password::Surroundings;
use crate::section::Section;
use crate::value;

/// The words for `mode`.
pub(crate) const MODES: [(&str, TlsMode); 3] = [
    ("off", TlsMode::Off),
    ("offer", TlsMode::Offer),
    ("require", TlsMode::Require),
];

/// The words for `backend.tls`, which are those of MySQL's `ssl-mode`, shorter.
pub(crate) const BACKEND: [(&str, BackendTls); 4] = [
    ("off", BackendTls::Off),
    ("require", BackendTls::Require),
    ("verify_ca", BackendTls::VerifyCa),
    ("verify_identity", BackendTls::VerifyIdentity),
];

/// The words for `require` of an account.
pub(crate) const REQUIRE: [(&str, Require); 3] = [
    ("none", Require::None),
    ("ssl", Require::Ssl),
    ("x509", Require::X509),
];

/// TLS towards clients.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tls {
    /// Whether clients may, or must, use it.
    pub mode: TlsMode,
    /// The certificate and those that vouch for it, as PEM; `None` = one that is made here.
    pub certificate: Option<PathBuf>,
    /// Its key; given exactly if the certificate is.
    pub key: Option<PathBuf>,
    /// Who vouches for clients' certificates, as PEM; `None` = clients are not asked for any.
    pub client_ca: Option<PathBuf>,
}

/// Whether clients may, or must, use TLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TlsMode {
    /// They are not offered it.
    Off,
    /// They may.
    #[default]
    Offer,
    /// They must, unless they come over a unix socket.
    Require,
}

/// How backends are connected to over TCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum BackendTls {
    /// Without TLS.
    #[default]
    Off,
    /// With TLS, whatever certificate is shown.
    Require,
    /// The certificate must be vouched for.
    VerifyCa,
    /// And it must be for the host name of `address`.
    VerifyIdentity,
}

/// How the clients of an account must connect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Require {
    /// As they like.
    #[default]
    None,
    /// With TLS.
    Ssl,
    /// With TLS and a certificate that was verified.
    X509,
}

impl Tls {
    pub(crate) fn read(section: &mut Section<'_, '_>, surroundings: &Surroundings) -> Self {
        let default = Self::default();
        let tls = Self {
            mode: section.read("mode", default.mode, |v| value::choice(v, &MODES)),
            certificate: path(section, "certificate", surroundings),
            key: path(section, "key", surroundings),
            client_ca: path(section, "client_ca", surroundings),
        };
        let names = ["certificate", "key"];
        both_or_none(section, names, (&tls.certificate, &tls.key));
        tls
    }
}

/// A certificate is of no use without its key, nor a key without its certificate.
pub(crate) fn both_or_none(
    section: &mut Section<'_, '_>,
    [certificate, key]: [&'static str; 2],
    pair: (&Option<PathBuf>, &Option<PathBuf>),
) {
    let (given, other) = match pair {
        (Some(_), None) => (certificate, key),
        (None, Some(_)) => (key, certificate),
        _ => return,
    };
    if let Some(at) = section.place_if_sound(&[certificate, key]) {
        let what = format!("there is no {other} beside it");
        section.blame(given, at, Wrong::new(what, "give both or none"));
    }
}

/// The path at `key`, if there is one; a relative one begins beside the configuration file.
pub(crate) fn path(
    section: &mut Section<'_, '_>,
    key: &'static str,
    surroundings: &Surroundings,
) -> Option<PathBuf> {
    section.read(key, None, |written| {
        let text = value::text(written, "write the path of a file in quotes")?;
        let path = surroundings.directory.join(text);
        Ok(Some(path).filter(|_| !text.is_empty()))
    })
}

/// A path as it is shown; empty if there is none.
pub(crate) fn show(path: Option<&Path>) -> String {
    path.map_or_else(String::new, |path| path.to_string_lossy().into_owned())
}
