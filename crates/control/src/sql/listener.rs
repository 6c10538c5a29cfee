//! The connections of administrators and their limits.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use wire::code;

use super::error::SqlError;
use super::login::{Guard, login, refuse};
use super::session::Session;
use super::stream::{Ended, Stream};
use crate::accept::receive;
use crate::desk::Desk;
use crate::entrance::Entrance;
use crate::places::{PATIENCE, Place, Places};

/// What a connection may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// How long the login may take.
    pub(crate) login_time: Duration,
    /// How long an administrator may be silent.
    pub(crate) silent_time: Duration,
    /// How long a part of an answer may take to be taken.
    pub(crate) write_time: Duration,
    /// How many connections there may be.
    pub(crate) connections: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            login_time: Duration::from_secs(5),
            silent_time: Duration::from_secs(3_600),
            write_time: Duration::from_secs(30),
            connections: 32,
        }
    }
}

/// Answers statements of the administrators that may come in until `shutdown`. There may be 32 connections; one more
/// gets the place of one that has not logged in for a second, or is told so and closed. Fails only if the listener is of no use any more.
pub async fn serve_sql(
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
    let mut visits = Visits {
        house: Arc::new(House {
            desk,
            entrance,
            limits,
            next_id: AtomicU32::new(1),
        }),
        places: Places::new(limits.connections, PATIENCE),
    };
    tokio::select! {
        () = shutdown => Ok(()),
        error = receive(&listener, |stream| visits.admit(stream)) => Err(error),
    }
}

struct House {
    desk: Arc<Desk>,
    entrance: Arc<Entrance>,
    limits: Limits,
    next_id: AtomicU32,
}

/// The connections. Dropping it ends them.
struct Visits {
    house: Arc<House>,
    places: Places,
}

impl Visits {
    fn admit(&mut self, socket: TcpStream) {
        let house = Arc::clone(&self.house);
        let visit = |socket, place| async move {
            let ended = house.visit(socket, place).await;
            tracing::debug!(%ended, "connection of an administrator");
        };
        if let Err(socket) = self.places.admit(socket, visit) {
            let tally = &self.house.desk.tallies.sql_refused;
            tally.fetch_add(1, Ordering::Relaxed);
            turn_away(&socket);
        }
    }
}

/// Says why without waiting for anything: a few bytes fit into any socket that was just accepted.
fn turn_away(socket: &TcpStream) {
    let error = SqlError::new(
        code::TOO_MANY_CONNECTIONS,
        b"08004",
        "Too many connections of administrators",
    );
    let mut packet = Vec::new();
    error
        .packet()
        .encode(&mut packet, 0, wire::Capabilities::empty());
    // Whoever does not get it sees the connection closed.
    let _ = socket.try_write(&packet);
}

impl House {
    async fn visit(&self, socket: TcpStream, place: Place) -> Ended {
        // Answers are small and wait for nothing: the option only makes them come sooner.
        let _ = socket.set_nodelay(true);
        let limits = &self.limits;
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let mut stream = Stream::new(Box::new(socket), limits.write_time);
        let guard = Guard {
            entrance: &self.entrance,
            refused: &self.desk.tallies.logins_refused,
            time: limits.login_time,
        };
        let login = login(&mut stream, id, &guard);
        let visitor = match timeout(limits.login_time, login).await {
            Ok(Ok(visitor)) => visitor,
            Ok(Err(ended)) => {
                if let Ended::Malformed(_) = ended {
                    let error = SqlError::new(code::BAD_HANDSHAKE, b"08S01", "Bad handshake");
                    let _told: Result<(), Ended> = refuse(&mut stream, &error).await;
                }
                return ended;
            }
            Err(_) => return Ended::TimedOut,
        };
        // Nobody takes it from an administrator.
        drop(place);
        let session = Session {
            desk: Arc::clone(&self.desk),
            stream,
            visitor,
            id,
            warnings: Vec::new(),
        };
        session.serve(limits.silent_time).await
    }
}
