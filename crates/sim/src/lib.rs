//! The whole front door from a seed: engines, a virtual network and clock, clients that know what
//! they must be told, and a database that knows locks, schemas, variables and transactions. Each
//! run checks the rules of correctness at every step, and a seed repeats its run exactly.
//!
//! Owns no socket and no thread. The drivers and the real servers are tested elsewhere.

mod catalog;
mod client;
mod database;
mod deliveries;
mod failure;
mod fairness_watch;
mod invariants;
mod network;
mod panics;
mod quota_watch;
mod quotas;
mod runner;
mod sabotage;
mod schedule;
mod setup;
mod trace;
mod world;

pub use database::Backend;
pub use failure::{Broken, Failure, Rule};
pub use runner::{Options, Scenario, Stats, run};
pub use sabotage::Sabotage;
