//! A private MariaDB or MySQL for demonstrations and tests: installed into a folder of its own, started,
//! stopped, and never touching a database that the machine already has.
//!
//! Not here: anything about the front door itself; this crate only runs a backend for it.
//!
//! ```no_run
//! let mut database = localdb::LocalDb::start(localdb::Options::default())?;
//! database.load_sample()?;
//! println!("{}", database.execute("SELECT COUNT(*) FROM shop.customer")?);
//! database.stop()?;
//! # Ok::<(), localdb::LocalDbError>(())
//! ```

mod client;
mod database;
mod error;
mod family;
mod folder;
mod install;
mod installation;
mod leftover;
mod options;
mod process;
mod programs;
mod tree;

pub use database::LocalDb;
pub use error::LocalDbError;
pub use family::Family;
pub use installation::Installation;
pub use options::Options;
pub use programs::{client_command, command_of};

#[cfg(test)]
mod tests;
