//! Says who pins and why: one line in the log for each reason and kind of statement.

use std::collections::{BTreeMap, HashSet};

use session::statement::{Dialect, PinReason, PinReasons, digest_text};

/// So many lines are written; from then on `/metrics` alone counts.
const LINES_MAX: usize = 1_000;

/// A digest's length in the log, in bytes.
const DIGEST_MAX: usize = 200;

/// What was logged.
#[derive(Default)]
pub struct PinLog {
    lines: HashSet<(PinReason, String)>,
    /// The first of each reason: who, and by which statement.
    examples: BTreeMap<PinReason, (String, String)>,
}

impl PinLog {
    /// Who was the first to be pinned for a reason, and by which statement.
    pub fn example(&self, reason: PinReason) -> Option<(&str, &str)> {
        let (user, digest) = self.examples.get(&reason)?;
        Some((user, digest))
    }

    /// A session of `user` was pinned for these reasons by this statement.
    pub fn note(&mut self, reasons: PinReasons, user: &str, (text, dialect): (&[u8], &Dialect)) {
        if self.lines.len() >= LINES_MAX {
            return;
        }
        let digest = digest_text(text, dialect, DIGEST_MAX);
        for reason in reasons.iter() {
            if self.lines.insert((reason, digest.clone())) {
                let example = || (user.to_owned(), digest.clone());
                self.examples.entry(reason).or_insert_with(example);
                let reason = reason.name();
                tracing::warn!(reason, user, digest, "a statement pins its session");
            }
        }
    }
}
