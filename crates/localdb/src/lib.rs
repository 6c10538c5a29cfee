//! A private MariaDB for demonstrations and tests: installed into a folder of its own, started,
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
mod folder;
mod install;
mod leftover;
mod options;
mod process;
mod programs;

pub use database::LocalDb;
pub use error::LocalDbError;
pub use options::Options;

#[cfg(test)]
mod tests;
