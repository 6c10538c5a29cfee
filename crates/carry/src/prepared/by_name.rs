//! Texts that a session prepares by name (`PREPARE … FROM`, `EXECUTE`, `DEALLOCATE`). They stay on the backend that prepared
//! them, and pin their session there until it has deallocated all of them. Owns the names, and what EXECUTE of each does;
//! how the pin ends is in `holdings`.
//!
//! EXECUTE of any other text than a harmless one pins for good, as a CALL does.

use std::sync::Arc;

use session::statement::Statement;
use wire::code;

use crate::conditions::Does;

/// A session that prepares more keeps its pin until it is reset.
pub const TEXTS_MAX: usize = 32;

/// A text that a session has prepared.
#[derive(Clone, Debug)]
pub struct Text {
    /// The name that it was given.
    pub name: Box<[u8]>,
    /// What running it does to the list of conditions, if that is known.
    pub does: Option<Does>,
    /// What it does, if it leaves nothing.
    pub harmless: Option<Harmless>,
}

/// A text of which the session and the answers tell all that it leaves behind.
#[derive(Clone, Debug)]
pub struct Harmless {
    /// The text.
    pub text: Box<[u8]>,
    /// The session's schema when it was prepared.
    pub schema: Option<Arc<[u8]>>,
    /// The verdict on it.
    pub statement: Statement,
}

/// What a COM_QUERY does to the texts of its session.
#[derive(Debug)]
pub enum ByName {
    /// PREPARE.
    Prepares(Text),
    /// DEALLOCATE of this name.
    Deallocates(Box<[u8]>),
}

/// The texts of a session.
#[derive(Debug, Default)]
pub struct Texts {
    /// Those whose names are known.
    pub list: Vec<Text>,
}

impl Texts {
    /// True if the server has none of the session.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The harmless ones, each with the schema in which it was prepared.
    pub fn harmless(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let harmless = self.list.iter().filter_map(|text| text.harmless.as_ref());
        harmless.map(|harmless| {
            (
                &*harmless.text,
                harmless.schema.as_deref().unwrap_or_default(),
            )
        })
    }

    /// Takes over what a command did that was answered with this error, if any. False if there are too many texts.
    pub fn take(&mut self, effect: &ByName, error: Option<u16>) -> bool {
        match (effect, error) {
            (ByName::Prepares(text), None) => {
                self.remove(&text.name);
                if self.list.len() == TEXTS_MAX {
                    return false;
                }
                self.list.push(text.clone());
            }
            // A KILL may have come before the server gave up the former text of that name.
            (ByName::Prepares(_), Some(code::QUERY_INTERRUPTED)) => {}
            (ByName::Prepares(Text { name, .. }), Some(_))
            | (ByName::Deallocates(name), None | Some(code::UNKNOWN_STMT_HANDLER)) => {
                self.remove(name);
            }
            (ByName::Deallocates(_), Some(_)) => {}
        }
        true
    }

    fn remove(&mut self, name: &[u8]) {
        self.list.retain(|text| *text.name != *name);
    }
}
