//! What leaves the process other than over sockets: the log, standard output and error, files.
//!
//! Each of these can fail, be full or block, and none of that may end the process or hold up a session. Owns how it is
//! written; what is written, and when, is decided elsewhere.
//!
//! | file | is about |
//! |---|---|
//! | `descriptor` | one write to a descriptor that may be non-blocking |
//! | `outlet` | lines that a thread of its own writes, so that nobody waits for the reader |
//! | `standard` | standard output and error of a command that somebody waits for |
//! | `file` | files that are replaced whole or not at all |

mod descriptor;
mod file;
mod outlet;
mod standard;

pub use descriptor::Descriptor;
pub use file::replace;
pub use outlet::Outlet;
pub use standard::{Unsaid, complain, say};
