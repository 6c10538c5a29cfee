//! One connection of the database: how far its protocol has come, and its session.

use std::collections::BTreeMap;

use events::{Handle, Timestamp};
use wire::Capabilities;

use super::prepared::Binding;
use super::session::Session;
use super::sql::Sql;
use super::storage::Row;
use super::upload::Upload;
use crate::catalog::Variables;

/// How far a connection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The handshake response is due.
    Login,
    /// Waiting for a command.
    Ready,
    /// A statement waits for a row.
    Blocked,
    /// The answer is ready and will be told when the statement has taken its time.
    Working,
    /// A file was asked for and is coming.
    Upload,
    /// The peer is gone; what runs is finished.
    Closing,
    /// Over.
    Closed,
}

/// A login under way that takes several answers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Questioned {
    pub(crate) capabilities: Capabilities,
    pub(crate) collation: u8,
    /// The first answer was right.
    pub(crate) proved: Option<bool>,
}

pub(crate) struct Connection {
    pub(crate) handle: Handle,
    pub(crate) phase: Phase,
    /// Place in the catalog's accounts.
    pub(crate) account: usize,
    pub(crate) capabilities: Capabilities,
    pub(crate) nonce: [u8; 20],
    /// What it was asked last, of a plugin of its own.
    pub(crate) questioned: Option<Questioned>,
    pub(crate) inbox: Vec<u8>,
    pub(crate) session: Session,
    /// Counts what was begun, so that what was planned for something else is recognised.
    pub(crate) number: u64,
    /// The statement that waits for a row.
    pub(crate) blocked: Option<Blocked>,
    /// A KILL came that no statement has taken yet.
    pub(crate) killed: bool,
    /// What is at work can end without a trace.
    pub(crate) interruptible: bool,
    /// The answer that will be told.
    pub(crate) answer: Vec<u8>,
    /// The file that is coming.
    pub(crate) upload: Option<Upload>,
    /// The client's statement that is at work, and whether nothing bound its session before.
    pub(crate) running: Option<Running>,
    /// The statement that ran last while no transaction was open, and whether its session was pinned.
    pub(crate) opener: Option<(String, bool)>,
}

/// A client's statement at work.
#[derive(Clone, Debug)]
pub(crate) struct Running {
    pub(crate) tag: String,
    /// Its session was in a transaction or pinned before.
    pub(crate) bound: bool,
    /// It may write.
    pub(crate) writes: bool,
}

/// A statement that waits for a row.
#[derive(Clone, Debug)]
pub(crate) struct Blocked {
    pub(crate) sql: Sql,
    pub(crate) tag: Option<String>,
    pub(crate) row: Row,
    pub(crate) since: Timestamp,
}

/// A client's statement that ran, and what it ran on.
#[derive(Clone, Debug)]
pub(crate) struct Execution {
    pub(crate) connection: usize,
    pub(crate) account: usize,
    pub(crate) found_rows: bool,
    pub(crate) schema: Option<String>,
    pub(crate) variables: Variables,
    pub(crate) user: BTreeMap<String, String>,
    pub(crate) temporaries: BTreeMap<String, Vec<i64>>,
    /// Named locks, and how often each is held.
    pub(crate) locks: Vec<(String, u32)>,
    pub(crate) tables_locked: bool,
    /// The prepared statement that it executed, and in which state that was prepared.
    pub(crate) prepared: Option<(Sql, Binding)>,
    /// CLIENT_MULTI_STATEMENTS.
    pub(crate) several: bool,
    pub(crate) in_transaction: bool,
    /// How often it ran.
    pub(crate) times: u32,
}

impl Connection {
    pub(crate) fn new(handle: Handle, nonce: [u8; 20], is_unsound: bool) -> Self {
        Self {
            handle,
            phase: Phase::Login,
            account: 0,
            capabilities: Capabilities::empty(),
            nonce,
            questioned: None,
            inbox: Vec::new(),
            session: Session::new(45).tracked(is_unsound),
            number: 0,
            blocked: None,
            killed: false,
            interruptible: false,
            answer: Vec::new(),
            upload: None,
            running: None,
            opener: None,
        }
    }

    pub(crate) fn is_alive(&self) -> bool {
        !matches!(self.phase, Phase::Closing | Phase::Closed)
    }
}
