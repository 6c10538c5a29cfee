//! Why a challenge cannot go on, or why one of its runs could not be done.

use std::io;
use std::path::Path;

use localdb::LocalDbError;

/// What went wrong. A run that fails is reported as such; the rest ends the challenge.
#[derive(Debug, thiserror::Error)]
pub enum ChallengeError {
    /// Somebody asked for an end.
    #[error("interrupted")]
    Interrupted,
    /// The private database cannot be used.
    #[error("the private MariaDB: {0}")]
    Database(#[from] LocalDbError),
    /// A command of our own ended although it should not have, or said nothing.
    #[error("{name} {what}: {said}")]
    Child {
        /// Which.
        name: &'static str,
        /// What it did.
        what: String,
        /// The end of what it said.
        said: String,
    },
    /// The generator's figures cannot be read.
    #[error("the figures of the load generator cannot be read: {0}; report this as a defect")]
    Figures(#[from] serde_json::Error),
    /// The system refused something.
    #[error("cannot {what}: {source}; check permissions and free space")]
    System {
        /// What was tried.
        what: String,
        /// What the system said.
        source: io::Error,
    },
    /// Settings of the host could not be changed or put back.
    #[error(transparent)]
    Settings(#[from] doctor::AdjustError),
}

impl ChallengeError {
    /// For `map_err`: names what was tried, and on which path.
    pub(crate) fn system<E: Into<io::Error>>(what: &str, path: &Path) -> impl FnOnce(E) -> Self {
        let what = format!("{what} {}", path.display());
        move |source| Self::System {
            what,
            source: source.into(),
        }
    }
}
