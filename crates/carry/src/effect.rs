//! What a command does to prepared statements, to what its session holds on a backend, and to session tracking: remembered with
//! the command until its answer comes.

use session::statement::Holding;
use wire::Piece;

use crate::locks::effect::LockEffect;
use crate::prepared::Preparing;
use crate::prepared::by_name::ByName;

/// What a command does to what is held.
pub struct Effect {
    act: Act,
}

/// What a command does. Statements have the client's ids.
pub enum Act {
    /// What a text does, but for user-level locks.
    Text(Holding),
    /// What a text does to user-level locks.
    Lock(LockEffect),
    /// What a text does to texts that are prepared by name.
    ByName(ByName),
    /// COM_STMT_PREPARE.
    Prepares(Preparing),
    /// A COM_STMT_EXECUTE that asks for a cursor, or ends one.
    Executes(u32),
    /// COM_STMT_FETCH.
    Fetches(u32),
    /// COM_STMT_RESET.
    Resets(u32),
    /// SET or SELECT of what is tracked.
    Retracks,
}

impl Effect {
    /// What a text does.
    pub fn of_text(holding: Holding) -> Self {
        let act = Act::Text(holding);
        Self { act }
    }

    /// What a command about a prepared statement does.
    pub fn of_statement(act: Act) -> Self {
        Self { act }
    }

    /// True for what a text does to what is held.
    pub fn is_of_text(&self) -> bool {
        matches!(self.act, Act::Text(_) | Act::Lock(_) | Act::ByName(_))
    }

    /// What it does to user-level locks.
    pub fn of_lock(&self) -> Option<&LockEffect> {
        match &self.act {
            Act::Lock(effect) => Some(effect),
            _ => None,
        }
    }

    /// What the command does.
    pub fn act(&self) -> &Act {
        &self.act
    }

    /// True for what sets, or asks, what is tracked.
    pub fn retracks(&self) -> bool {
        matches!(self.act, Act::Retracks)
    }

    /// What is prepared in place of a client's text.
    pub fn text_in_place_of(&self, text: &[u8]) -> Option<&[u8]> {
        match &self.act {
            Act::Prepares(preparing) => {
                Some(&preparing.template.text[..]).filter(|own| *own != text)
            }
            _ => None,
        }
    }

    /// Takes note of a piece of the answer.
    pub fn note(&mut self, piece: &Piece<'_>) {
        match (&mut self.act, piece) {
            (Act::Prepares(preparing), _) => preparing.note(piece),
            (Act::Lock(effect), _) => effect.note(piece),
            _ => {}
        }
    }
}
