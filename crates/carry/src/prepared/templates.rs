//! Prepared statements as sessions share them: the text, what it is bound to and what it does, once per
//! worker, for as long as a session has it (rule 11).
//!
//! Owns the texts and their bound. Which session has which is in `client_statements`, which backend has it
//! prepared in `backend_statements`.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use session::statement::{Dialect, Known, Mention, Statement};
use session::{Binding, SessionState};

use crate::conditions::Does;
use crate::routines::Routine;
use crate::victim::Victim;

/// The table is looked through for what is gone whenever it has doubled, and not below so many.
const SWEEP_MIN: usize = 64;

/// Sessions share at most this many templates of one text in one schema: each has another session state or meaning.
const SAME_HASH_MAX: usize = 16;

/// A statement that was prepared by at least one session.
#[derive(Debug)]
pub struct Template {
    /// Its name on this worker, never given again.
    pub number: u64,
    /// What was prepared.
    pub text: Box<[u8]>,
    /// In which state of a session.
    pub binding: Binding,
    /// What is known of it from its text.
    pub meaning: Meaning,
    /// The dialect of the text, if its meaning follows from both alone: no session with that dialect classifies it again.
    dialect: Option<Dialect>,
    /// Bytes of all texts, this one's among them.
    total: Arc<AtomicUsize>,
}

/// What running a statement means.
#[derive(Clone, Debug)]
pub struct Meaning {
    /// What running it does.
    pub statement: Statement,
    /// What running it does to the list of conditions.
    pub does: Does,
    /// The client of ours that it ends: the server does not know that one.
    pub kills: Option<Victim>,
    /// The one count that it asks for, which LAST_INSERT_ID() brings to its backend.
    pub counted: Option<Known>,
    /// The user variables that it mentions.
    pub mentions: Box<[Mention]>,
    /// The routines that it calls, if it pins for nothing else.
    pub calls: Box<[Routine]>,
}

impl Drop for Template {
    fn drop(&mut self) {
        self.total.fetch_sub(self.text.len(), Ordering::Relaxed);
    }
}

/// All templates of a worker.
#[derive(Default)]
pub struct Templates {
    /// By the hash of text and schema, at most [`SAME_HASH_MAX`] each.
    by_hash: HashMap<u64, Vec<Weak<Template>>>,
    sweep_at: usize,
    last_number: u64,
    total: Arc<AtomicUsize>,
}

impl Templates {
    /// The template of a text for a session in this state with this dialect, if its meaning follows from text and dialect.
    pub fn find(
        &self,
        text: &[u8],
        state: &SessionState,
        dialect: &Dialect,
    ) -> Option<Arc<Template>> {
        let hash = hash(text, state.schema.as_deref());
        let mut known = self.by_hash.get(&hash)?.iter().filter_map(Weak::upgrade);
        known.find(|known| {
            *known.text == *text
                && known.dialect.as_ref() == Some(dialect)
                && known.binding.is_of(state)
        })
    }

    /// The template of a text that is prepared in a state. Its meaning follows from these, but for the count that it asks
    /// for and the client that it ends. `dialect`: that of the text, if its meaning follows from text and dialect alone.
    pub fn get(
        &mut self,
        (text, binding): (&[u8], Binding),
        meaning: Meaning,
        dialect: Option<Dialect>,
    ) -> Arc<Template> {
        let hash = hash(text, binding.schema());
        let same = |known: &Arc<Template>| {
            *known.text == *text
                && known.binding == binding
                && known.meaning.counted == meaning.counted
                && known.meaning.kills == meaning.kills
        };
        let known = self.by_hash.get(&hash).into_iter().flatten();
        if let Some(known) = known.filter_map(Weak::upgrade).find(same) {
            return known;
        }
        self.sweep();
        self.last_number += 1;
        self.total.fetch_add(text.len(), Ordering::Relaxed);
        let template = Arc::new(Template {
            number: self.last_number,
            text: text.into(),
            binding,
            meaning,
            dialect,
            total: self.total.clone(),
        });
        let same_hash = self.by_hash.entry(hash).or_default();
        same_hash.retain(is_alive);
        if same_hash.len() == SAME_HASH_MAX {
            // It is shared no further.
            same_hash.remove(0);
        }
        same_hash.push(Arc::downgrade(&template));
        template
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        let all = self.by_hash.values().flatten();
        all.filter(|template| is_alive(template)).count()
    }

    /// Bytes of their texts.
    pub fn bytes(&self) -> usize {
        self.total.load(Ordering::Relaxed)
    }

    fn sweep(&mut self) {
        if self.by_hash.len() >= self.sweep_at.max(SWEEP_MIN) {
            self.by_hash
                .retain(|_, same_hash| same_hash.iter().any(is_alive));
            self.sweep_at = 2 * self.by_hash.len();
        }
    }
}

fn is_alive(template: &Weak<Template>) -> bool {
    template.strong_count() > 0
}

fn hash(text: &[u8], schema: Option<&[u8]>) -> u64 {
    let mut hasher = DefaultHasher::new();
    (text, schema).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
pub(crate) mod tests {
    use session::statement::{Dialect, Flavor, classify};
    use session::{Interner, SessionState};

    use super::*;

    /// What a text means by itself.
    pub(crate) fn meaning(text: &[u8]) -> Meaning {
        Meaning {
            statement: classify(text, &Dialect::new(Flavor::MariaDb, 101_119)),
            does: Does::Keeps,
            kills: None,
            counted: None,
            mentions: Box::default(),
            calls: Box::default(),
        }
    }

    /// A template of a session with nothing set.
    pub(crate) fn template(templates: &mut Templates, text: &str, schema: &str) -> Arc<Template> {
        let mut interner = Interner::default();
        let mut state = SessionState::new(45, &interner);
        state.set_schema(schema.as_bytes(), &mut interner);
        let binding = Binding::of(&state, &mut interner);
        templates.get((text.as_bytes(), binding), meaning(text.as_bytes()), None)
    }

    #[test]
    fn one_text_is_kept_once_for_each_state_it_was_prepared_in() {
        let mut templates = Templates::default();
        let a = template(&mut templates, "SELECT 1", "a");
        let again = template(&mut templates, "SELECT 1", "a");
        let b = template(&mut templates, "SELECT 1", "b");
        assert!(Arc::ptr_eq(&a, &again) && a.number != b.number);
        assert_eq!((templates.count(), templates.bytes()), (2, 16));
    }

    #[test]
    fn a_text_is_found_where_it_is_read_in_the_same_way_and_state() {
        let (mut templates, mut interner) = (Templates::default(), Interner::default());
        let mut state = SessionState::new(45, &interner);
        state.set_schema(b"a", &mut interner);
        let dialect = Dialect::new(Flavor::MariaDb, 101_119);
        let text = b"SELECT 1";
        let binding = Binding::of(&state, &mut interner);
        let kept = templates.get((text, binding), meaning(text), Some(dialect));
        let same = |found: Option<Arc<Template>>| found.is_some_and(|it| Arc::ptr_eq(&it, &kept));
        assert!(same(templates.find(text, &state, &dialect)));
        state.set_variable(b"autocommit", b"OFF", &mut interner);
        assert!(same(templates.find(text, &state, &dialect)));
        assert!(templates.find(b"SELECT 2", &state, &dialect).is_none());
        let other = Dialect::new(Flavor::MySql, 90_700);
        assert!(templates.find(text, &state, &other).is_none());
        let mut elsewhere = state.clone();
        elsewhere.set_schema(b"b", &mut interner);
        assert!(templates.find(text, &elsewhere, &dialect).is_none());
        state.set_variable(b"sql_mode", b"ANSI", &mut interner);
        assert!(templates.find(text, &state, &dialect).is_none());
        // What it means was told by more than its text.
        let binding = Binding::of(&elsewhere, &mut interner);
        let _rewritten = templates.get((text, binding), meaning(text), None);
        assert!(templates.find(text, &elsewhere, &dialect).is_none());
    }

    #[test]
    fn a_text_that_ends_its_own_session_is_kept_for_each() {
        let mut templates = Templates::default();
        let mut interner = Interner::default();
        let state = SessionState::new(45, &interner);
        let text = b"KILL CONNECTION_ID()";
        let mut prepare = |id| {
            let kills = Some(Victim { id, query: false });
            let meaning = Meaning {
                kills,
                ..meaning(text)
            };
            let binding = Binding::of(&state, &mut interner);
            templates.get((text, binding), meaning, None)
        };
        let [a, b, again] = [7, 8, 7].map(&mut prepare);
        assert_eq!(b.meaning.kills.map(|victim| victim.id), Some(8));
        assert!(Arc::ptr_eq(&a, &again));
        let _many: Vec<_> = (100..200).map(prepare).collect();
        let mut same_hash = templates.by_hash.values().map(Vec::len);
        assert_eq!(
            (same_hash.next(), same_hash.next()),
            (Some(SAME_HASH_MAX), None)
        );
    }

    #[test]
    fn what_no_session_has_is_gone() {
        let mut templates = Templates::default();
        let kept = template(&mut templates, "SELECT 0", "a");
        for n in 1..10_000 {
            let shed = template(&mut templates, &format!("SELECT {n}"), "a");
            assert_ne!(shed.number, kept.number);
        }
        assert_eq!((templates.count(), templates.bytes()), (1, 8));
        assert!(templates.by_hash.len() <= 2 * SWEEP_MIN);
    }
}
