//! A password that a client has sent, to be checked off the worker: decrypting and checking take milliseconds. The checker
//! is the one that is named to [`Shared::check_passwords_with`](crate::Shared::check_passwords_with).

use std::sync::Arc;

use accounts::{Account, Vault};
use membership::Key;
use zeroize::Zeroizing;

/// A password that a client has sent is to be checked; the worker is told by [`Mail::PasswordChecked`].
pub struct PasswordCheck {
    /// Whose it should be; `None`: nobody's.
    pub account: Option<Arc<Account>>,
    /// The password.
    pub sent: Sent,
    /// Where it is kept if it is right.
    pub vault: Arc<Vault>,
    /// The worker, and its client.
    pub asker: (usize, Key),
}

/// A password, as it came.
pub enum Sent {
    /// As it is.
    Clear(Zeroizing<Vec<u8>>),
    /// Under the public key, masked with this nonce.
    Encrypted(Vec<u8>, [u8; 20]),
}

/// Somebody who checks passwords.
pub trait Checker: Send + Sync {
    /// The public key that clients encrypt with, in PEM form; `None` if it is not there yet.
    fn public_key(&self) -> Option<&[u8]>;

    /// Takes an order. False if there are too many.
    fn check(&self, check: PasswordCheck) -> bool;

    /// Has a worker told when there is a key, as [`Mail::PublicKey`]. False if there are too many orders.
    fn make_key(&self, asker: (usize, Key)) -> bool;
}
