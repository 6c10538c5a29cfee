//! What the engine does to its surroundings, kept; and whoever would check passwords.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use engine::{Checker, Mail, PasswordCheck};
use events::{Close, Compression, Handle, Io, Tag, TlsSide};

/// The only client.
pub(super) const CLIENT: Handle = Handle(1);

/// The driver.
#[derive(Default)]
pub(super) struct Wire {
    /// What the client is told and has not heard.
    pub(super) told: Vec<u8>,
    nobody: Vec<u8>,
    pub(super) closed: bool,
    pub(super) connects: Vec<Tag>,
    pub(super) mail: VecDeque<Mail>,
}

impl Io<Mail> for Wire {
    fn outbox(&mut self, handle: Handle) -> &mut Vec<u8> {
        match handle {
            CLIENT => &mut self.told,
            _ => &mut self.nobody,
        }
    }

    fn unsent(&self, _: Handle) -> usize {
        0
    }

    fn unsent_total(&self) -> usize {
        0
    }

    fn notify_drained(&mut self, _: Handle) {}

    fn pause_receive(&mut self, _: Handle) {}

    fn resume_receive(&mut self, _: Handle) {}

    fn connect(&mut self, tag: Tag) -> Handle {
        self.connects.push(tag);
        Handle(u64::MAX)
    }

    fn close(&mut self, handle: Handle, _: Close) {
        self.closed |= handle == CLIENT;
    }

    fn post(&mut self, _: usize, mail: Mail) -> Result<(), Mail> {
        self.mail.push_back(mail);
        Ok(())
    }

    fn stop_accepting(&mut self) {}

    fn compress(&mut self, _: (Handle, Tag), _: Compression) {}

    fn start_tls(&mut self, _: (Handle, Tag), _: TlsSide, _: &[u8]) {
        unreachable!("it stops at the layer");
    }
}

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
