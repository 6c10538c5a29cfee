//! Who may log in: accounts as the database has them, `'user'@'host'`, and what proves each.
//!
//! Pure: what the database says comes in as a [`Reading`], and becomes a [`Directory`] that all workers
//! share and nobody changes. A [`Register`] makes the next one. Where readings come from, and what a
//! refused client is told, is decided elsewhere.
//!
//! # Numbers
//!
//! Each account has a number, by which sessions and backend connections belong to it. It is given once
//! and never again: an account that was dropped and made anew is another one, so that nobody who logged
//! in before gets what the new one may do. The names of accounts that are gone stay, about 200 bytes each.

mod account;
mod credential;
mod directory;
mod register;
mod voucher;

pub use account::{Account, Certain, Origin, Requires, Standing};
pub use credential::{Credential, MULTI_FACTOR, NativeHash, OtherPlugin, Proof, Secret, Sha2Hash};
pub use directory::{Configured, Directory, View};
pub use register::{Found, Reading, Register};
pub use vault::{Refused, Vault};
pub use voucher::Vouchers;

#[cfg(test)]
mod tests;
