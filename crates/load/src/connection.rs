//! One connection and the state it is in. Its state is also the list it stands on, so that the
//! numbers of connections per state cannot be wrong. Each group has lists of its own.

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
    /// The number of its group.
    group: u16,
    /// Whether CLIENT_DEPRECATE_EOF was negotiated.
    pub(crate) deprecate_eof: bool,
    /// Statements sent so far.
    sequence: u64,
    /// The present socket; of no use in [`State::Due`].
    pub(crate) handle: Handle,
    pub(crate) state: State,
    /// The transaction under way; it may survive a socket.
    pub(crate) transaction: Option<Underway>,
    /// The beginning of a packet whose end has not come yet.
    pub(crate) partial: Vec<u8>,
    /// The ids of its prepared statements by their variants; 0 where there is none.
    pub(crate) prepared: Box<[u32]>,
}

/// What a connection is doing.
#[derive(Debug)]
pub(crate) enum State {
    /// Nothing: it has no socket, and is to get one.
    Due,
    /// Connecting and logging in, since that time.
    Login(LoginStep, Timestamp),
    /// Logged in, nothing to do.
    Held,
    /// Logged in, thinking until that time.
    Thinking(Timestamp),
    /// Waiting for an answer.
    Busy(Pending),
}

/// A command that was sent.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) sent_at: Timestamp,
    pub(crate) answer: Answer,
    /// The variant that is being prepared.
    pub(crate) variant: u32,
}

/// A transaction that was begun.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Underway {
    /// Its number in the script.
    pub(crate) transaction: u16,
    /// The statement that is to be sent or answered.
    pub(crate) step: u16,
    /// One of its answers was wrong.
    pub(crate) failed: bool,
    /// What its named values are drawn from.
    pub(crate) seed: u64,
    /// When it was to begin.
    pub(crate) intended: Timestamp,
}

/// The lists of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum List {
    Due,
    Login,
    Held,
    Thinking,
    Busy,
}

const LISTS: [List; 5] = [
    List::Due,
    List::Login,
    List::Held,
    List::Thinking,
    List::Busy,
];

/// The connections of one worker.
pub(crate) struct Connections {
    roster: Roster<Connection>,
    groups: u16,
}

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

    /// The number of its group.
    pub(crate) fn group(&self) -> u16 {
        self.group
    }
}

impl State {
    fn list(&self) -> List {
        match self {
            Self::Due => List::Due,
            Self::Login(..) => List::Login,
            Self::Held => List::Held,
            Self::Thinking(_) => List::Thinking,
            Self::Busy(_) => List::Busy,
        }
    }
}

impl Connections {
    /// The connections with these numbers in each of the groups, all of them due.
    pub(crate) fn new(numbers: &[std::ops::Range<u32>]) -> Self {
        let lists = numbers.len() * LISTS.len();
        let mut connections = Self {
            roster: Roster::new(u32::try_from(lists).unwrap_or(u32::MAX)),
            groups: u16::try_from(numbers.len()).unwrap_or(u16::MAX),
        };
        for (range, group) in numbers.iter().zip(0..) {
            for number in range.clone() {
                connections.insert(number, group);
            }
        }
        connections
    }

    fn insert(&mut self, number: u32, group: u16) {
        let connection = Connection {
            number,
            group,
            deprecate_eof: false,
            sequence: 0,
            handle: Handle(0),
            state: State::Due,
            transaction: None,
            partial: Vec::new(),
            prepared: Box::default(),
        };
        self.roster.insert(list_id(group, List::Due), connection);
    }

    /// The connection.
    pub(crate) fn get(&self, key: Key) -> Option<&Connection> {
        self.roster.get(key)
    }

    /// The connection.
    pub(crate) fn get_mut(&mut self, key: Key) -> Option<&mut Connection> {
        self.roster.get_mut(key)
    }

    /// Gives the connection another state: the only way to do so. It comes last on its list, but
    /// stays where it is while it logs in.
    pub(crate) fn enter(&mut self, key: Key, state: State) {
        let Some(connection) = self.roster.get_mut(key) else {
            return;
        };
        let list = list_id(connection.group, state.list());
        let logs_in = matches!(state, State::Login(..));
        connection.state = state;
        if !(logs_in && self.roster.list_of(key) == Some(list)) {
            self.roster.move_to(key, list);
        }
    }

    /// It is not needed any more.
    pub(crate) fn remove(&mut self, key: Key) {
        self.roster.remove(key);
    }

    /// The one of the group that has been on the list the longest.
    pub(crate) fn first(&self, group: usize, list: List) -> Option<(Key, &Connection)> {
        let key = self.roster.first(list_id(group as u16, list))?;
        Some((key, self.roster.get(key)?))
    }

    /// All of all groups on such a list.
    pub(crate) fn all(&self, list: List) -> Vec<Key> {
        let groups = 0..self.groups;
        groups
            .flat_map(|group| self.roster.iter(list_id(group, list)).map(|(key, _)| key))
            .collect()
    }

    /// How many of the group are on the list.
    pub(crate) fn count(&self, group: usize, list: List) -> usize {
        self.roster.len_of(list_id(group as u16, list))
    }

    /// How many of the group are logged in.
    pub(crate) fn open(&self, group: usize) -> usize {
        let lists = [List::Held, List::Thinking, List::Busy];
        lists.iter().map(|list| self.count(group, *list)).sum()
    }

    /// How many of all are logged in.
    pub(crate) fn open_total(&self) -> usize {
        (0..usize::from(self.groups))
            .map(|group| self.open(group))
            .sum()
    }

    /// How many of all are logging in.
    pub(crate) fn logins(&self) -> usize {
        let groups = 0..usize::from(self.groups);
        groups.map(|group| self.count(group, List::Login)).sum()
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.roster.len()
    }
}

fn list_id(group: u16, list: List) -> ListId {
    ListId(u32::from(group) * LISTS.len() as u32 + list as u32)
}
