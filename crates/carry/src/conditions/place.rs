//! Where a session's list of conditions is: one state, which answers and questions move.

use std::borrow::Cow;

use wire::{ErrPacket, code};

use crate::conditions::{Does, List, ReadWarnings};
use crate::errors::ClientError;
use crate::session_memory::SessionMemory;

/// A server takes no longer message from a SIGNAL, in characters. Source: MESSAGE_TEXT in "SIGNAL Statement" of the
/// MySQL manual; MariaDB takes 512.
const MESSAGE_MAX: usize = 128;

/// Where the list is.
#[derive(Debug, Default)]
enum Place {
    /// There is none: it is empty, or was lost.
    #[default]
    Nowhere,
    /// On the attached backend, and empty.
    Empty,
    /// Here, by value.
    Known(Box<List>),
    /// Here, and on the attached backend what came on top of it.
    More(Box<List>),
    /// On the attached backend.
    There,
    /// A plain read gave it in a lane, and must run again to have it: at the latest before the session changes.
    Again(Box<Repeat>),
    /// It is an ERR that no backend has given in a statement.
    Own(Box<ClientError>),
}

/// A statement that must run again.
#[derive(Debug)]
struct Repeat {
    text: Box<[u8]>,
}

/// What an answer says of conditions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Answer<'a> {
    /// How many warnings there are after it.
    pub warnings: u16,
    /// A part of it told of warnings.
    pub warned: bool,
    /// The ERR packet that it ended with.
    pub error: Option<ErrPacket<'a>>,
}

/// A session's list of conditions.
#[derive(Debug, Default)]
pub struct Conditions {
    place: Place,
    /// How many there are, as the answer told; that may be more than are in the list.
    count: u16,
    /// The answer was an ERR, which is counted though the list may have no room for it.
    failed: bool,
}

impl Conditions {
    /// A command was answered.
    pub fn answered(&mut self, does: Does, answer: &Answer<'_>) {
        let failed = answer.error.is_some();
        if matches!(does, Does::AddsError | Does::Tells) && !failed {
            return;
        }
        self.place = std::mem::take(&mut self.place).after(does, answer);
        let empties = matches!(does, Does::Replaces | Does::Several { empties: true });
        if failed || answer.warnings > 0 || empties {
            // Of several statements, one before has told those warnings.
            self.count = if failed { 1 } else { answer.warnings };
            self.failed = failed;
        }
    }

    /// Something that is done for the session's command failed on its backend, and that is the command's answer.
    pub fn failed(&mut self) {
        (self.place, self.count, self.failed) = (Place::There, 1, true);
    }

    /// The front door itself answered with an ERR. `adds`: to what there is, which stays as it is where that is not
    /// known here.
    pub fn refused(&mut self, error: ClientError, adds: bool) {
        match &mut self.place {
            Place::Known(list) if adds => {
                self.failed |= list.add_error(&error.packet());
            }
            Place::More(_) | Place::There | Place::Again(_) | Place::Own(_) if adds => {}
            _ => {
                self.place = Place::own(error);
                (self.count, self.failed) = (1, true);
            }
        }
    }

    /// A read in a lane gave so many conditions, which were not read.
    pub fn repeatable(&mut self, text: &[u8], count: u16) {
        self.place = Place::Again(Box::new(Repeat { text: text.into() }));
        (self.count, self.failed) = (count, false);
    }

    /// What had run once more for the list was lost with its backend before that told it.
    pub fn repeat_was_lost(&mut self, text: Box<[u8]>) {
        self.place = Place::Again(Box::new(Repeat { text }));
    }

    /// What must run on a backend so that the list is there.
    pub fn repeated(&self) -> Option<Cow<'_, [u8]>> {
        match &self.place {
            Place::Again(repeat) => Some(Cow::Borrowed(&repeat.text)),
            Place::Own(error) => Some(Cow::Owned(signal(&error.packet()))),
            _ => None,
        }
    }

    /// The text that gives the list again was sent.
    pub fn repeats(&mut self) {
        self.place = Place::There;
    }

    /// The backend is asked for the list, or for what came on top of what is known, before it does what may change
    /// that. `None` if there is nothing to ask for.
    pub fn read(&mut self) -> Option<ReadWarnings> {
        let (place, read) = match std::mem::take(&mut self.place) {
            Place::There => (Place::Nowhere, Some(ReadWarnings::new(false))),
            Place::More(list) => (Place::Known(list), Some(ReadWarnings::new(true))),
            Place::Empty => (Place::Nowhere, None),
            other => (other, None),
        };
        self.place = place;
        read
    }

    /// Takes over what a backend told. False if that was more than is kept.
    pub fn learn(&mut self, read: ReadWarnings) -> bool {
        let before = match std::mem::take(&mut self.place) {
            Place::Known(list) if read.adds() => Some(list),
            _ => None,
        };
        let (list, is_all) = read.list(before);
        self.place = Place::Known(list);
        is_all
    }

    /// What is known of them takes memory.
    pub fn count_in(&mut self, memory: &SessionMemory) {
        if let Place::Known(list) | Place::More(list) = &mut self.place {
            list.counts_in(memory);
        }
    }

    /// The list of the attached backend was emptied: if there was none, that is the session's.
    pub fn cleared(&mut self) {
        if matches!(self.place, Place::Nowhere) {
            self.place = Place::Empty;
        }
    }

    /// What the backend has is the session's list no more.
    pub fn lose(&mut self) {
        self.place = match std::mem::take(&mut self.place) {
            Place::Empty | Place::There => Place::Nowhere,
            Place::More(list) => Place::Known(list),
            other => other,
        };
    }

    /// True if the list is that of the attached backend, and not known here.
    pub fn is_there(&self) -> bool {
        self.place.is_there()
    }

    /// True if some of the list, or all of it, is that of the attached backend.
    pub fn needs_backend(&self) -> bool {
        self.is_there() || self.has_more()
    }

    /// True if there are some on top of what is known: they must be read before anything else.
    pub fn has_more(&self) -> bool {
        matches!(self.place, Place::More(_))
    }

    /// True if a plain read must run again to have the list.
    pub fn is_again(&self) -> bool {
        matches!(self.place, Place::Again(_))
    }

    /// True if a command that `asks` for the list, or adds to it, must find that of its backend empty, because it is
    /// not the session's.
    pub fn needs_none_there(&self, asks: bool, does: Does) -> bool {
        // A single error is known without asking.
        let by_value = does == Does::AddsError && matches!(self.place, Place::Nowhere);
        asks && !self.is_there() && !by_value
    }

    /// The list, if it is known.
    pub fn list(&self) -> Option<&List> {
        match &self.place {
            Place::Known(list) | Place::More(list) => Some(list),
            Place::Nowhere | Place::Empty | Place::There | Place::Again(_) | Place::Own(_) => None,
        }
    }

    /// `@@warning_count` or, with `errors`, `@@error_count`, as far as that is known here.
    pub fn count(&self, errors: bool) -> i64 {
        let told = self.list().map_or(0, |list| list.count(errors));
        let counted = match errors {
            true => u16::from(self.failed),
            false => self.count,
        };
        told.max(i64::from(counted))
    }
}

impl Place {
    /// Where the list is after an answer that says something of it.
    fn after(self, does: Does, answer: &Answer<'_>) -> Self {
        let gave = answer.error.is_some() || answer.warned;
        let code = answer.error.as_ref().map(|error| error.code);
        match (does, self, answer.error.as_ref()) {
            (Does::Gets, before, _) if code == Some(code::NOT_STACKED) => before,
            (Does::Gets, before, _) if matches!(code, None | Some(code::NOT_RESIGNALLED)) => {
                if gave { before.more() } else { before }
            }
            // These come before anything else.
            (Does::Defines, _, _)
                if matches!(code, Some(code::PARSE_ERROR | code::NO_SCHEMA_SELECTED)) =>
            {
                Self::There
            }
            // MySQL warns of what is deprecated in the question itself.
            (Does::Asks, before, None) if answer.warned => before.more(),
            (Does::Adds | Does::Defines, before, _) => before.more(),
            (Does::AddsError | Does::Tells, Self::Nowhere, Some(error)) => Self::told(error),
            (Does::AddsError, before, _) => before.more(),
            (Does::Tells, Self::Empty, _) => Self::There,
            (Does::Tells, before, _) => before,
            // MySQL has not come to the text yet, and so has not emptied its list.
            (Does::Replaces, _, Some(error)) if error.code == code::TOO_MANY_STATEMENTS => {
                Self::told(error)
            }
            _ if gave => Self::There,
            (Does::Replaces, _, _) => Self::Empty,
            (Does::Several { empties: true }, before, _) if !before.is_there() => Self::Nowhere,
            (_, before, _) => before,
        }
    }

    /// An ERR by value. If no SIGNAL can say it, nothing is left of it but that it was one.
    fn own(error: ClientError) -> Self {
        match can_be_signalled(&error.packet()) {
            true => Self::Own(Box::new(error)),
            false => Self::Nowhere,
        }
    }

    /// An ERR packet by value.
    fn told(error: &ErrPacket<'_>) -> Self {
        Self::own(ClientError::told(error))
    }

    /// The list, and on top of it what the backend has added to its own empty one.
    fn more(self) -> Self {
        match self {
            Self::Known(list) | Self::More(list) => Self::More(list),
            Self::Nowhere | Self::Empty | Self::There | Self::Again(_) | Self::Own(_) => {
                Self::There
            }
        }
    }

    fn is_there(&self) -> bool {
        matches!(self, Self::Empty | Self::There)
    }
}

/// True if a statement can give this error that is read alike in every `sql_mode` and character set.
fn can_be_signalled(error: &ErrPacket<'_>) -> bool {
    let harmless = |byte: &u8| byte.is_ascii_graphic() && *byte != b'\\' || *byte == b' ';
    let is_state =
        error.sql_state.len() == 5 && error.sql_state.iter().all(u8::is_ascii_alphanumeric);
    is_state && error.message.len() <= MESSAGE_MAX && error.message.iter().all(harmless)
}

/// A statement that gives an error that can be signalled.
fn signal(error: &ErrPacket<'_>) -> Vec<u8> {
    let mut text = b"SIGNAL SQLSTATE '".to_vec();
    text.extend_from_slice(error.sql_state);
    text.extend_from_slice(format!("' SET MYSQL_ERRNO={},MESSAGE_TEXT='", error.code).as_bytes());
    for &byte in error.message {
        text.push(byte);
        if byte == b'\'' {
            text.push(byte);
        }
    }
    text.push(b'\'');
    text
}

#[cfg(test)]
mod tests;
