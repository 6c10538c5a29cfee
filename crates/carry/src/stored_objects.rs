//! What triggers, views and the routines behind them leave in their session without the server saying so. Each account's
//! own connection is asked once, and again after a definition through the front door. Statements that lead to one pin.
//!
//! Owns the names, and when they are asked for; what leaves something is `session`'s to say. Where there are none, which
//! is nearly everywhere, a statement costs one look at an empty table.

pub mod names;

use events::{Span, Timestamp};
use membership::Key;
use session::statement::UNSEEN_MAX;
use wire::TextResultSet;

use crate::routines::unhex;
use crate::stored_objects::names::{Names, Reached};

/// A server that does not say is asked again after this long, and so many times as long as that took.
const AGAIN: Span = Span::from_secs(60);

const AGAIN_TIMES: u64 = 20;

/// What is known for one key of the pool.
#[derive(Default)]
pub struct StoredObjects {
    /// What leads to what leaves something that nothing reports.
    pub unseen: Names,
    /// What leads to what sets variables, which an error does not report.
    pub sets: Names,
    /// The names are of now: nothing has been defined since they were asked for.
    pub current: bool,
    /// The server did not say. Whatever may lead to one pins.
    pub in_doubt: bool,
    /// Which backend is asked, and since when.
    pub asked: Option<(Key, Timestamp)>,
    /// Nobody is asked before that: the server did not say.
    pub ask_at: Timestamp,
}

impl StoredObjects {
    /// Something was defined or dropped. `stored`: a trigger, view or routine.
    pub fn define(&mut self, stored: bool) {
        // Where nothing leaves anything, a table that is defined leads to nothing.
        if stored || !self.unseen.is_empty() || !self.sets.is_empty() {
            (self.current, self.asked) = (false, None);
        }
    }

    /// True while an answer is due for which sessions wait.
    pub const fn is_asked(&self) -> bool {
        self.asked.is_some()
    }

    /// Takes the answer in; there is none if the server refused, or the connection was lost.
    pub fn learn(&mut self, rows: Option<&TextResultSet>, now: Timestamp) {
        let since = self.asked.take().map_or(now, |(_, since)| since);
        (self.unseen, self.sets) = Default::default();
        // Of as many as are told, some may be missing.
        let Some(rows) = rows.filter(|rows| rows.rows().count() < UNSEEN_MAX) else {
            (self.current, self.in_doubt) = (false, true);
            let took = now.since(since).as_us();
            self.ask_at = now + AGAIN + Span::from_us(took.saturating_mul(AGAIN_TIMES));
            return;
        };
        (self.current, self.in_doubt) = (true, false);
        for row in rows.rows() {
            let [Some(what), Some(how), Some(schema), Some(name)] = row else {
                continue;
            };
            let reached = match how.as_slice() {
                b"W" => Reached::Written,
                _ => Reached::Named,
            };
            let names = match what.as_slice() {
                b"S" => &mut self.sets,
                _ => &mut self.unseen,
            };
            if let (Some(schema), Some(name)) = (unhex(schema), unhex(name)) {
                names.add((&schema, &name), reached);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_does_not_say_is_asked_again_later() {
        let after = |seconds| Timestamp::ZERO + Span::from_secs(seconds);
        let key = Key::from_bits(0);
        let mut stored = StoredObjects {
            asked: Some((key, after(1))),
            ..StoredObjects::default()
        };
        stored.unseen.add((b"shop", b"orders"), Reached::Written);
        stored.learn(None, after(3));
        assert!(stored.in_doubt && !stored.current && !stored.is_asked());
        assert_eq!(stored.ask_at, after(3 + 60 + 2 * 20));
        stored.learn(Some(&TextResultSet::default()), after(200));
        assert!(stored.current && !stored.in_doubt);
    }

    #[test]
    fn what_is_defined_makes_the_names_old_and_their_answer_void() {
        let mut stored = StoredObjects {
            current: true,
            ..StoredObjects::default()
        };
        stored.define(false);
        assert!(
            stored.current,
            "a table leads to nothing where nothing leaves anything"
        );
        stored.asked = Some((Key::from_bits(0), Timestamp::ZERO));
        stored.define(true);
        assert!(!stored.current && !stored.is_asked());
        stored.learn(Some(&TextResultSet::default()), Timestamp::ZERO);
        stored.unseen.add((b"shop", b"orders"), Reached::Written);
        stored.define(false);
        assert!(
            !stored.current,
            "a table may be renamed that leaves something"
        );
    }
}
