//! Questions of Myriad's own to a backend: what is asked, and the answer so far.
//!
//! Whatever follows a session is asked for by its [`Carried`]. Other questions have a variant here each.

use carry::routines::ReadRoutine;
use carry::tables::ReadTables;
use wire::{Piece, TextResultSet, WalkError};

use crate::record::backend::{Backend, Purpose};
use crate::record::carried::{Carried, Kept};

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
    /// Something that follows the session which is attached.
    OfSession(&'static Carried, Kept),
}

impl Question {
    /// Keeps a piece of the answer.
    pub(crate) fn keep(&mut self, piece: &Piece<'_>) -> Result<(), WalkError> {
        match &mut self.ask {
            Ask::OfSession(_, Kept::UserVariables(read)) => read.piece(piece),
            Ask::OfSession(_, Kept::Conditions(read)) => {
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
            Self::OfSession(thing, _) => thing.must_be_answered,
            // A connection without names of schemas (CLIENT_NO_SCHEMA) cannot be asked for collations: the next one is.
            _ => false,
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

    /// Sends a question about a thing that follows its session.
    pub(crate) fn ask_about(
        &mut self,
        outbox: &mut Vec<u8>,
        thing: &'static Carried,
        kept: Kept,
        text: &[u8],
    ) {
        self.ask(outbox, Ask::OfSession(thing, kept), text);
    }
}
