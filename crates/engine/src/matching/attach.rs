//! Finds a backend for a command: an idle one, or one that can be opened.

use events::{Io, Span, Timestamp};
use membership::Key;
use pool::{Choice, Fit, KeyId, Slot, State as BackendState};
use session::{SessionState, same_user_variables};

use crate::matching::Matching;
use crate::record::backend::{Backend, PoolKey};
use crate::record::client::State;
use crate::record::facts::Facts;
use crate::record::long::Read;
use crate::record::owner::Owner;
use crate::record::records::Records;
use crate::record::shared::Mail;
use crate::record::turn::Turn;

impl Records {
    /// Keeps the classification of a command that waits. A lane seldom needs it again.
    pub(crate) fn keep_read(&mut self, client: Key, read: Option<Read>) {
        if let (Some(read), Some(state)) = (read, self.clients.state(client))
            && state != State::InLane
        {
            self.long.waits(client, read);
        }
    }

    /// No backend could be asked: clients are told what the settings say.
    pub(crate) fn learn_nothing<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        if self.known.facts.is_none() {
            self.learn_facts(turn, Facts::unknown(&self.settings.server_version));
        }
    }

    pub(crate) fn attach<I: Io<Mail>>(&mut self, turn: &Turn<'_, I>, client: Key, backend: Key) {
        self.pool.move_to(backend, BackendState::Active, turn.now);
        self.clients.move_to(client, State::Active, turn.now);
        if let Some(record) = self.clients.get_mut(client) {
            record.backend = Some(backend);
            let id = record.key;
            self.served(id, turn.now);
        }
        if let Some(record) = self.pool.get_mut(backend) {
            record.client = Some(client);
            record.leftovers.sequences.attached();
        }
        self.enter_sandbox(client, backend);
    }

    /// Opens the connection of `id` that is kept for KILL.
    pub(crate) fn open_reserved<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, id: KeyId) {
        let backend = self.new_backend(Facts::unknown("").collation, turn.now);
        let slot = self.shared.ledger.reserve(self.worker);
        let key = self.pool.insert_reserved(id, slot, backend, turn.now);
        self.wake(id);
        self.connect(turn, key);
    }

    pub(crate) fn open<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        id: KeyId,
        slot: Slot,
        collation: u8,
    ) {
        let backend = self.new_backend(collation, turn.now);
        self.open_with(turn, id, slot, backend);
    }

    /// Opens this connection of `id`.
    pub(crate) fn open_with<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        id: KeyId,
        slot: Slot,
        backend: Backend,
    ) -> Key {
        let key = self.pool.insert(id, slot, backend, turn.now);
        self.wake(id);
        self.connect(turn, key);
        key
    }

    fn connect<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let handle = turn.io.connect(Owner::Backend(key).tag());
        if let Some(backend) = self.pool.get_mut(key) {
            backend.handle = handle;
        }
    }
}

impl Matching {
    /// A connection of the first account, so that clients can be told the server's version.
    pub(crate) fn probe<I: Io<Mail>>(&mut self, records: &mut Records, turn: &mut Turn<'_, I>) {
        let Some(account) = records.accounts.for_probe() else {
            return records.learn_nothing(turn);
        };
        let nobody = PoolKey::new(
            account,
            wire::Capabilities::empty(),
            wire::ExtendedCapabilities::empty(),
        );
        let id = records.key_id(&nobody);
        match self.slot(records, turn, id) {
            Some(slot) => records.open(turn, id, slot, Facts::unknown("").collation),
            None => records.learn_nothing(turn),
        }
    }

    pub(crate) fn choose(&mut self, records: &mut Records, now: Timestamp, key: Key) -> Choice {
        records.resolve_charset(key);
        let Some(client) = records.clients.get(key) else {
            return Choice::Wait;
        };
        let queued = self.scheduler.without_backend(client.key.0);
        let waiters = (records.clients.count(State::Waiting(client.key)) + queued).max(1);
        let sandbox = records.pool.key(client.key).is_sandbox();
        let suits = |backend: &Backend| match sandbox {
            true => fit_as_new(backend, &client.session),
            false => fit(backend, &client.session),
        };
        let choice = records.pool.choose(
            client.key,
            (waiters, now),
            records.settings.preference,
            suits,
        );
        if choice == Choice::Open && records.takes_common_schema(key) {
            return self.choose(records, now, key);
        }
        choice
    }

    /// A slot for `id`: from the budget, or that of an idle connection. None while others come first.
    pub(crate) fn slot<I: Io<Mail>>(
        &mut self,
        records: &mut Records,
        turn: &mut Turn<'_, I>,
        id: KeyId,
    ) -> Option<Slot> {
        let ledger = &records.shared.ledger;
        if ledger.taken() < ledger.total() {
            if self.is_owed(records, turn, id, Span::ZERO) {
                return None;
            }
            if let Some(slot) = ledger.take(records.worker) {
                return Some(slot);
            }
        }
        let victim = self.spare(records, turn, id)?;
        let opening = records.pool.get(victim).map_or(Span::ZERO, |it| it.opening);
        if self.is_owed(records, turn, id, opening) {
            return None;
        }
        records.counters.slots_lent += 1;
        records.drop_backend(turn, victim);
        records.shared.ledger.take(records.worker)
    }
}

/// Of one that nothing can be restored on.
fn fit_as_new(backend: &Backend, wanted: &SessionState) -> Fit {
    match backend.session.collation == wanted.collation {
        true => Fit::Same,
        false => Fit::Never,
    }
}

fn fit(backend: &Backend, wanted: &SessionState) -> Fit {
    if backend.session.matches(wanted) {
        let same = same_user_variables(backend.session.user.as_ref(), wanted.user.as_ref());
        if same { Fit::Same } else { Fit::Near }
    } else if backend.session.can_become(wanted) {
        Fit::Restorable
    } else {
        Fit::Never
    }
}
