//! The conditions that a session has caused: whatever is not known of its list, nobody else's may be in it.

use std::collections::BTreeSet;

use super::Answer;
use crate::failure::{Broken, Rule, ensure};

/// The numbers of what a session was told, or has done, that SHOW WARNINGS may tell of.
#[derive(Debug, Default)]
pub(crate) struct Caused {
    codes: BTreeSet<u16>,
}

impl Caused {
    /// The session has caused this.
    pub(crate) fn note(&mut self, code: u16) {
        self.codes.insert(code);
    }

    /// The session was told this.
    pub(crate) fn told(&mut self, answers: &[Answer]) {
        for answer in answers {
            if let Answer::Err { code, .. } = answer {
                self.note(*code);
            }
        }
    }

    /// Whether all that SHOW WARNINGS or SHOW ERRORS tells is the session's own.
    pub(super) fn check(&self, answer: &Answer) -> Result<(), Broken> {
        let Answer::Rows { rows, .. } = answer else {
            return Ok(());
        };
        let code = |row: &Vec<Option<String>>| match &row[..] {
            [Some(_), Some(code), Some(_)] => code.parse::<u16>().ok(),
            _ => None,
        };
        let strange = rows.iter().filter_map(code);
        let strange = strange.filter(|code| !self.codes.contains(code)).min();
        ensure(Rule::Answer, strange.is_none(), || {
            format!("was told of condition {strange:?}, which it has not caused")
        })
    }
}
