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
pub(crate) struct Serving(Vec<JoinHandle<()>>);

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
        if let Some(listener) = self.http {
            let (desk, entrance, end) = (desk.clone(), entrance.clone(), stopped.clone());
            running.push(keep(
                "admin.http",
                listener,
                stopped.clone(),
                move |listener| {
                    let stop = until(end.clone());
                    control::serve(listener, desk.clone(), entrance.clone(), stop)
                },
            )?);
        }
        if let Some(listener) = self.sql {
            let (desk, entrance, end) = (desk.clone(), entrance.clone(), stopped.clone());
            running.push(keep(
                "admin.sql",
                listener,
                stopped.clone(),
                move |listener| {
                    let stop = until(end.clone());
                    control::serve_sql(listener, desk.clone(), entrance.clone(), stop)
                },
            )?);
        }
        Ok(Serving(running))
    }
}

/// Has a listener served until the end. If that fails, it begins anew with the same socket.
fn keep<F>(
    key: &'static str,
    listener: TcpListener,
    stopped: Receiver<bool>,
    serve: impl Fn(tokio::net::TcpListener) -> F + Send + 'static,
) -> anyhow::Result<JoinHandle<()>>
where
    F: Future<Output = std::io::Result<()>> + Send,
{
    let address = listener.local_addr()?;
    tracing::info!(%address, "{key} listening");
    Ok(tokio::spawn(async move {
        let begin = move || {
            let again = listener.try_clone();
            let serving = again
                .and_then(tokio::net::TcpListener::from_std)
                .map(&serve);
            async move { serving?.await }
        };
        control::lasting(key, begin, || until(stopped.clone())).await;
    }))
}

impl Serving {
    /// Waits until all have ended.
    pub(crate) async fn ended(self) -> anyhow::Result<()> {
        for serving in self.0 {
            serving.await?;
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

async fn until(mut stopped: Receiver<bool>) {
    // An error means that the sender is gone: time to stop as well.
    let _gone = stopped.wait_for(|&stop| stop).await;
}
