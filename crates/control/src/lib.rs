//! The control plane: what an administrator's tools see of the front door, over HTTP.
//!
//! `/metrics` and `/health` ask each worker for a report through its mailbox and add them up. This
//! crate decides nothing about clients or backends, opens no socket but those it accepts, and knows
//! neither the driver nor the configuration: what it needs of them comes in through [`Workers`] and
//! [`Facts`].
//!
//! | file | is about |
//! |---|---|
//! | `workers` | asking all workers at once, within a bound |
//! | `watch` | what was told last, so that nobody is asked twice at a time |
//! | `outlook` | whether the backend can be reached |
//! | `facts` | what the process knows besides the reports |
//! | `metrics` | the text of `/metrics` |
//! | `health` | the verdict of `/health` |
//! | `routes` | which path answers what |
//! | `serve` | connections and their limits |

mod facts;
mod health;
mod metrics;
mod outlook;
mod routes;
mod serve;
mod watch;
mod workers;

#[cfg(test)]
mod tests;

pub use facts::{DriverCount, Facts};
pub use serve::serve;
pub use workers::{Collected, Workers, collect};
