//! One connection and the state it is in. Its state is also the list it stands on, so that the
//! numbers of connections per state cannot be wrong.

use events::{Handle, Timestamp};
use membership::{Key, ListId, Roster};

use crate::answer::Answer;
use crate::login::LoginStep;
use crate::workload::Origin;

/// A connection: over its whole life, which may be that of several sockets.
#[derive(Debug)]
pub(crate) struct Connection {
    /// Unique in the process.
    number: u32,
    /// Statements sent so far.
    sequence: u64,
    /// The present socket; of no use in [`State::Due`].
    pub(crate) handle: Handle,
    pub(crate) state: State,
    /// The beginning of a packet whose end has not come yet.
    pub(crate) partial: Vec<u8>,
    /// Whether CLIENT_DEPRECATE_EOF was negotiated.
    pub(crate) deprecate_eof: bool,
}

/// What a connection is doing.
#[derive(Debug)]
pub(crate) enum State {
    /// Nothing: it has no socket, and is to get one.
    Due,
    /// Connecting and logging in.
    Login(LoginStep),
    /// Logged in, nothing sent.
    Held,
    /// Waiting for an answer.
    Busy(Pending),
}

/// A command that was sent.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) sent_at: Timestamp,
    pub(crate) answer: Answer,
}

/// The connections of one worker.
pub(crate) struct Connections {
    roster: Roster<Connection>,
}

const DUE: ListId = ListId(0);
const LOGIN: ListId = ListId(1);
const HELD: ListId = ListId(2);
const BUSY: ListId = ListId(3);

impl Connection {
    /// Names the next statement.
    pub(crate) fn next_origin(&mut self) -> Origin {
        self.sequence += 1;
        Origin {
            connection: self.number,
            sequence: self.sequence,
        }
    }

    /// Its number in the process.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }
}

impl State {
    fn list(&self) -> ListId {
        match self {
            Self::Due => DUE,
            Self::Login(_) => LOGIN,
            Self::Held => HELD,
            Self::Busy(_) => BUSY,
        }
    }
}

impl Connections {
    /// Connections with these numbers, all of them due.
    pub(crate) fn new(numbers: std::ops::Range<u32>) -> Self {
        let mut roster = Roster::new(4);
        for number in numbers {
            let connection = Connection {
                number,
                sequence: 0,
                handle: Handle(0),
                state: State::Due,
                partial: Vec::new(),
                deprecate_eof: false,
            };
            roster.insert(DUE, connection);
        }
        Self { roster }
    }

    /// The connection.
    pub(crate) fn get_mut(&mut self, key: Key) -> Option<&mut Connection> {
        self.roster.get_mut(key)
    }

    /// Gives the connection another state: the only way to do so.
    pub(crate) fn enter(&mut self, key: Key, state: State) {
        let list = state.list();
        let Some(connection) = self.roster.get_mut(key) else {
            return;
        };
        connection.state = state;
        if self.roster.list_of(key) != Some(list) {
            self.roster.move_to(key, list);
        }
    }

    /// It is not needed any more.
    pub(crate) fn remove(&mut self, key: Key) {
        self.roster.remove(key);
    }

    /// The one that has been due the longest.
    pub(crate) fn first_due(&self) -> Option<Key> {
        self.roster.first(DUE)
    }

    /// All that have no socket.
    pub(crate) fn due(&self) -> Vec<Key> {
        self.all(DUE)
    }

    /// All that are connecting or logging in.
    pub(crate) fn logging_in(&self) -> Vec<Key> {
        self.all(LOGIN)
    }

    /// All that are logged in and have nothing to do.
    pub(crate) fn held(&self) -> Vec<Key> {
        self.all(HELD)
    }

    /// All that wait for an answer.
    pub(crate) fn busy(&self) -> Vec<Key> {
        self.all(BUSY)
    }

    /// How many are logging in.
    pub(crate) fn logins(&self) -> usize {
        self.roster.len_of(LOGIN)
    }

    /// How many are logged in.
    pub(crate) fn open(&self) -> usize {
        self.roster.len_of(HELD) + self.roster.len_of(BUSY)
    }

    /// True if all have been removed.
    pub(crate) fn is_empty(&self) -> bool {
        self.roster.is_empty()
    }

    fn all(&self, list: ListId) -> Vec<Key> {
        self.roster.iter(list).map(|(key, _)| key).collect()
    }
}
