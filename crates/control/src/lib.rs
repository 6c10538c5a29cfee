//! The control plane: what an administrator's tools see of the front door, over HTTP and in SQL.
//!
//! Workers are asked through their mailboxes: for reports, which are added up, and for slices of what
//! there is, so that none of them is held up. This crate decides nothing about clients or backends,
//! opens no socket but those it accepts and one to the database, whose accounts it reads, and knows neither the driver nor the configuration: what it
//! needs of them comes in through [`Workers`] and [`Facts`].
//!
//! | file | is about |
//! |---|---|
//! | `workers` | asking workers, within a bound |
//! | `watch` | what was told last, so that nobody is asked twice at a time |
//! | `outlook` | whether the backend can be reached |
//! | `facts` | what the process knows besides the reports |
//! | `office` | what statements change besides clients |
//! | `desk` | all of that, for all listeners |
//! | `entrance` | who may come in at the listeners, and how |
//! | `lasting` | what goes on although a part of it panics |
//! | `credentials` | the accounts of the database, read again and again |
//! | `metrics` | the text of `/metrics` |
//! | `health` | the verdict of `/health` |
//! | `tables` | what there is, as tables |
//! | `like` | patterns |
//! | `api` | the tables as JSON |
//! | `routes` | which path answers what |
//! | `serve` | HTTP connections and their limits |
//! | `sql` | the listener for statements |

mod accept;
mod api;
mod credentials;
mod desk;
mod entrance;
mod facts;
mod health;
mod lasting;
mod like;
mod metrics;
mod office;
mod outlook;
mod places;
mod routes;
mod serve;
mod sql;
mod tables;
mod watch;
mod workers;

#[cfg(test)]
mod tests;

pub use credentials::{
    AccountsStatus, Database, Notice, Orders, Succession, Successor, read_accounts,
};
pub use desk::Desk;
pub use entrance::{Administrator, Encryption, Entrance};
pub use facts::{DriverCount, Facts};
pub use lasting::lasting;
pub use office::{Changing, Lasts, Office, Whose};
pub use serve::serve;
pub use sql::serve_sql;
pub use workers::{Collected, Workers, collect};
