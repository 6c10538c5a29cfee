//! What somebody who looks in is told of single clients, of single backend connections and of pins.
//!
//! There may be a million clients, and whoever looks must not hold a worker up: a question is about
//! a slice, which is bounded, and its answer says where the next one begins. Slices go by place,
//! not by list, so that nobody who stays is met twice or missed.

use std::sync::Arc;

use events::{Peer, Timestamp};
use membership::Key;
use pool::State as BackendState;
use session::SessionState;
use session::statement::{PinReason, digest_text};
use wire::{Command, HEADER_LEN, Header, ServerStatus};

use crate::Engine;
use crate::client::{Client, State};
use crate::permits::Hold;

/// How many places one slice goes through, and how many lines it tells at most.
const PLACES: usize = 1_024;
const LINES: usize = 256;

/// A digest's length, in bytes, and how much of a statement is read for it.
const DIGEST_MAX: usize = 200;
const TEXT_MAX: usize = 4 << 10;

/// How an answer comes back.
pub type Reply<T> = Box<dyn FnOnce(T) + Send>;

/// A question of somebody who looks in.
pub enum Look {
    /// Clients, from a place on.
    Clients(Whom, usize, Reply<Slice<ClientLine>>),
    /// Backend connections, from a place on.
    Backends(usize, Reply<Slice<BackendLine>>),
    /// The reasons for which sessions were pinned.
    Pins(Reply<Vec<PinLine>>),
}

/// Which clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whom {
    /// All of them.
    All,
    /// Those whose statement waits.
    Waiting,
}

/// A part of a long answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice<T> {
    /// What was found.
    pub lines: Vec<T>,
    /// The place where the next slice begins; `None`: that was the last.
    pub next: Option<usize>,
}

/// A client connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientLine {
    /// The id that KILL takes.
    pub id: u32,
    /// The user; empty before the login.
    pub user: String,
    /// `'user'@'host'`, as its statements are counted; `None` before the login.
    pub account: Option<Arc<str>>,
    /// Where it comes from.
    pub peer: Peer,
    /// Its default schema.
    pub schema: Option<String>,
    /// What it does, in the words of `/metrics`.
    pub state: &'static str,
    /// When that began.
    pub since: Timestamp,
    /// How long ago that was, in µs.
    pub state_us: u64,
    /// It is in a transaction.
    pub in_transaction: bool,
    /// Why it is pinned.
    pub pins: Vec<&'static str>,
    /// The server's id of the backend connection that it is attached to.
    pub backend: Option<u32>,
    /// The limit that keeps its statement; `None` if none does.
    pub limit: Option<&'static str>,
    /// The statement that waits, or that runs and is still known, without its values.
    pub statement: Option<String>,
}

/// A backend connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendLine {
    /// The server's id; 0 before the login.
    pub id: u32,
    /// The worker that it belongs to.
    pub worker: usize,
    /// The user that it is logged in as.
    pub user: String,
    /// What it does, in the words of `/metrics`.
    pub state: &'static str,
    /// How long it has done that, in µs.
    pub state_us: u64,
    /// How long ago it was opened, in µs.
    pub age_us: u64,
    /// The client that it is attached to.
    pub client: Option<u32>,
    /// Its default schema.
    pub schema: Option<String>,
    /// How many commands it has to answer.
    pub commands: usize,
}

/// A reason for pins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinLine {
    /// The reason.
    pub reason: PinReason,
    /// How many sessions are pinned for it now.
    pub sessions: u64,
    /// How many were since the start.
    pub pins: u64,
    /// Who was the first.
    pub user: String,
    /// The statement that did it, without its values; empty if none was noted.
    pub example: String,
}

impl Engine {
    /// Answers a question of somebody who looks in.
    pub(crate) fn look(&self, look: Look, now: Timestamp) {
        match look {
            Look::Clients(whom, from, reply) => reply(self.client_lines(whom, from, now)),
            Look::Backends(from, reply) => reply(self.backend_lines(from, now)),
            Look::Pins(reply) => reply(self.pin_lines()),
        }
    }

    fn client_lines(&self, whom: Whom, from: usize, now: Timestamp) -> Slice<ClientLine> {
        slice(from, self.clients.places(), |place| {
            let (key, client) = self.clients.at(place)?;
            let state = self.clients.state(key)?;
            let wanted = whom == Whom::All || (state.waits() && client.login.is_none());
            wanted.then(|| self.client_line(key, (client, state), now))
        })
    }

    fn client_line(
        &self,
        key: Key,
        (client, state): (&Client, State),
        now: Timestamp,
    ) -> ClientLine {
        let backend = client.backend.and_then(|key| self.pool.get(key));
        let user = match client.login {
            None => self.user(client.account),
            Some(_) => String::new(),
        };
        let seat = client.seat.as_ref();
        let limit = match self.holds.get(&key) {
            Some(&Hold::Queued(place, _)) => self.scheduler.limit_of(place),
            _ => None,
        };
        ClientLine {
            id: client.id,
            user,
            account: seat.map(|seat| self.scheduler.name(seat)),
            limit,
            peer: client.origin.peer,
            schema: schema(&client.session),
            state: client_state(state),
            since: client.since,
            state_us: now.since(client.since).as_us(),
            in_transaction: client.status.contains(ServerStatus::IN_TRANS),
            pins: client.pins.iter().map(PinReason::name).collect(),
            backend: backend.map(|backend| backend.connection_id),
            statement: self.statement_of(client, state),
        }
    }

    /// What waits is at the front of the client's inbox, also in a lane. What runs alone is known
    /// only as long as it may have to be sent again.
    fn statement_of(&self, client: &Client, state: State) -> Option<String> {
        let raw = match state {
            state if state.waits() || state == State::InLane => &client.inbox,
            State::Active => &self.pool.get(client.backend?)?.replay,
            _ => return None,
        };
        let payload = raw.get(HEADER_LEN..HEADER_LEN + Header::parse(raw)?.len)?;
        let &command = payload.first()?;
        if command != Command::Query as u8 {
            return Command::from_byte(command).map(|command| format!("{command:?}"));
        }
        let text = client.text(payload);
        let dialect = self.known.facts.as_ref()?.dialect(&client.session)?;
        let text = text.get(..TEXT_MAX).unwrap_or(text);
        Some(digest_text(text, &dialect, DIGEST_MAX))
    }

    fn backend_lines(&self, from: usize, now: Timestamp) -> Slice<BackendLine> {
        slice(from, self.pool.places(), |place| {
            let (key, _) = self.pool.at(place)?;
            self.backend_line(key, now)
        })
    }

    fn backend_line(&self, key: Key, now: Timestamp) -> Option<BackendLine> {
        let backend = self.pool.get(key)?;
        let account = self.pool.key(self.pool.key_of(key)?).account;
        let client = backend.client.and_then(|key| self.clients.get(key));
        Some(BackendLine {
            id: backend.connection_id,
            worker: self.worker,
            user: self.user(account),
            state: backend_state(self.pool.state(key)?),
            state_us: now.since(self.pool.since(key)?).as_us(),
            age_us: now.since(backend.opened).as_us(),
            client: client.map(|client| client.id),
            schema: schema(&backend.session),
            commands: backend.exchanges.len(),
        })
    }

    fn pin_lines(&self) -> Vec<PinLine> {
        let pinned = self.pinned();
        let lines = PinReason::ALL.iter().map(|&reason| {
            let place = reason as usize & 31;
            let (user, example) = self.pin_log.example(reason).unwrap_or_default();
            PinLine {
                reason,
                sessions: pinned[place],
                pins: self.counters.pins[place],
                user: user.to_owned(),
                example: example.to_owned(),
            }
        });
        lines.filter(|line| line.pins > 0).collect()
    }

    fn user(&self, account: u32) -> String {
        let account = self.accounts.account(account);
        account.map_or_else(String::new, |account| account.user().to_owned())
    }
}

/// Goes through places from `from` on, until enough were seen or found.
fn slice<T>(from: usize, places: usize, line: impl Fn(usize) -> Option<T>) -> Slice<T> {
    let mut lines = Vec::new();
    let end = places.min(from.saturating_add(PLACES));
    let mut place = from;
    while place < end && lines.len() < LINES {
        lines.extend(line(place));
        place += 1;
    }
    Slice {
        lines,
        next: (place < places).then_some(place),
    }
}

fn schema(session: &SessionState) -> Option<String> {
    let name = session.schema.as_ref()?;
    Some(String::from_utf8_lossy(name).into_owned())
}

fn client_state(state: State) -> &'static str {
    match state {
        State::Greeting | State::Login | State::Challenged | State::Judged => "login",
        State::Idle => "idle",
        State::ForLock => "for_lock",
        State::Queued => "queued",
        State::Waiting(_) => "waiting",
        State::ForLane(_) => "for_lane",
        State::InLane => "in_lane",
        State::Active => "active",
        State::Held => "held",
        State::Asking => "asking",
    }
}

fn backend_state(state: BackendState) -> &'static str {
    match state {
        BackendState::Connecting => "connecting",
        BackendState::Resetting => "resetting",
        BackendState::Idle => "idle",
        BackendState::Active => "active",
        BackendState::Lane => "lane",
        BackendState::Draining => "draining",
        BackendState::Reserved => "reserved",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All lines, and how many slices it took.
    fn walk(places: usize, line: impl Fn(usize) -> Option<usize>) -> (Vec<usize>, usize) {
        let (mut lines, mut slices, mut from) = (Vec::new(), 0, Some(0));
        while let Some(place) = from {
            let part = slice(place, places, &line);
            assert!(part.lines.len() <= LINES);
            assert!(part.next.is_none_or(|next| next - place <= PLACES));
            lines.extend(part.lines);
            (from, slices) = (part.next, slices + 1);
        }
        (lines, slices)
    }

    #[test]
    fn slices_are_bounded_and_leave_nothing_out() {
        for places in [0, 1, LINES, LINES + 1, PLACES, 5 * PLACES + 7] {
            let all: Vec<usize> = (0..places).collect();
            assert_eq!(walk(places, Some).0, all);
            let few = |place: usize| place.is_multiple_of(100).then_some(place);
            let (lines, slices) = walk(places, few);
            assert_eq!(lines, all.into_iter().filter_map(few).collect::<Vec<_>>());
            assert!(slices <= places / PLACES + 1);
        }
    }
}
