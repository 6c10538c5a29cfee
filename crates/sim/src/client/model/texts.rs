//! Texts prepared by name of which the client cannot know whether it still has them.

use std::collections::BTreeSet;

use super::{Answer, Model};
use crate::database::sql::Sql;
use crate::database::{Execution, Session};

/// The names of those texts: a PREPARE of the same name failed, before it was begun or afterwards.
#[derive(Debug, Default)]
pub(super) struct Doubts {
    names: BTreeSet<String>,
}

impl Doubts {
    /// What has the name may be gone.
    pub(super) fn doubt(&mut self, name: &str) {
        self.names.insert(name.to_owned());
    }

    /// True if what ran is the text of that name, as the session prepared it.
    pub(super) fn executes(&self, session: &Session, name: &str, ran: &Execution) -> bool {
        match (&ran.prepared, session.texts.get(name)) {
            (Some((sql, binding)), Some(own)) => {
                own.sql == *sql && own.binding.means_the_same(binding, sql)
            }
            (Some(_), None) => false,
            (None, own) => own.is_none() || self.names.contains(name),
        }
    }
}

impl Model {
    /// True if a text is prepared for certain.
    pub(super) fn has_texts(&self) -> bool {
        let mut names = self.session.texts.names();
        names.any(|name| !self.texts.names.contains(name))
    }

    pub(crate) fn text_names(&self) -> Vec<String> {
        self.session.texts.names().cloned().collect()
    }

    /// What a statement is told of a name settles whether that is still the session's.
    pub(super) fn settle_doubt(&mut self, sql: &Sql, answer: &Answer) {
        const UNKNOWN: u16 = wire::code::UNKNOWN_STMT_HANDLER;
        let (Sql::PrepareText(name, _) | Sql::ExecuteText(name) | Sql::DeallocateText(name)) = sql
        else {
            return;
        };
        if self.texts.names.remove(name) && matches!(answer, Answer::Err { code: UNKNOWN, .. }) {
            self.session.texts.remove(name);
        }
    }
}
