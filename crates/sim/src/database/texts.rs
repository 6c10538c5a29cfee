//! Texts that are prepared by name, as a session has them: `PREPARE`, `EXECUTE` and `DEALLOCATE PREPARE`.
//! Owns no packets.

use std::collections::BTreeMap;

use wire::code;

use super::answer::Outcome;
use super::execute::Work;
use super::prepared::{Binding, refusal};
use super::sql::{Executed, Sql};

/// The texts of one session, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Texts {
    named: BTreeMap<String, Text>,
}

/// One of them.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    pub(crate) sql: Sql,
    /// In which state of the session it was prepared.
    pub(crate) binding: Binding,
}

impl Texts {
    pub(crate) fn get(&self, name: &str) -> Option<&Text> {
        self.named.get(name)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &String> {
        self.named.keys()
    }

    /// False if the name is nobody's.
    pub(crate) fn remove(&mut self, name: &str) -> bool {
        self.named.remove(name).is_some()
    }

    /// What an EXECUTE of a name that there is runs; every other statement as it is.
    pub(crate) fn resolved(&self, sql: Sql) -> Sql {
        let Sql::ExecuteText(name) = &sql else {
            return sql;
        };
        let Some(text) = self.get(name) else {
            return sql;
        };
        Sql::Executed(Box::new(Executed {
            sql: text.sql.clone(),
            prepared: text.sql.clone(),
            binding: text.binding.clone(),
            cursor: None,
            binary: false,
        }))
    }
}

impl Work<'_> {
    /// PREPARE: what had the name before is gone, whatever becomes of this.
    pub(super) fn prepare_text(&mut self, name: &str, sql: &Sql) -> Outcome {
        let schema = self.session.schema.clone();
        self.session.texts.remove(name);
        if let Some(error) = refusal(schema.as_deref(), |s| self.storage.has(s), sql) {
            return Outcome::Err(error);
        }
        let text = Text {
            sql: sql.clone(),
            binding: Binding::of(schema, &self.session.variables),
        };
        self.session.texts.named.insert(name.to_owned(), text);
        Outcome::DONE
    }

    /// DEALLOCATE PREPARE.
    pub(super) fn deallocate_text(&mut self, name: &str) -> Outcome {
        match self.session.texts.remove(name) {
            true => Outcome::DONE,
            false => Outcome::Err(code::UNKNOWN_STMT_HANDLER),
        }
    }
}
