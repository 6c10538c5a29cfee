//! Questions about single clients, backend connections and pins, and the lines of the answers. There may be a million clients:
//! a question is about a slice of places, and its answer says where the next slice begins. Slices go by place, not by list,
//! so that no client is met twice or missed.

use std::sync::Arc;

use events::{Peer, Timestamp};
use session::SessionState;
use session::statement::PinReason;

/// How many places one slice goes through, and how many lines it tells at most.
const PLACES: usize = 1_024;

const LINES: usize = 256;

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

/// Goes through places from `from` on, until enough were seen or found.
pub(crate) fn slice<T>(from: usize, places: usize, line: impl Fn(usize) -> Option<T>) -> Slice<T> {
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

pub(crate) fn schema(session: &SessionState) -> Option<String> {
    let name = session.schema.as_ref()?;
    Some(String::from_utf8_lossy(name).into_owned())
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
