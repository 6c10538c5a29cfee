//! Connections and their limits. Each carries one request and lives for a bounded time, so that
//! nobody can keep the others out for long.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::accept::receive;
use crate::desk::Desk;
use crate::entrance::{Entrance, Socket, begins_with_tls, secure};
use crate::places::{PATIENCE, Place, Places};
use crate::routes::{Paths, paths};

/// The longest request line with all header fields, in bytes.
const HEAD_MAX: usize = 16 << 10;

/// What a connection may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// How long the request's head may take to arrive.
    pub(crate) head_time: Duration,
    /// How long a connection may last.
    pub(crate) connection_time: Duration,
    /// How long connections may last after the shutdown.
    pub(crate) farewell_time: Duration,
    /// How many connections there may be.
    pub(crate) connections: usize,
    /// How long one has its place before it gives way to another.
    pub(crate) patience: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            head_time: Duration::from_secs(5),
            connection_time: Duration::from_secs(10),
            farewell_time: Duration::from_secs(1),
            connections: 64,
            patience: PATIENCE,
        }
    }
}

/// Serves `/metrics`, `/health` and `/api` to those who may come in, until `shutdown`; then lets the requests under
/// way finish, for a second at most. At most 64 connections are served at a time; one more gets the place of one that
/// has had it for a second, or is closed as it comes.
/// Fails only if the listener is of no use any more.
pub async fn serve(
    listener: TcpListener,
    desk: Arc<Desk>,
    entrance: Arc<Entrance>,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    serve_within(Limits::default(), (listener, desk), entrance, shutdown).await
}

/// The same with other limits.
pub(crate) async fn serve_within(
    limits: Limits,
    (listener, desk): (TcpListener, Arc<Desk>),
    entrance: Arc<Entrance>,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    let mut visitors = Visitors {
        house: Arc::new(House {
            paths: paths(&desk, &entrance),
            entrance,
            limits,
        }),
        desk,
        places: Places::new(limits.connections, limits.patience),
    };
    tokio::select! {
        () = shutdown => {}
        error = receive(&listener, |stream| visitors.admit(stream)) => return Err(error),
    }
    drop(listener);
    visitors.see_off().await;
    Ok(())
}

/// What a connection is served with.
struct House {
    paths: Paths,
    entrance: Arc<Entrance>,
    limits: Limits,
}

/// The connections that are being served. Dropping it ends them.
struct Visitors {
    house: Arc<House>,
    desk: Arc<Desk>,
    places: Places,
}

impl Visitors {
    fn admit(&mut self, stream: TcpStream) {
        let house = Arc::clone(&self.house);
        // Who they are is said by requests, of which each connection has one: any of them may give way.
        let serve = |stream, place| async move {
            let bounded = timeout(house.limits.connection_time, house.serve(stream));
            if let Ok(Err(error)) = bounded.await {
                tracing::debug!(%error, "admin connection failed");
            }
            drop::<Place>(place);
        };
        if self.places.admit(stream, serve).is_err() {
            let tally = &self.desk.tallies.http_refused;
            tally.fetch_add(1, Ordering::Relaxed);
            tracing::debug!("admin connection refused: there are too many");
        }
    }

    async fn see_off(&mut self) {
        // Whoever is not gone by then is cut off when this is dropped.
        let _ = timeout(self.house.limits.farewell_time, self.places.ended()).await;
    }
}

impl House {
    async fn serve(&self, stream: TcpStream) -> Result<(), Box<dyn Error + Send + Sync>> {
        let is_secure = timeout(self.limits.head_time, begins_with_tls(&stream)).await??;
        let stream: Socket = Box::new(stream);
        let (stream, paths) = match self.entrance.offer() {
            Some(server) if is_secure => (secure(stream, server).await?, &self.paths.all),
            _ if self.entrance.requires_tls() => (stream, &self.paths.in_clear),
            _ => (stream, &self.paths.all),
        };
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.limits.head_time)
            .max_buf_size(HEAD_MAX)
            .keep_alive(false)
            .serve_connection(
                TokioIo::new(stream),
                TowerToHyperService::new(paths.clone()),
            )
            .await?;
        Ok(())
    }
}
