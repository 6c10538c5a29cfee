//! TLS towards clients and towards backends, as a layer between a driver and a state machine: what comes over TLS
//! is told to the state machine as it would have come without, and what that answers is encrypted on its
//! way out. The state machine says when a connection begins to speak TLS; the driver never knows.
//!
//! | file | is about |
//! |---|---|
//! | `layer` | the handler in front of the handler |
//! | `effects` | what the handler asks of the driver, on its way there |
//! | `connections` | the connections that speak TLS, and what of them is under way |
//! | `session` | one connection's end of the protocol |
//! | `server` | what clients are shown: certificate, key, whose certificates are accepted |
//! | `client` | how backends are verified |
//! | `verify` | verifying less than all |
//! | `identity` | a certificate and its key; one that was made here |
//! | `names` | what the servers call versions, ciphers and names |
//!
//! Pure, but for what rustls draws at random and the time by which it judges certificates: no socket, no file. A
//! connection that is silent owns no buffer of ours. It does not decide who must speak TLS.

mod client;
mod connections;
mod effects;
mod error;
mod identity;
mod layer;
mod names;
mod server;
mod session;
mod verify;

pub use client::{Client, Verify};
pub use error::TlsError;
pub use identity::{Identity, MadeHere};
pub use layer::{Parties, Secured};
pub use server::Server;
