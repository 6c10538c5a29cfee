//! The contract between a driver, which owns sockets, and a state machine, which decides.
//!
//! A driver turns readiness and completions into calls of [`Handler`]; the handler answers with
//! effects through [`Io`]. Neither side knows the other's insides, so the same handler runs over
//! epoll, over io_uring and over the simulator's virtual network, and the same drivers carry the
//! front door and the load generator. This crate holds no logic and touches no socket, no clock
//! and no randomness: time and random bytes are arguments.

mod handler;
mod io;
mod time;
mod tls;

pub use handler::{ConnectError, Handler, HangUp, Peer, Tag};
pub use io::{Close, Compression, Handle, Io, TlsSide};
pub use time::{Span, Timestamp};
pub use tls::{PeerCertificate, TlsFacts};
