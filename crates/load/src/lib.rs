//! The load generator: many client connections in few threads, each sending one statement after
//! another and checking every answer.
//!
//! It is built like the front door: one state machine per worker ([`driver::run`] carries it), no
//! buffers of idle connections. A connection is ramped up, waits until all are logged in, and then
//! runs a closed loop: the next statement leaves when the last is answered. Measured are the
//! statements answered between the end of the warm-up and the end of the duration; errors, wrong
//! answers and lost connections count from beginning to end.
//!
//! Not here: command lines, resolving names, writing files.

mod answer;
mod connection;
mod crew;
mod error;
mod generator;
mod latencies;
mod ledger;
mod login;
mod packets;
mod plan;
mod process;
mod progress;
mod ramp;
mod run;
mod summary;
mod tally;
mod watch;
mod winding_down;
mod workload;

pub use error::LoadError;
pub use plan::{Account, Plan};
pub use progress::{Progress, Stage};
pub use run::run;
pub use summary::{LatencyMs, Summary};
pub use watch::Watched;
pub use workload::Workload;
