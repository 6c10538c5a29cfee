//! The backend connections of accounts whose logins a backend decides (`relay`). Nothing is known here that opens
//! another one: so they are not closed where others would be, and what to do when the last one is gone.

use events::Io;
use membership::Key;
use pool::{KeyId, State as BackendState};

use crate::backend::Purpose;
use crate::counters::DisconnectReason;
use crate::errors::ClientError;
use crate::{Engine, Mail, Turn};

/// What a session gets that has no schema, where all connections have one: a schema that everybody has and
/// nobody can change.
const COMMON_SCHEMA: &[u8] = b"information_schema";

impl Engine {
    /// True if only logins bring backend connections of `id`.
    pub(crate) fn is_relayed(&self, id: KeyId) -> bool {
        let account = self.accounts.account(self.pool.key(id).account);
        account.is_some_and(|account| account.credential.relayed().is_some())
    }

    /// True if there are sessions of `id` that would be lost with one of its connections, and that one is kept
    /// for them. Not more than half of what the worker may have besides logins is kept so: nobody must starve
    /// beside idle connections.
    pub(crate) fn is_down_to_one(&self, id: KeyId) -> bool {
        if !self.has_lone_relayed(id) || self.logged_in(id) > 1 {
            return false;
        }
        let kept = self.pool.key_ids().filter(|&id| self.has_lone_relayed(id));
        let workers = self.shared.ledger.workers().max(1);
        let share = self.shared.ledger.total() / workers;
        kept.count() <= share.saturating_sub(self.relays.most()) / 2
    }

    /// True if there are sessions of `id`, and a connection that only a login could bring again.
    fn has_lone_relayed(&self, id: KeyId) -> bool {
        self.keys[id.0 as usize].sessions > 0 && self.is_relayed(id) && self.logged_in(id) > 0
    }

    fn logged_in(&self, id: KeyId) -> usize {
        self.pool.owned(id) - self.pool.count(id, BackendState::Connecting)
    }

    /// A login has brought a connection. Of too many the one that has been idle for longest goes.
    pub(crate) fn keep_relayed<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let Some(id) = self.pool.key_of(key) else {
            return;
        };
        if let Some(backend) = self.pool.get_mut(key) {
            // It is the one that was opened with what proves the account now.
            backend.retired = false;
        }
        let workers = self.shared.ledger.workers().max(1);
        let most = (self.settings.max_relayed_per_account / workers).max(1);
        while self.logged_in(id) > most {
            self.counters.relayed_surplus += 1;
            match self.pool.oldest_idle_of(id) {
                Some((idle, _)) => self.drop_backend(turn, idle),
                None => return self.retire(key),
            }
        }
    }

    /// The backend is not given to anybody else.
    pub(crate) fn retire(&mut self, key: Key) {
        if let Some(backend) = self.pool.get_mut(key) {
            backend.retired = true;
        }
    }

    /// Sessions of `id` must see what has changed for new ones; as its connections cannot be opened anew, they
    /// are cleaned.
    pub(crate) fn clean_backends_of<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, id: KeyId) {
        while let Some((idle, _)) = self.pool.oldest_idle_of(id) {
            self.reset_backend(turn, idle);
        }
        let busy = [
            BackendState::Active,
            BackendState::Lane,
            BackendState::Draining,
        ];
        for state in busy {
            let members: Vec<Key> = self.pool.iter(id, state).map(|(key, _)| key).collect();
            for key in members {
                if let Some(backend) = self.pool.get_mut(key) {
                    backend.dirty = true;
                }
            }
        }
    }

    /// Who waits for a connection of `id` is closed, as if the server had been restarted: only a login brings one.
    pub(crate) fn close_waiters<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, id: KeyId) {
        let error = ClientError::relayed_lost();
        while let Some(client) = self.first_in_need(id) {
            self.fail(turn, client, &error, DisconnectReason::BackendLost);
        }
        for client in self.queued_for(id) {
            self.fail(turn, client, &error, DisconnectReason::BackendLost);
        }
    }

    /// A session without a schema for which no connection without one is left goes on in one that means nothing.
    /// False if that does not help.
    pub(crate) fn takes_common_schema(&mut self, client: Key) -> bool {
        let Some(record) = self.clients.get(client) else {
            return false;
        };
        let id = record.key;
        let has_idle = self.pool.count(id, BackendState::Idle) > 0;
        if record.session.schema.is_some() || !has_idle || !self.is_relayed(id) {
            return false;
        }
        let schema = self.interner.schema(COMMON_SCHEMA);
        if let Some(record) = self.clients.get_mut(client) {
            record.session.schema = Some(schema);
        }
        true
    }

    /// KILL is sent on an idle connection of `id`, as none can be opened for it. False if there is none.
    pub(crate) fn kill_from_idle<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        (id, victim): (KeyId, Key),
    ) -> bool {
        let target = self.pool.get(victim).map(|backend| backend.connection_id);
        let (Some((killer, _)), Some(target)) = (self.pool.oldest_idle_of(id), target) else {
            return false;
        };
        self.pool.move_to(killer, BackendState::Active, turn.now);
        if let Some(backend) = self.pool.get_mut(killer) {
            let text = format!("KILL QUERY {target}");
            backend.put_query(turn.io.outbox(backend.handle), text.as_bytes());
            backend.expect(Purpose::Kill(victim));
        }
        true
    }
}
