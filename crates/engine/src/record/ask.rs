//! Questions of Myriad's own to a backend: what is asked, and the answer so far.
//!
//! One more question is one more variant here, its text where it is asked, and what its answer means where that is
//! learned (`carried::read_back`).

use carry::conditions::ReadWarnings;
use carry::routines::ReadRoutine;
use carry::tables::ReadTables;
use carry::told::ReadVariables;
use carry::user_variables::ReadUserVariables;
use wire::{Piece, TextResultSet, WalkError};

use crate::record::backend::{Backend, Purpose};

/// Asks for the last id that the session has generated.
pub(crate) const READ_INSERT_ID: &[u8] = b"SELECT LAST_INSERT_ID() LIMIT 1";

/// A question, and its answer so far.
pub(crate) struct Question {
    pub(crate) ask: Ask,
    /// The rows that have come.
    pub(crate) rows: TextResultSet,
}

/// What is asked.
pub(crate) enum Ask {
    /// What the session begins with: character sets, `sql_mode` and so on.
    Facts,
    /// What variables sessions have, and what they begin with, on a server that does not track them rightly.
    Beginning,
    /// What sessions begin with now that a session has changed global variables.
    Globals,
    /// The server's collations.
    Collations,
    /// Whether the account may end what others run.
    Privileges,
    /// Whether the account may set limits.
    Right,
    /// Whether a command that is to be sent again names a view.
    Views,
    /// Whether a read that was answered names a view.
    Tables(Box<ReadTables>),
    /// What a routine does.
    Routine(Box<ReadRoutine>),
    /// What leaves something in a session unseen.
    Stored,
    /// Something of the session that is attached.
    OfSession(OfSession),
}

/// What is asked of the session that is attached to a backend.
pub(crate) enum OfSession {
    /// LAST_INSERT_ID().
    InsertId,
    /// FOUND_ROWS().
    FoundRows,
    /// The character sets.
    Charset,
    /// Variables that it has set, and nobody has told.
    Variables(Box<ReadVariables>),
    /// The role.
    Role,
    /// Which user variables there are.
    Names,
    /// User variables that it may have assigned.
    UserVariables(Box<ReadUserVariables>),
    /// What SET STATEMENT has put back, which is told with the answer.
    PutBack,
    /// What it has tracked.
    Tracking,
    /// Its warnings, as the answer has them.
    Conditions(Box<ReadWarnings>),
}

impl Question {
    /// Keeps a piece of the answer.
    pub(crate) fn keep(&mut self, piece: &Piece<'_>) -> Result<(), WalkError> {
        match &mut self.ask {
            Ask::OfSession(OfSession::UserVariables(read)) => read.piece(piece),
            Ask::OfSession(OfSession::Conditions(read)) => {
                read.keep(piece);
                Ok(())
            }
            _ => Ok(self.rows.piece(piece)?),
        }
    }
}

impl Ask {
    /// True of what counts nothing of the next transaction as the session's own: the question itself may use that up.
    pub(crate) fn uses_up_next_transaction(&self) -> bool {
        matches!(
            self,
            Self::Views | Self::Right | Self::Tables(_) | Self::Routine(_)
        )
    }

    /// True if a backend that does not answer is of no use.
    pub(crate) fn must_be_answered(&self) -> bool {
        match self {
            Self::Facts => true,
            Self::OfSession(of_session) => of_session.must_be_answered(),
            // A connection without names of schemas (CLIENT_NO_SCHEMA) cannot be asked for collations: the next one is.
            _ => false,
        }
    }
}

impl OfSession {
    fn must_be_answered(&self) -> bool {
        match self {
            Self::InsertId
            | Self::FoundRows
            | Self::Charset
            | Self::Role
            | Self::Tracking
            | Self::Conditions(_) => true,
            // Not everything is told in every state of an XA transaction, to everybody, and of every variable.
            Self::PutBack | Self::Variables(_) | Self::Names | Self::UserVariables(_) => false,
        }
    }
}

impl Backend {
    /// Sends a question.
    pub(crate) fn ask(&mut self, outbox: &mut Vec<u8>, ask: Ask, text: &[u8]) {
        self.put_query(outbox, text);
        self.expect(Purpose::Ask(Question {
            ask,
            rows: TextResultSet::default(),
        }));
    }

    /// Sends a question about its session.
    pub(crate) fn ask_of_session(&mut self, outbox: &mut Vec<u8>, ask: OfSession, text: &[u8]) {
        self.ask(outbox, Ask::OfSession(ask), text);
    }
}
