//! The doctor: what of this machine, and of the database behind, would stop so many connections, at
//! how many of them, and what to do about it.
//!
//! A [`Host`] reads facts from `/proc` and `/sys`, a [`Need`] says what is wanted, [`examine`] runs all
//! checks and gives a [`Report`]. Nothing is changed by that. [`Adjusted`] sets what a report asks
//! for and puts it back. [`explain()`] tells what an error number means.
//!
//! Not here: asking a database or the kernel anything (facts come in), command lines, colours of a
//! terminal that is not there.

mod adjust;
mod checks;
mod database;
mod explain;
mod finding;
mod host;
mod need;
mod numbers;
mod remedy;
mod report;
mod text;
#[cfg(test)]
mod tree;

pub use adjust::{AdjustError, Adjusted, Change, Refusal, Setting, set};
pub use database::{Facts, Ours, Tracking, examine_database, unreachable_database};
pub use explain::{Explanation, Kind, explain, explain_os, explain_server, explanations};
pub use finding::{Finding, Group, Observation, Severity};
pub use host::{Host, Unknown, Uring};
pub use need::{Driver, Need, Role, Serving};
pub use remedy::{Place, Remedy};
pub use report::{FirstLimit, Report, examine};
pub use text::Style;

/// The names of all checks; each has a page in `docs/doctor`.
pub fn names() -> impl Iterator<Item = &'static str> {
    checks::names().chain(database::names())
}
