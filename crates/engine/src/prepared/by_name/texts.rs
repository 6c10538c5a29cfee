//! The texts that a session has prepared by name.

use session::SessionState;
use session::statement::{Kind, Statement, Traits};

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

/// What running a text does, as far as it matters in a session that keeps its backend.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Running {
    /// To the list of conditions.
    pub does: Does,
    /// To what `FOUND_ROWS()` says: the traits that are about that.
    pub counts: Traits,
}

impl Running {
    /// The same of a text that is this statement.
    pub(super) fn of(statement: &Statement, does: Does) -> Self {
        let about_rows = Traits::COUNTS_UNSENT_ROWS | Traits::KEEPS_FOUND_ROWS;
        let shows_all = matches!(
            statement.kind,
            Kind::Select
                | Kind::Set
                | Kind::Do
                | Kind::Show
                | Kind::Explain
                | Kind::Begin
                | Kind::Commit
                | Kind::Rollback
                | Kind::Savepoint
                | Kind::Use
                | Kind::Lock
                | Kind::Account
        );
        let counts = match shows_all && !statement.traits.contains(Traits::UNKNOWN_CALL) {
            true => statement.traits & about_rows,
            false => Traits::COUNTS_UNSENT_ROWS,
        };
        Self { does, counts }
    }
}

/// The texts of a session.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    pub(super) list: Vec<Text>,
    /// Those that stay on the one backend, for which they pin the session: their names, and what running them does.
    staying: Vec<(Box<[u8]>, Running)>,
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

    /// What running the text of that name does, if that is known.
    pub(super) fn running(&self, name: &[u8]) -> Option<Running> {
        let staying = || self.staying.iter().find(|(staying, _)| **staying == *name);
        let carried = self.get(name);
        let carried = carried.map(|text| Running::of(&text.statement, text.does));
        carried.or_else(|| staying().map(|&(_, running)| running))
    }

    /// A text that is not carried has its name from now on. Of more than so many nothing is known.
    pub(super) fn stays(&mut self, name: Box<[u8]>, running: Running) {
        if self.staying.len() < TEXTS_MAX {
            self.staying.push((name, running));
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
