//! Telling a client that its account or password is wrong: at once, or later if its address has been wrong too
//! often.
//!
//! Owns whose answer is held back, and until when. Who waits so holds no place of `max_logins`, no buffer and no
//! thread; of what it sends nothing is kept. Which address is to wait is the matter of `strangers`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use events::{Io, Timestamp};
use membership::Key;

use crate::client::LoginStep;
use crate::errors::ClientError;
use crate::report::counters::DisconnectReason;
use crate::{Engine, Mail, Turn};

/// So many wait on a worker. One more has the answer of whoever is next told early.
const HELD_BACK_MAX: usize = 1_024;

/// The answers that are held back, the next one first.
#[derive(Default)]
pub(crate) struct Denials {
    held: BinaryHeap<Reverse<Denial>>,
    last: u64,
}

struct Denial {
    /// When it is told; of several at that time, those that came first.
    due: (Timestamp, u64),
    key: Key,
    error: ClientError,
}

impl Denials {
    /// When the next is to be told.
    pub(crate) fn due(&self) -> Option<Timestamp> {
        let Reverse(next) = self.held.peek()?;
        Some(next.due.0)
    }

    fn hold(&mut self, until: Timestamp, key: Key, error: ClientError) {
        self.last += 1;
        let due = (until, self.last);
        self.held.push(Reverse(Denial { due, key, error }));
    }
}

impl Engine {
    /// Refuses a login. A wrong account or password is told later if the address has been wrong too often.
    pub(crate) fn deny<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        error: ClientError,
    ) {
        let Some(login) = self.clients.login_mut(key) else {
            return;
        };
        if !error.is_access_denied() {
            return self.refuse(turn, key, &error, DisconnectReason::LoginRefused);
        }
        login.place = None;
        self.clients.set_step(key, LoginStep::Denied, turn.now);
        self.counters.logins_denied += 1;
        let Some(client) = self.clients.get(key) else {
            return;
        };
        let wait = self.shared.strangers.mistook(client.origin.peer, turn.now);
        // Who has to log in faster than that is not told at all otherwise.
        let wait = wait.min(self.settings.login_timeout.half());
        if wait.as_us() == 0 {
            return self.refuse(turn, key, &error, DisconnectReason::LoginRefused);
        }
        self.counters.denials_delayed += 1;
        self.denials.hold(turn.now + wait, key, error);
        if self.denials.held.len() > HELD_BACK_MAX {
            self.counters.denials_early += 1;
            self.tell_denial(turn);
        }
    }

    /// Tells those whose time has come.
    pub(crate) fn denials_due<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        while self.denials.due().is_some_and(|due| turn.now >= due) {
            self.tell_denial(turn);
        }
    }

    /// Tells the next, if it is still there.
    fn tell_denial<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        if let Some(Reverse(Denial { key, error, .. })) = self.denials.held.pop() {
            self.refuse(turn, key, &error, DisconnectReason::LoginRefused);
        }
    }
}

impl PartialEq for Denial {
    fn eq(&self, other: &Self) -> bool {
        self.due == other.due
    }
}

impl Eq for Denial {}

impl PartialOrd for Denial {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Denial {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.due.cmp(&other.due)
    }
}
