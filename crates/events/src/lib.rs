//! The contract between a driver, which owns sockets, and a state machine, which decides.
//!
//! A driver turns readiness and completions into calls of [`Handler`]; the handler answers with
//! effects through [`Io`]. Neither side knows the other's insides, so the same handler runs over
//! epoll, over io_uring and over the simulator's virtual network, and the same drivers carry the
//! front door and the load generator. This crate holds no logic and touches no socket, no clock
//! and no randomness: time and random bytes are arguments.
//!
//! For those who stand between the two there is [`tell_on!`]; for their tests, with the feature
//! `recorder`, a driver that only writes down what it is asked.

mod handler;
mod io;
mod layer;
#[cfg(feature = "recorder")]
mod recorder;
mod time;
mod tls;

pub use handler::{ConnectError, Handler, HangUp, Peer};
pub use io::{Close, Compression, Handle, Io, Tag, TlsSide};
#[cfg(feature = "recorder")]
pub use recorder::Recorder;
pub use time::{Span, Timestamp};
pub use tls::{CertificateDigest, PeerCertificate, TlsFacts};
