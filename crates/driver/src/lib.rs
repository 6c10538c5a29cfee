//! The driver: an event loop over epoll that owns the sockets of one worker and tells a
//! [`Handler`](events::Handler) what happens on them.
//!
//! It knows nothing of the protocol that the bytes belong to. It holds no bytes of an idle
//! connection, reads into one buffer per worker and writes all that a turn of the loop produced
//! for a socket in one system call.
//!
//! Start-up: [`Listeners::bind`] and [`mailboxes`] once, then one [`Worker`] per thread, each
//! handed to [`run`].

mod address;
mod balance;
mod clock;
mod connection;
mod counters;
mod epoll;
mod listener;
mod mailbox;
mod nonces;
mod outbox;
mod socket;
mod sources;
mod table;
mod worker;

pub use address::Address;
pub use clock::Clock;
pub use counters::{DriverCounters, DriverCounts};
pub use epoll::run;
pub use listener::{BindError, Listeners};
pub use mailbox::{Inbox, Postboxes, mailboxes};
pub use nonces::seed;
pub use sources::Sources;
pub use worker::{DriverError, Worker};
