//! Prepared statements as sessions share them: the text, what it is bound to and what it does, once per
//! worker, for as long as a session has it (rule 11).
//!
//! Owns the texts and their bound. Which session has which is in `client_statements`, which backend has it
//! prepared in `backend_statements`.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use session::Binding;
use session::statement::{Known, Mention, Statement};

use crate::carried::routines::Routine;
use crate::conditions::Does;
use crate::endings::kill::Victim;

/// The table is looked through for what is gone whenever it has doubled, and not below so many.
const SWEEP_MIN: usize = 64;

/// A statement that was prepared by at least one session.
#[derive(Debug)]
pub(crate) struct Template {
    /// Its name on this worker, never given again.
    pub number: u64,
    /// What was prepared.
    pub text: Box<[u8]>,
    /// In which state of a session.
    pub binding: Binding,
    /// What is known of it from its text.
    pub meaning: Meaning,
    /// Bytes of all texts, this one's among them.
    total: Arc<AtomicUsize>,
}

/// What running a statement means.
#[derive(Clone, Debug)]
pub(crate) struct Meaning {
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
pub(crate) struct Templates {
    by_hash: HashMap<u64, Weak<Template>>,
    sweep_at: usize,
    last_number: u64,
    total: Arc<AtomicUsize>,
}

impl Templates {
    /// The template of a text that is prepared in a state. What it means follows from these, but for the count that
    /// it asks for.
    pub(crate) fn get(
        &mut self,
        (text, binding): (&[u8], Binding),
        meaning: Meaning,
    ) -> Arc<Template> {
        let mut hasher = DefaultHasher::new();
        (text, &binding, meaning.counted).hash(&mut hasher);
        let hash = hasher.finish();
        let known = self.by_hash.get(&hash).and_then(Weak::upgrade);
        let same = |known: &Arc<Template>| {
            *known.text == *text
                && known.binding == binding
                && known.meaning.counted == meaning.counted
        };
        if let Some(known) = known.filter(same) {
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
            total: self.total.clone(),
        });
        // Another one with the same hash is shared no further.
        self.by_hash.insert(hash, Arc::downgrade(&template));
        template
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        let alive = |template: &&Weak<Template>| template.strong_count() > 0;
        self.by_hash.values().filter(alive).count()
    }

    /// Bytes of their texts.
    pub(crate) fn bytes(&self) -> usize {
        self.total.load(Ordering::Relaxed)
    }

    fn sweep(&mut self) {
        if self.by_hash.len() >= self.sweep_at.max(SWEEP_MIN) {
            self.by_hash
                .retain(|_, template| template.strong_count() > 0);
            self.sweep_at = 2 * self.by_hash.len();
        }
    }
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
        templates.get((text.as_bytes(), binding), meaning(text.as_bytes()))
    }

    #[test]
    fn one_text_is_kept_once_for_each_state_it_was_prepared_in() {
        let mut templates = Templates::default();
        let a = template(&mut templates, "SELECT 1", "a");
        let again = template(&mut templates, "SELECT 1", "a");
        let b = template(&mut templates, "SELECT 1", "b");
        assert!(Arc::ptr_eq(&a, &again) && a.number != b.number);
        assert_eq!((templates.len(), templates.bytes()), (2, 16));
    }

    #[test]
    fn what_no_session_has_is_gone() {
        let mut templates = Templates::default();
        let kept = template(&mut templates, "SELECT 0", "a");
        for n in 1..10_000 {
            let shed = template(&mut templates, &format!("SELECT {n}"), "a");
            assert_ne!(shed.number, kept.number);
        }
        assert_eq!((templates.len(), templates.bytes()), (1, 8));
        assert!(templates.by_hash.len() <= 2 * SWEEP_MIN);
    }
}
