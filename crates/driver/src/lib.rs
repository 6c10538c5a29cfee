//! The drivers: event loops that own the sockets of one worker and tell a
//! [`Handler`](events::Handler) what happens on them. There are two of them with the same meaning,
//! over epoll and over io_uring; [`Driver::choose`] finds out which can run.
//!
//! It knows nothing of the protocol that the bytes belong to. It holds no bytes of an idle
//! connection, reads into one buffer per worker and writes all that a turn of the loop produced
//! for a socket in one system call.
//!
//! Start-up: [`Listeners::bind`] and [`mailboxes`] once, then one [`Worker`] per thread, each
//! handed to [`run`].

mod address;
mod balance;
mod choice;
mod clock;
mod closing;
mod connection;
mod counters;
mod doors;
mod epoll;
mod error;
mod event_loop;
mod listener;
mod mailbox;
mod nonces;
mod notice;
mod outbox;
mod outgoing;
mod run;
mod socket;
mod sources;
mod table;
mod uring;
mod worker;

pub use address::Address;
pub use choice::{Driver, Wanted};
pub use clock::Clock;
pub use counters::{DriverCounters, DriverCounts};
pub use error::DriverError;
pub use listener::{BindError, Listeners};
pub use mailbox::{Inbox, Postboxes, mailboxes};
pub use nonces::seed;
pub use run::run;
pub use sources::Sources;
pub use worker::Worker;
