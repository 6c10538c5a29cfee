//! Statements whose client hung up: what `on_disconnect` says is ended, so that nobody waits behind
//! work that nobody wants (rule 15).

use events::{Io, Span, Timestamp};
use membership::Key;
use session::statement::Traits;

use crate::backend::{Backend, Purpose};
use crate::{Engine, Mail, OnDisconnect, Turn};

/// A statement gets so long to finish by itself: most are done before a KILL would arrive.
const FINISHES_BY_ITSELF: Span = Span::from_ms(10);

/// A backend that runs something for a client that hung up.
pub(crate) struct Orphan {
    backend: Key,
    /// When it is to be ended.
    at: Timestamp,
}

impl Backend {
    /// True if what it runs is to be ended now that its client is gone.
    fn is_to_be_ended(&self, policy: OnDisconnect) -> bool {
        let mut commands = self.exchanges.iter().filter_map(|exchange| {
            let Purpose::Command(command) = &exchange.purpose else {
                return None;
            };
            Some(command)
        });
        match policy {
            OnDisconnect::Finish => false,
            OnDisconnect::KillAll => commands.next().is_some(),
            OnDisconnect::KillReads => commands
                .next()
                .is_some_and(|command| !command.traits.contains(Traits::MAY_WRITE)),
        }
    }
}

impl Engine {
    /// The client of this backend hung up.
    pub(crate) fn orphan(&mut self, key: Key, now: Timestamp) {
        let policy = self.settings.on_disconnect;
        let Some(backend) = self.pool.get_mut(key) else {
            return;
        };
        if backend.is_to_be_ended(policy) {
            backend.orphaned = true;
            self.orphans.push_back(Orphan {
                backend: key,
                at: now + FINISHES_BY_ITSELF,
            });
        }
    }

    /// When the next orphan is due.
    pub(crate) fn orphan_due(&self) -> Option<Timestamp> {
        self.orphans.front().map(|orphan| orphan.at)
    }

    /// Ends the orphans that did not finish by themselves.
    pub(crate) fn orphans_due<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        while self.orphan_due().is_some_and(|at| turn.now >= at) {
            let Some(Orphan { backend: key, .. }) = self.orphans.pop_front() else {
                return;
            };
            if self.pool.get(key).is_some_and(|backend| backend.orphaned) {
                self.counters.orphans_killed += 1;
                self.interrupt(turn, key);
            }
        }
    }
}
