//! The listeners for administrators: HTTP and SQL. Owns where they listen and who may log in; what they
//! answer is `control`'s matter.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context;
use control::{Administrator, Desk};
use tokio::net::TcpListener;
use tokio::sync::watch::Receiver;
use tokio::task::JoinHandle;

/// The listeners, running.
pub(crate) struct Listeners(Vec<(&'static str, JoinHandle<std::io::Result<()>>)>);

/// Starts those that the settings name; they end when `stopped` says so.
pub(crate) async fn start(
    settings: &config::Settings,
    desk: &Arc<Desk>,
    stopped: &Receiver<bool>,
) -> anyhow::Result<Listeners> {
    let admin = &settings.admin;
    let mut running = Vec::new();
    if let Some(address) = admin.http {
        let listener = bind("admin.http", address).await?;
        let serving = control::serve(listener, desk.clone(), until(stopped.clone()));
        running.push(("admin HTTP failed", tokio::spawn(serving)));
    }
    if let Some(address) = admin.sql {
        let listener = bind("admin.sql", address).await?;
        if !address.ip().is_loopback() {
            tracing::warn!(%address, "admin.sql is not encrypted and listens beyond this machine");
        }
        let administrators = administrators(&admin.accounts);
        let until = until(stopped.clone());
        let serving = control::serve_sql(listener, desk.clone(), administrators, until);
        running.push(("admin SQL failed", tokio::spawn(serving)));
    }
    Ok(Listeners(running))
}

impl Listeners {
    /// Waits until all have ended.
    pub(crate) async fn ended(self) -> anyhow::Result<()> {
        for (what, serving) in self.0 {
            serving.await?.context(what)?;
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

fn administrators(accounts: &[config::Account]) -> Vec<Administrator> {
    let administrator = |account: &config::Account| Administrator {
        user: account.user.clone(),
        password: account.password.expose().to_owned().into(),
    };
    accounts.iter().map(administrator).collect()
}

async fn until(mut stopped: Receiver<bool>) {
    // An error means that the sender is gone: time to stop as well.
    let _gone = stopped.wait_for(|&stop| stop).await;
}
