//! What a run ends with when a rule does not hold. Owns the names of the rules, not the checks.

use std::fmt;

/// The rule that was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// An answer is not what the client's own session would have been told.
    Answer,
    /// A connection was closed, or an error told, without a reason.
    Reason,
    /// A statement ran on a backend that was not in the session's state.
    State,
    /// A statement that is no plain read ran twice.
    Once,
    /// A statement ran although its client had left the queue.
    Abandoned,
    /// There were more backend connections than the budget allows.
    Budget,
    /// A transaction, or what pins a session, moved to another backend.
    Moved,
    /// More statements of an account ran than may, or a later one before an earlier one.
    Quota,
    /// A statement ran long before one of its account that had waited for longer, or an account had no turn in time.
    Fairness,
    /// Somebody waited beside free slots, or something never ended.
    Liveness,
    /// Something was left over at the end.
    End,
    /// The engine broke the contract of its driver.
    Contract,
    /// The engine's records do not agree with each other.
    Records,
    /// Bytes that do not follow the protocol.
    Protocol,
    /// The engine panicked.
    Panic,
}

/// A rule that does not hold, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{rule:?}: {text}")]
pub struct Broken {
    /// The rule.
    pub rule: Rule,
    /// What was seen.
    pub text: String,
}

impl Broken {
    pub(crate) fn new(rule: Rule, text: impl Into<String>) -> Self {
        Self {
            rule,
            text: text.into(),
        }
    }
}

/// A run that broke a rule.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The seed that does it again.
    pub seed: u64,
    /// What was broken.
    pub broken: Broken,
    /// The last lines of the trace.
    pub trace: Vec<String>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.trace {
            writeln!(f, "{line}")?;
        }
        write!(
            f,
            "seed {} broke {} (MYRIAD_SIM_SEED={} shows all)",
            self.seed, self.broken, self.seed
        )
    }
}

/// Breaks `rule` unless `holds`.
pub(crate) fn ensure(rule: Rule, holds: bool, text: impl FnOnce() -> String) -> Result<(), Broken> {
    if holds {
        Ok(())
    } else {
        Err(Broken::new(rule, text()))
    }
}
