//! What statements of administrators change besides clients. Carried out by whoever owns the
//! configuration.

use std::pin::Pin;

use session::statement::Limits;

/// Whose limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whose {
    /// Those of an account: user, and host with its wildcards.
    Account(String, String),
    /// Those of all accounts that have none of their own.
    Others,
}

/// For how long a limit is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lasts {
    /// Until the configuration is read again.
    Trial,
    /// Also after a restart.
    Kept,
}

/// A change that is under way: ready when it is in force, or with the reason why not, in words for whoever asked.
pub type Changing = Pin<Box<dyn Future<Output = Result<(), String>> + Send>>;

/// Puts limits in force. What must read or write files does so elsewhere: other requests are answered meanwhile.
pub trait Office: Send + Sync {
    /// Reads the configuration again; trials end.
    fn reload(&self) -> Changing;

    /// Sets what `limits` names, for each of these; either all of it holds or nothing.
    fn set_limits(&self, whose: &[Whose], limits: &Limits, lasts: Lasts) -> Changing;
}
