//! The compressed protocol towards clients, as a layer between a driver and a state machine: what a client
//! sends compressed is told to the state machine as it would have come without, and what that answers is
//! compressed on its way out. Neither of the two knows.
//!
//! Source: MySQL manual, "Compression"; it is a framing of its own around ordinary packets, which may be cut
//! anywhere.
//!
//! | file | is about |
//! |---|---|
//! | `packet` | the header of a compressed packet |
//! | `codec` | a packet's content, packed and unpacked |
//! | `layer` | the handler in front of the handler |
//! | `connections` | the connections that are compressed, and what of them is under way |
//! | `effects` | what the handler asks of the driver, on its way there |
//!
//! Pure: no socket, no clock. A connection that is silent owns no buffer; those to compress with belong to the
//! worker, which does a bounded part of the work in each turn. It does not decide who may compress, nor know what packets say.

mod codec;
mod connections;
mod effects;
mod layer;
mod packet;

pub use codec::{Broken, Opened, PART, Packer, Part, Unpacker};
pub use layer::Compressed;
pub use packet::{HEADER_LEN, Header};
