//! Certificates, keys and authorities: read from the files that the configuration names, made where it names
//! none, and read again while the process runs.
//!
//! Owns the files. What is done with their content is the matter of `tls`.

use std::fs;
use std::io::{self, Read as _};
use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use config::BackendTls;
use tls::{Client, Identity, MadeHere, Parties, Server, Verify};
use zeroize::Zeroizing;

/// What is shown to clients and asked of backends.
pub(crate) struct Certificates {
    /// Towards clients and administrators. Always there: whether TLS is spoken is not decided here.
    server: Arc<Server>,
    client: Option<Arc<Client>>,
    /// What is shown where the configuration names nothing.
    own: Own,
}

/// The pair that is made here.
struct Own {
    certificate: PathBuf,
    key: PathBuf,
    /// If it could not be kept.
    unkept: Option<Identity>,
}

/// What stands in the files now.
struct Found {
    server: Identity,
    client_ca: Option<Vec<u8>>,
    backend_ca: Option<Vec<u8>>,
    /// What the database is shown.
    shown_behind: Option<Identity>,
}

impl Certificates {
    /// Reads them. `beside` is a file that the process keeps: what is made here is kept beside it.
    pub(crate) fn load(settings: &config::Settings, beside: &Path) -> anyhow::Result<Self> {
        let mut own = Own::beside(beside);
        let read = read(settings, &mut own)?;
        let server = Server::new(&read.server, read.client_ca.as_deref())
            .with_context(|| format!("[tls]: {}", shown(settings, &own)))?;
        let mut client = None;
        if let Some(host) = backend_host(settings) {
            let made = Client::new(&host, read.verify(settings), read.shown_behind.as_ref());
            client = Some(Arc::new(made.context("backend.tls")?));
        }
        Ok(Self {
            server: Arc::new(server),
            client,
            own,
        })
    }

    /// What the workers speak TLS with.
    pub(crate) fn parties(&self) -> Parties {
        Parties {
            server: Some(self.server.clone()),
            client: self.client.clone(),
        }
    }

    /// What administrators are shown.
    pub(crate) fn server(&self) -> &Arc<Server> {
        &self.server
    }

    /// Reads the files again. Connections go on with what they began with. If something is wrong, all stays as
    /// it is.
    pub(crate) fn reload(&mut self, settings: &config::Settings) -> anyhow::Result<()> {
        let read = read(settings, &mut self.own)?;
        self.server
            .replace(&read.server, read.client_ca.as_deref())
            .with_context(|| format!("[tls]: {}", shown(settings, &self.own)))?;
        if let Some(client) = &self.client {
            client
                .replace(read.verify(settings), read.shown_behind.as_ref())
                .context("backend.tls")?;
        }
        Ok(())
    }
}

impl Found {
    fn verify(&self, settings: &config::Settings) -> Verify<'_> {
        let ca = self.backend_ca.as_deref().unwrap_or_default();
        match settings.backend.tls {
            BackendTls::Off | BackendTls::Require => Verify::Nothing,
            BackendTls::VerifyCa => Verify::Authority(ca),
            BackendTls::VerifyIdentity => Verify::Identity(ca),
        }
    }
}

impl Own {
    fn beside(file: &Path) -> Self {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        Self {
            certificate: file.with_file_name(format!("{stem}-cert.pem")),
            key: file.with_file_name(format!("{stem}-key.pem")),
            unkept: None,
        }
    }

    /// The pair, made now if there is none.
    fn identity(&mut self) -> anyhow::Result<Identity> {
        if let Some(identity) = &self.unkept {
            return Ok(identity.clone());
        }
        if !self.certificate.exists() || !self.key.exists() {
            let made = MadeHere::new(names())?;
            if let Err(error) = self.keep(&made) {
                let file = self.certificate.display();
                tracing::warn!(%error, %file, "the certificate that was made cannot be kept");
                let pem = (made.certificate.as_bytes(), made.key.as_bytes());
                let identity = Identity::from_pem(pem.0, pem.1)?;
                self.unkept = Some(identity.clone());
                return Ok(identity);
            }
            tracing::info!(certificate = %self.certificate.display(), "a certificate was made");
        }
        identity(&self.certificate, &self.key)
    }

    fn keep(&self, made: &MadeHere) -> io::Result<()> {
        // Where this ends in the middle one of the two is missing, and both are made anew.
        match fs::remove_file(&self.certificate) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        output::replace(&self.key, made.key.as_bytes(), 0o600)?;
        output::replace(&self.certificate, made.certificate.as_bytes(), 0o644)
    }
}

/// The host that a backend's certificate would be for, if it is connected to with TLS.
pub(crate) fn backend_host(settings: &config::Settings) -> Option<String> {
    match &settings.backend.address {
        config::Address::Tcp { host, .. } if settings.backend.tls != BackendTls::Off => {
            Some(host.clone())
        }
        _ => None,
    }
}

fn read(settings: &config::Settings, own: &mut Own) -> anyhow::Result<Found> {
    let tls = &settings.tls;
    let authorities = |path: &Option<PathBuf>| {
        let path = path.as_deref();
        path.map(|path| fs::read(path).with_context(|| cannot_read(path)))
            .transpose()
    };
    let server = match (&tls.certificate, &tls.key) {
        (Some(certificate), Some(key)) => identity(certificate, key)?,
        _ => own.identity()?,
    };
    let client_ca = authorities(&tls.client_ca)?;
    let backend = &settings.backend;
    let shown_behind = match (&backend.tls_certificate, &backend.tls_key) {
        (Some(certificate), Some(key)) => Some(identity(certificate, key)?),
        _ => None,
    };
    Ok(Found {
        server,
        client_ca,
        backend_ca: authorities(&backend.tls_ca)?,
        shown_behind,
    })
}

fn identity(certificate: &Path, key: &Path) -> anyhow::Result<Identity> {
    let certificates = fs::read(certificate).with_context(|| cannot_read(certificate))?;
    let key_pem = read_private(key)?;
    Identity::from_pem(&certificates, &key_pem)
        .with_context(|| format!("{} with {}", certificate.display(), key.display()))
}

/// A file that is nobody else's business.
fn read_private(path: &Path) -> anyhow::Result<Zeroizing<Vec<u8>>> {
    let mut file = fs::File::open(path).with_context(|| cannot_read(path))?;
    let metadata = file.metadata().with_context(|| cannot_read(path))?;
    if metadata.permissions().mode() & 0o007 != 0 {
        anyhow::bail!("{0}: others may read it; run chmod o= {0}", path.display());
    }
    // With room for all, nothing of it is left behind in memory by growing.
    let len = usize::try_from(metadata.len()).unwrap_or_default();
    let mut content = Zeroizing::new(Vec::with_capacity(len + 1));
    file.read_to_end(&mut content)
        .with_context(|| cannot_read(path))?;
    Ok(content)
}

fn cannot_read(path: &Path) -> String {
    format!("cannot read {}", path.display())
}

fn shown(settings: &config::Settings, own: &Own) -> String {
    let path = settings.tls.certificate.as_ref();
    path.unwrap_or(&own.certificate).display().to_string()
}

/// What this host may be reached as.
fn names() -> Vec<String> {
    let hostname = rustix::system::uname();
    let hostname = hostname.nodename().to_string_lossy().into_owned();
    let fits =
        |name: &String| !name.is_empty() && name.is_ascii() && name.parse::<IpAddr>().is_err();
    let own = Some(hostname).filter(fits);
    let always = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
    own.into_iter().chain(always).collect()
}
