//! Whoever would check passwords.

use std::sync::{Arc, Mutex, PoisonError};

use engine::{Checker, PasswordCheck};

/// Finds no password right, since no input knows one.
#[derive(Clone, Default)]
pub(super) struct Refuses(Arc<Mutex<Vec<PasswordCheck>>>);

impl Refuses {
    /// Who waits for a word.
    pub(super) fn take(&self) -> Vec<PasswordCheck> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Checker for Refuses {
    fn public_key(&self) -> Option<&[u8]> {
        Some(b"a key")
    }

    fn check(&self, check: PasswordCheck) -> bool {
        let mut checks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        checks.push(check);
        checks.len() < 4
    }

    fn make_key(&self, _: (usize, membership::Key)) -> bool {
        false
    }
}
