//! What a database says about itself: its version, its variables, its counters.

use std::collections::BTreeMap;

use crate::host::{Unknown, number};

/// What a database says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    version: String,
    variables: BTreeMap<String, String>,
    status: BTreeMap<String, String>,
    tracking: Tracking,
    leaving: Option<Vec<String>>,
}

/// What its session tracker tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tracking {
    /// It was not found out, for this reason.
    Unknown(String),
    /// It cannot track sessions at all.
    Never,
    /// It was asked to tell of a few variables, and did not of these.
    Untold(Vec<String>),
}

impl Default for Tracking {
    fn default() -> Self {
        Self::Unknown("it was not probed".into())
    }
}

impl Facts {
    /// `VERSION()`, and the rows of `SHOW GLOBAL VARIABLES` and `SHOW GLOBAL STATUS`.
    pub fn new(
        version: impl Into<String>,
        variables: impl IntoIterator<Item = (String, String)>,
        status: impl IntoIterator<Item = (String, String)>,
    ) -> Self {
        let lower = |(name, value): (String, String)| (name.to_lowercase(), value);
        Self {
            version: version.into(),
            variables: variables.into_iter().map(lower).collect(),
            status: status.into_iter().map(lower).collect(),
            tracking: Tracking::default(),
            leaving: None,
        }
    }

    /// These, and what the session tracker tells.
    #[must_use]
    pub fn with_tracking(mut self, tracking: Tracking) -> Self {
        self.tracking = tracking;
        self
    }

    /// These, and the tables and views that leave something in a session.
    #[must_use]
    pub fn with_leaving(mut self, names: Vec<String>) -> Self {
        self.leaving = Some(names);
        self
    }

    /// The tables and views that leave something in a session.
    pub(super) fn leaving(&self) -> Result<&[String], Unknown> {
        let names = self.leaving.as_deref();
        names.ok_or_else(|| {
            Unknown("the database does not tell what its triggers and views do".into())
        })
    }

    /// What its session tracker tells.
    pub(super) fn tracking(&self) -> &Tracking {
        &self.tracking
    }

    /// The version, as it says.
    pub(super) fn version(&self) -> &str {
        &self.version
    }

    /// What the database is called.
    pub(super) fn family(&self) -> &'static str {
        if self.version.contains("MariaDB") {
            "MariaDB"
        } else {
            "MySQL"
        }
    }

    /// A variable that this database may lack.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// A variable that is a number.
    pub(super) fn number(&self, name: &str) -> Result<u64, Unknown> {
        let text = self.text(name);
        let text = text.ok_or_else(|| Unknown(format!("the database has no {name}")))?;
        number(name, text)
    }

    /// A variable that is on or off.
    pub(super) fn is_on(&self, name: &str) -> Result<bool, Unknown> {
        let text = self.text(name);
        let text = text.ok_or_else(|| Unknown(format!("the database has no {name}")))?;
        Ok(text.eq_ignore_ascii_case("on") || text == "1")
    }

    /// A counter.
    pub(super) fn count(&self, name: &str) -> Result<u64, Unknown> {
        let text = self.status.get(name);
        let text = text.ok_or_else(|| Unknown(format!("the database does not count {name}")))?;
        number(name, text)
    }

    #[cfg(test)]
    pub(super) fn with(mut self, name: &str, value: &str) -> Self {
        let known = self.status.contains_key(name);
        let map = if known {
            &mut self.status
        } else {
            &mut self.variables
        };
        map.insert(name.to_owned(), value.to_owned());
        self
    }
}
