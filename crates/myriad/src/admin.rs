//! The listeners for administrators: HTTP and SQL. Owns where they listen and who may log in; what they
//! answer is `control`'s matter.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use anyhow::Context;
use control::{Administrator, Desk, Encryption, Entrance};
use tokio::sync::watch::Receiver;
use tokio::task::JoinHandle;

/// The listeners, bound; whoever connects waits until they serve.
pub(crate) struct Listeners {
    http: Option<TcpListener>,
    sql: Option<TcpListener>,
}

/// The listeners, serving.
pub(crate) struct Serving(Vec<(&'static str, JoinHandle<std::io::Result<()>>)>);

/// Who may come in there by these settings, and what is shown to those who speak TLS.
pub(crate) fn entrance(admin: &config::Admin, server: &Arc<tls::Server>) -> Arc<Entrance> {
    let encryption = match admin.tls {
        config::TlsMode::Off => Encryption::Off,
        config::TlsMode::Offer => Encryption::Offered(server.clone()),
        config::TlsMode::Require => Encryption::Required(server.clone()),
    };
    let administrator = |account: &config::Administrator| Administrator {
        user: account.login.user.clone(),
        password: account.login.password.expose().to_owned().into(),
        read_only: account.read_only,
    };
    let administrators = admin.accounts.iter().map(administrator).collect();
    Arc::new(Entrance::new(encryption, administrators))
}

impl Listeners {
    /// Binds those that the settings name.
    pub(crate) fn bind(admin: &config::Admin) -> anyhow::Result<Self> {
        let bind = |key, address: Option<SocketAddr>| {
            address.map(|address| bind(key, address)).transpose()
        };
        Ok(Self {
            http: bind("admin.http", admin.http)?,
            sql: bind("admin.sql", admin.sql)?,
        })
    }

    /// Begins to serve, within a runtime, until `stopped` says so.
    pub(crate) fn serve(
        self,
        desk: &Arc<Desk>,
        entrance: &Arc<Entrance>,
        stopped: &Receiver<bool>,
    ) -> anyhow::Result<Serving> {
        let mut running = Vec::new();
        let (desk, entrance) = (|| desk.clone(), || entrance.clone());
        if let Some(listener) = self.http {
            let listener = ready("admin.http", listener)?;
            let serving = control::serve(listener, desk(), entrance(), until(stopped.clone()));
            running.push(("admin HTTP failed", tokio::spawn(serving)));
        }
        if let Some(listener) = self.sql {
            let listener = ready("admin.sql", listener)?;
            let serving = control::serve_sql(listener, desk(), entrance(), until(stopped.clone()));
            running.push(("admin SQL failed", tokio::spawn(serving)));
        }
        Ok(Serving(running))
    }
}

impl Serving {
    /// Waits until all have ended.
    pub(crate) async fn ended(self) -> anyhow::Result<()> {
        for (what, serving) in self.0 {
            serving.await?.context(what)?;
        }
        Ok(())
    }
}

fn bind(key: &'static str, address: SocketAddr) -> anyhow::Result<TcpListener> {
    let listener = TcpListener::bind(address);
    let listener = listener.with_context(|| format!("{key}: cannot listen on {address}"))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

fn ready(key: &'static str, listener: TcpListener) -> anyhow::Result<tokio::net::TcpListener> {
    let address = listener.local_addr()?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    tracing::info!(%address, "{key} listening");
    Ok(listener)
}

async fn until(mut stopped: Receiver<bool>) {
    // An error means that the sender is gone: time to stop as well.
    let _gone = stopped.wait_for(|&stop| stop).await;
}
