//! What must hold for every input, whoever sent it: one module per target, each with a function
//! `check` that panics where it does not.
//!
//! Not here: how inputs are made (libFuzzer does, see `scripts/fuzz`), nor the inputs of note
//! (`fuzz/corpus`).

pub mod answers;
pub mod handshake;
pub mod logins;
pub mod packets;
pub mod proxy_header;
pub mod statements;

mod input;
