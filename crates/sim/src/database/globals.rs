//! The one global variable that clients set, and since when new sessions must see each value.

use events::{Span, Timestamp};

/// How long the news may be under way from the worker that heard it to the others.
const NEWS: Span = Span::from_ms(2);

/// Every value that the variable has had, the latest last.
pub(crate) struct Globals {
    values: Vec<Value>,
}

struct Value {
    value: u64,
    /// When the client that set it was told so.
    known_at: Option<Timestamp>,
}

impl Globals {
    pub(super) fn new() -> Self {
        let first = Value {
            value: 86_400,
            known_at: None,
        };
        Self {
            values: vec![first],
        }
    }

    pub(super) fn set(&mut self, value: u64) {
        let known_at = None;
        self.values.push(Value { value, known_at });
    }

    /// What a session that begins now has.
    pub(super) fn current(&self) -> u64 {
        self.values.last().map_or(0, |last| last.value)
    }

    /// The client that set this value was told so.
    pub(crate) fn known(&mut self, value: u64, now: Timestamp) {
        let set = self.values.iter_mut().find(|set| set.value == value);
        if let Some(set) = set {
            set.known_at.get_or_insert(now);
        }
    }

    /// True if a session that began then may have this value: no later one was known.
    pub(crate) fn may_have(&self, value: &str, began: Timestamp) -> bool {
        let place = self
            .values
            .iter()
            .position(|set| set.value.to_string() == value);
        let later = place.map(|place| &self.values[place + 1..]);
        let is_news = |set: &Value| set.known_at.is_none_or(|at| at + NEWS > began);
        later.is_some_and(|later| later.iter().all(is_news))
    }
}
