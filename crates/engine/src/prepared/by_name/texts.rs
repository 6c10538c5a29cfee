//! The texts that a session has prepared by name.

use session::SessionState;
use session::statement::Statement;

use crate::client::Client;
use crate::conditions::Does;

/// So many one session may have, and so many bytes of them.
const TEXTS_MAX: usize = 32;
pub(super) const BYTES_MAX: usize = 16 << 10;

/// A text that a session has prepared.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    pub(super) name: Box<[u8]>,
    pub(super) text: Box<[u8]>,
    /// The session's state when it was prepared.
    pub(super) state: SessionState,
    /// What running it does.
    pub(super) statement: Statement,
    /// What running it does to the list of conditions.
    pub(super) does: Does,
    /// No two have the same.
    pub(super) id: u64,
}

/// The texts of a session.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    pub(super) list: Vec<Text>,
    /// Those that stay on the one backend, for which they pin the session: their names, and what running them does to the
    /// list of conditions.
    staying: Vec<(Box<[u8]>, Does)>,
}

impl Texts {
    /// What was prepared, and in which schema.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.list.iter().map(|text| {
            let schema = text.state.schema.as_deref();
            (&*text.text, schema.unwrap_or_default())
        })
    }

    pub(super) fn get(&self, name: &[u8]) -> Option<&Text> {
        self.list.iter().find(|text| *text.name == *name)
    }

    /// What running the text of that name does to the list of conditions, if that is known.
    pub(super) fn does(&self, name: &[u8]) -> Option<Does> {
        let staying = || self.staying.iter().find(|(staying, _)| **staying == *name);
        let carried = self.get(name).map(|text| text.does);
        carried.or_else(|| staying().map(|&(_, does)| does))
    }

    /// A text that is not carried has its name from now on. Of more than so many nothing is known.
    pub(super) fn stays(&mut self, name: Box<[u8]>, does: Does) {
        if self.staying.len() < TEXTS_MAX {
            self.staying.push((name, does));
        }
    }

    /// The text has its name from now on, whatever had it before.
    pub(super) fn put(&mut self, text: Text) {
        self.remove(&text.name);
        self.list.push(text);
    }

    fn remove(&mut self, name: &[u8]) {
        self.list.retain(|text| *text.name != *name);
        self.staying.retain(|(staying, _)| **staying != *name);
    }

    /// Whether a text of `more` bytes can be kept under this name, in place of the one that has it.
    pub(super) fn has_room(&self, name: &[u8], more: usize) -> bool {
        let others = || self.list.iter().filter(|text| *text.name != *name);
        let bytes: usize = others().map(|text| text.text.len()).sum();
        others().count() < TEXTS_MAX && bytes + more <= BYTES_MAX
    }
}

impl Client {
    /// The name is none of the session's texts' any more.
    pub(super) fn forget_text(&mut self, name: &[u8]) {
        if let Some(texts) = &mut self.texts {
            texts.remove(name);
            if texts.list.is_empty() && texts.staying.is_empty() {
                self.texts = None;
            }
        }
    }
}
