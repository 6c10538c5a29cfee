//! The texts that a session has prepared by name.

use session::SessionState;
use session::statement::{Kind, Statement, Traits};

use crate::carried::session_memory::Kept;
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
    /// It does nothing but ask for conditions and counts.
    pub(super) asks: bool,
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
            // Its rows are none that are counted.
            false if statement.kind == Kind::Admin => Traits::KEEPS_FOUND_ROWS,
            false => Traits::COUNTS_UNSENT_ROWS,
        };
        Self { does, counts }
    }
}

/// The texts of a session.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    pub(super) list: Vec<Text>,
    staying: Vec<Staying>,
    /// There may be others, of which nothing is known.
    others: bool,
    /// The memory that they take.
    pub(super) kept: Kept,
}

/// A text that stays on the one backend, for which it pins the session.
#[derive(Debug)]
pub(crate) struct Staying {
    pub(super) name: Box<[u8]>,
    /// What running it does.
    pub(super) running: Running,
    /// Running it may prepare other texts.
    pub(super) may_prepare: bool,
    /// The text, if it does nothing but ask for conditions and counts.
    pub(super) question: Option<Box<[u8]>>,
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
        let carried = self.get(name);
        let carried = carried.map(|text| Running::of(&text.statement, text.does));
        carried.or_else(|| Some(self.staying(name)?.running))
    }

    fn staying(&self, name: &[u8]) -> Option<&Staying> {
        self.staying.iter().find(|text| *text.name == *name)
    }

    /// The text of that name, if it does nothing but ask for conditions and counts.
    pub(super) fn question(&self, name: &[u8]) -> Option<&[u8]> {
        let carried = self.get(name).filter(|text| text.asks);
        let carried = carried.map(|text| &*text.text);
        carried.or_else(|| self.staying(name)?.question.as_deref())
    }

    /// True if running the text of that name may prepare others, for all that is known.
    pub(super) fn may_prepare(&self, name: &[u8]) -> bool {
        let staying = self.staying(name).map(|text| text.may_prepare);
        staying.unwrap_or(self.others && self.get(name).is_none())
    }

    /// Other texts may have the names of those that ask.
    pub(crate) fn forget_questions(&mut self) {
        self.others = true;
        self.list.iter_mut().for_each(|text| text.asks = false);
        self.staying
            .iter_mut()
            .for_each(|text| text.question = None);
    }

    /// A text that is not carried has its name from now on. Of more than so many nothing is known.
    pub(super) fn stays(&mut self, text: Staying) {
        match self.staying.len() < TEXTS_MAX {
            true => self.staying.push(text),
            false => self.others = true,
        }
    }

    /// Nothing is known of a text that has its name from now on.
    pub(super) fn hides(&mut self) {
        self.others = true;
    }

    /// The text has its name from now on, whatever had it before.
    pub(super) fn put(&mut self, text: Text) {
        self.remove(&text.name);
        self.list.push(text);
    }

    fn remove(&mut self, name: &[u8]) {
        self.list.retain(|text| *text.name != *name);
        self.staying.retain(|text| *text.name != *name);
        self.kept.recount(self.bytes());
    }

    /// The memory that they take, but for what they share.
    pub(super) fn bytes(&self) -> usize {
        let texts = self.list.iter();
        texts
            .map(|text| size_of::<Text>() + text.name.len() + text.text.len())
            .sum()
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
            if texts.list.is_empty() && texts.staying.is_empty() && !texts.others {
                self.texts = None;
            }
        }
    }
}
