//! The listeners for administrators: HTTP and SQL. Owns where they listen and who may log in; what they
//! answer is `control`'s matter.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context;
use control::{Administrator, Desk, Encryption, Entrance};
use tokio::net::TcpListener;
use tokio::sync::watch::Receiver;
use tokio::task::JoinHandle;

/// The listeners, running.
pub(crate) struct Listeners(Vec<JoinHandle<()>>);

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

/// Starts those that the settings name; they end when `stopped` says so.
pub(crate) async fn start(
    admin: &config::Admin,
    desk: &Arc<Desk>,
    entrance: &Arc<Entrance>,
    stopped: &Receiver<bool>,
) -> anyhow::Result<Listeners> {
    let mut running = Vec::new();
    if let Some(address) = admin.http {
        let listener = bind("admin.http", address).await?;
        let (desk, entrance, stopped) = (desk.clone(), entrance.clone(), stopped.clone());
        running.push(keep("admin.http", listener, stopped.clone(), move |listener| {
            let stop = until(stopped.clone());
            control::serve(listener, desk.clone(), entrance.clone(), stop)
        })?);
    }
    if let Some(address) = admin.sql {
        let listener = bind("admin.sql", address).await?;
        let (desk, entrance, stopped) = (desk.clone(), entrance.clone(), stopped.clone());
        running.push(keep("admin.sql", listener, stopped.clone(), move |listener| {
            let stop = until(stopped.clone());
            control::serve_sql(listener, desk.clone(), entrance.clone(), stop)
        })?);
    }
    Ok(Listeners(running))
}

/// Has a listener served until the end, also if that fails: then there is another one at the same address.
fn keep<F>(
    key: &'static str,
    listener: TcpListener,
    stopped: Receiver<bool>,
    serve: impl Fn(TcpListener) -> F + Send + 'static,
) -> anyhow::Result<JoinHandle<()>>
where
    F: Future<Output = std::io::Result<()>> + Send,
{
    let address = listener.local_addr()?;
    let mut first = Some(listener);
    Ok(tokio::spawn(async move {
        let begin = || {
            let (listener, serve) = (first.take(), &serve);
            async move {
                let listener = match listener {
                    Some(listener) => listener,
                    None => TcpListener::bind(address).await?,
                };
                serve(listener).await
            }
        };
        control::lasting(key, begin, async || until(stopped.clone()).await).await;
    }))
}

impl Listeners {
    /// Waits until all have ended.
    pub(crate) async fn ended(self) -> anyhow::Result<()> {
        for serving in self.0 {
            serving.await?;
        }
        Ok(())
    }
}

async fn bind(key: &'static str, address: SocketAddr) -> anyhow::Result<TcpListener> {
    let listener = TcpListener::bind(address).await;
    let listener = listener.with_context(|| format!("{key}: cannot listen on {address}"))?;
    tracing::info!(%address, "{key} listening");
    Ok(listener)
}

async fn until(mut stopped: Receiver<bool>) {
    // An error means that the sender is gone: time to stop as well.
    let _gone = stopped.wait_for(|&stop| stop).await;
}
