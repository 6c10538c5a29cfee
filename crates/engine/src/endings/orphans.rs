//! Statements whose client hung up: what `on_disconnect` says is ended, so that nobody waits behind
//! work that nobody wants (rule 15).

use events::{Io, Span, Timestamp};
use membership::Key;
use session::statement::{PinReasons, Traits};

use crate::backend::Step;
use crate::backend::{Backend, Due, Exchange, InsertId, PreparedXa, Purpose};
use crate::{Engine, Mail, OnDisconnect, Turn};

/// A statement gets so long to finish by itself: most are done before a KILL would arrive.
const FINISHES_BY_ITSELF: Span = Span::from_ms(10);

/// Whoever has not answered so long after a KILL never will: its connection is closed.
const ENDS_WHEN_KILLED: Span = Span::from_secs(10);

/// A backend that runs something for a client that hung up.
pub(crate) struct Orphan {
    backend: Key,
    /// When the client hung up.
    since: Timestamp,
    /// When something is to be done about it.
    at: Timestamp,
}

impl Backend {
    /// The attached session is gone. From here on, answers change the record of this backend and nothing else: there is no
    /// session to attribute them to. What the session left is not read back, and what is under way may leave more, so the
    /// backend is cleaned before another session gets it. Only restores leave nothing that the record does not have.
    pub(crate) fn lose_session(&mut self, pins: PinReasons) {
        let restores = self.brings_only();
        let mut harmless = Due::TABLES;
        // A command that waits for a restore was never sent.
        harmless.set(Due::COMMAND, restores);
        self.dirty |=
            self.is_working() && !restores || !(self.due - harmless).is_empty() || !pins.is_empty();
        self.dirty |= self.forget_unread();
        self.retired |= self.prepared_xa == PreparedXa::Certain;
        self.client = None;
        // It takes a KILL that came late, and would hit the next command.
        self.due &= Due::PING;
        self.untold.clear();
        if self.insert_id == InsertId::OfClient {
            self.insert_id = InsertId::Unknown;
        }
        for exchange in &mut self.exchanges {
            if let Purpose::Command(command) = &mut exchange.purpose {
                command.client = None;
            }
        }
    }

    /// True if something is noted that only an attached session has: the next one would take it for its own. For tests.
    pub(crate) fn notes_session(&self) -> bool {
        let Self {
            counted_rows,
            insert_id,
            untold,
            upload,
            retrack,
            unsure,
            leftovers,
            statements,
            left_by,
            ..
        } = self;
        *counted_rows
            || *insert_id == InsertId::OfClient
            || !untold.is_empty()
            || upload.is_some()
            || retrack.is_some()
            || unsure.is_some()
            || leftovers.variables.is_unread()
            || statements.owns_some()
            || left_by.is_some()
    }

    /// True if what it runs is to be ended now that its client is gone.
    fn is_to_be_ended(&self, policy: OnDisconnect) -> bool {
        let prepares =
            |exchange: &Exchange| matches!(exchange.purpose, Purpose::Own(Step::Prepare(_)));
        if policy != OnDisconnect::Finish && self.exchanges.iter().any(prepares) {
            return true;
        }
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
            backend.orphaned = Some(now);
            self.orphans.push_back(Orphan {
                backend: key,
                since: now,
                at: now + FINISHES_BY_ITSELF,
            });
        }
    }

    /// When the next orphan is due.
    pub(crate) fn orphan_due(&self) -> Option<Timestamp> {
        let fronts = [self.orphans.front(), self.killed_orphans.front()];
        fronts.into_iter().flatten().map(|orphan| orphan.at).min()
    }

    /// Ends the orphans that did not finish by themselves, and then those that no KILL ends.
    pub(crate) fn orphans_due<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        let now = turn.now;
        let due = |orphan: &&Orphan| now >= orphan.at;
        while self.orphans.front().filter(due).is_some() {
            let orphan = self.orphans.pop_front();
            if let Some(orphan) = orphan.filter(|orphan| self.is_orphan(orphan)) {
                self.counters.orphans_killed += 1;
                self.interrupt(turn, orphan.backend);
                self.killed_orphans.push_back(Orphan {
                    at: turn.now + ENDS_WHEN_KILLED,
                    ..orphan
                });
            }
        }
        while self.killed_orphans.front().filter(due).is_some() {
            let orphan = self.killed_orphans.pop_front();
            if let Some(orphan) = orphan.filter(|orphan| self.is_orphan(orphan)) {
                tracing::warn!("a statement goes on although it was killed; connection closed");
                self.backend_broken(turn, orphan.backend);
            }
        }
    }

    /// True if the backend still runs what it ran when its client hung up.
    fn is_orphan(&self, orphan: &Orphan) -> bool {
        let backend = self.pool.get(orphan.backend);
        backend.is_some_and(|backend| backend.orphaned == Some(orphan.since))
    }
}
