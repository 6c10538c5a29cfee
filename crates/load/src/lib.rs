//! The load generator: many client connections in few threads, each sending one statement after
//! another and checking every answer.
//!
//! It is built like the front door: one state machine per worker ([`driver::run`] carries it), no
//! buffers of idle connections. A connection is ramped up, waits until all are logged in, and then
//! runs transactions of its group's [`Workload`], in a closed or an open loop. Measured are the
//! statements answered between the end of the warm-up and the end of the duration; errors, wrong
//! answers and lost connections count from beginning to end.
//!
//! Not here: command lines, resolving names, writing files.

mod answer;
mod arrivals;
mod book;
mod client;
mod connection;
mod crew;
mod distribution;
mod error;
mod explain;
mod figures;
mod generator;
mod html;
mod latencies;
mod ledger;
mod login;
mod pace;
mod packets;
mod plan;
mod prepare;
mod process;
mod progress;
mod ramp;
mod run;
mod script;
mod sending;
mod sources;
mod summary;
mod tables;
mod tally;
mod team;
mod watch;
mod winding_down;
mod work;
mod workload;

pub use distribution::Distribution;
pub use error::LoadError;
pub use figures::{Figures, LatencyMs};
pub use plan::{Account, Group, OnTimeout, Pacing, Patience, Plan};
pub use prepare::Tables;
pub use progress::{GroupProgress, Progress, Stage};
pub use run::{run, run_while};
pub use script::{Script, ScriptError};
pub use sources::loopback_sources;
pub use summary::{GroupSummary, Summary};
pub use watch::Watched;
pub use workload::{Rows, Workload};
