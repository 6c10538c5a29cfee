//! The backend connections of accounts whose logins a backend decides (`relay`). Nothing is known here that opens
//! another one: so they are not closed where others would be, and what to do when the last one is gone.

use events::Io;
use membership::Key;
use pool::{KeyId, State as BackendState};

use crate::record::backend::Step;
use crate::record::records::Records;
use crate::record::shared::Mail;
use crate::record::turn::Turn;

/// What a session gets that has no schema, where all connections have one: a schema that everybody has and
/// nobody can change.
const COMMON_SCHEMA: &[u8] = b"information_schema";

impl Records {
    /// True if there are sessions of `id` that would be lost with one of its connections, and that one is kept
    /// for them. Looks at all keys if it might be.
    pub(crate) fn is_down_to_one(&self, id: KeyId) -> bool {
        self.would_lose_sessions(id) && self.keeps_last_ones()
    }

    /// True if there are sessions of `id`, and one connection that only a login could bring again.
    pub(crate) fn would_lose_sessions(&self, id: KeyId) -> bool {
        self.has_relayed(id) && self.logged_in(id) == 1
    }

    /// True if last connections are kept. Not more than half of what there may be besides logins, over all
    /// workers, are: nobody must starve beside idle connections.
    pub(crate) fn keeps_last_ones(&self) -> bool {
        let kept = self.pool.key_ids().filter(|&id| self.has_relayed(id));
        let ledger = &self.shared.ledger;
        let half = ledger.total().saturating_sub(self.settings.max_relays) / 2;
        kept.count() <= part_of(half, self.worker, ledger.workers())
    }

    /// True if there are sessions of `id`, and connections that only a login could bring again.
    fn has_relayed(&self, id: KeyId) -> bool {
        self.keys[id.0 as usize].sessions > 0 && self.logged_in(id) > 0 && self.is_relayed(id)
    }

    fn logged_in(&self, id: KeyId) -> usize {
        self.pool.owned(id) - self.pool.count(id, BackendState::Connecting)
    }

    /// A login has brought a connection. Of too many the one that has been idle for longest goes.
    pub(crate) fn keep_relayed<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let Some(id) = self.pool.key_of(key) else {
            return;
        };
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
        // What is being cleaned may have begun before.
        let cleaned = self.pool.iter(id, BackendState::Resetting);
        for key in cleaned.map(|(key, _)| key).collect::<Vec<_>>() {
            self.put_reset(turn, key);
        }
        let later = [
            BackendState::Connecting,
            BackendState::Active,
            BackendState::Lane,
            BackendState::Draining,
        ];
        for state in later {
            let members: Vec<Key> = self.pool.iter(id, state).map(|(key, _)| key).collect();
            for key in members {
                if let Some(backend) = self.pool.get_mut(key) {
                    backend.dirty = true;
                }
            }
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
        let schema = self.known.interner.schema(COMMON_SCHEMA);
        if let Some(record) = self.clients.get_mut(client) {
            record.session.schema = Some(schema);
        }
        true
    }

    /// KILL is sent on an idle connection of `id`, as none can be opened for it. False if there is none.
    pub(crate) fn kill_from_idle<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        id: KeyId,
        victim: Key,
    ) -> bool {
        let target = self.pool.get(victim).map(|backend| backend.connection_id);
        let (Some((killer, _)), Some(target)) = (self.pool.oldest_idle_of(id), target) else {
            return false;
        };
        self.pool.move_to(killer, BackendState::Active, turn.now);
        if let Some(backend) = self.pool.get_mut(killer) {
            let text = format!("KILL QUERY {target}");
            backend.put_query(turn.io.outbox(backend.handle), text.as_bytes());
            backend.expect(Step::Kill(victim));
        }
        true
    }
}

/// How much of `total` falls to one of `workers`, so that all of it is given.
fn part_of(total: usize, worker: usize, workers: usize) -> usize {
    let workers = workers.max(1);
    total / workers + usize::from(worker < total % workers)
}

#[cfg(test)]
mod tests {
    use super::part_of;

    #[test]
    fn all_of_it_falls_to_somebody() {
        for (total, workers, parts) in [
            (3, 4, vec![1, 1, 1, 0]),
            (0, 2, vec![0, 0]),
            (9, 4, vec![3, 2, 2, 2]),
        ] {
            let given: Vec<_> = (0..workers).map(|at| part_of(total, at, workers)).collect();
            assert_eq!(given, parts);
        }
        assert_eq!(part_of(5, 0, 0), 5);
    }
}
