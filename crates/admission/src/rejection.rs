//! Why somebody is not let in. Owns the text; which error of the protocol carries it is the matter
//! of whoever tells it.

use std::fmt;
use std::sync::Arc;

use events::Span;

/// A refusal, with what was known when it was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// The account or schema whose limit it is.
    pub name: Arc<str>,
    /// Which limit.
    pub why: Why,
    /// Statements of it that ran.
    pub running: u32,
    /// Statements of it that waited.
    pub waiting: u32,
}

/// Which limit somebody met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// `max_queued`: so many waited already.
    Queued(u32),
    /// `queue_timeout`: it waited so long.
    Timeout(Span),
    /// The statement's own time limit passed while it waited.
    Deadline(Span),
    /// `overload = "codel"`: it waited so long, and too many wait.
    Overload(Span),
    /// `max_connections`: so many are connected already.
    Connections(u32),
    /// `max_connects_per_second`: so many connected within a second.
    Connects(u32),
}

impl Why {
    /// The name of the limit in the configuration.
    pub const fn limit(self) -> &'static str {
        match self {
            Self::Queued(_) => "max_queued",
            Self::Timeout(_) => "queue_timeout",
            Self::Deadline(_) => "max_statement_time",
            Self::Overload(_) => "overload",
            Self::Connections(_) => "max_connections",
            Self::Connects(_) => "max_connects_per_second",
        }
    }

    /// Whether it was a login that was refused, not a statement.
    pub const fn is_login(self) -> bool {
        matches!(self, Self::Connections(_) | Self::Connects(_))
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, why, .. } = self;
        let limit = why.limit();
        match why {
            Why::Queued(max) => write!(f, "{name} has {max} statements waiting ({limit})")?,
            Why::Timeout(waited) | Why::Deadline(waited) => {
                write!(f, "a statement of {name} waited for {waited:?} ({limit})")?;
            }
            Why::Overload(waited) => {
                let what = "while too many wait";
                write!(
                    f,
                    "a statement of {name} waited for {waited:?} {what} ({limit})"
                )?;
            }
            Why::Connections(max) => return write!(f, "{name} has {max} connections ({limit})"),
            Why::Connects(max) => {
                return write!(f, "{name} connected {max} times within a second ({limit})");
            }
        }
        let (running, waiting) = (self.running, self.waiting);
        write!(
            f,
            "; {running} running, {waiting} waiting; the statement was not run"
        )
    }
}
