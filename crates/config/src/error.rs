//! What can go wrong when a configuration is loaded, and how it is printed.
//!
//! The words for a single bad value are said where that value is checked.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why a configuration file gave no settings.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file could not be read.
    #[error(
        "cannot read {path:?}: {source}; check that it is there and that this user may read it"
    )]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file was read, but something in it is wrong.
    #[error(transparent)]
    Invalid(#[from] ConfigErrors),
}

/// All that is wrong in one configuration, in the order of the text; never empty.
///
/// Printed as `origin:line:column: key: what is wrong; what would be right`, one line each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigErrors {
    origin: String,
    problems: Vec<Problem>,
}

/// One thing wrong in a configuration. It never shows a password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The key with its section, such as `server.listen`; empty if the text is not TOML.
    pub key: String,
    /// What is wrong, and after a semicolon what would be right.
    pub message: String,
}

impl ConfigErrors {
    /// The problems, in the order of the text.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    pub(crate) fn new(origin: &str, problems: Vec<Problem>) -> Self {
        Self {
            origin: origin.to_owned(),
            problems,
        }
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            let line_end = if index == 0 { "" } else { "\n" };
            write!(f, "{line_end}{}:{problem}", self.origin)?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigErrors {}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: ", self.line, self.column)?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.message)
    }
}

/// What is wrong with a value and what would be right: nobody can say the one without the other.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}; {fix}")]
pub(crate) struct Wrong {
    what: String,
    fix: String,
}

impl Wrong {
    pub(crate) fn new(what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            fix: fix.into(),
        }
    }
}
