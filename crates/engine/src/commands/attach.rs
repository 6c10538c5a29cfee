//! Finding a backend for a command: one that is free, one that can be opened, or a place in the
//! queue.

use std::collections::VecDeque;

use admission::Permit;
use events::{Handle, Io, Span, Timestamp};
use membership::Key;
use pool::{Choice, Fit, KEEP, KeyId, Slot, State as BackendState};
use session::statement::Statement;
use session::{SessionState, same_user_variables};
use wire::ServerStatus;

use crate::backend::auth::BackendLogin;
use crate::backend::facts::Facts;
use crate::backend::{Backend, Due, InsertId, PoolKey, PreparedXa, Reading};
use crate::carried::leftovers::Leftovers;
use crate::client::State;
use crate::commands::long::Read;
use crate::commands::{Packet, Taken};
use crate::owner::Owner;
use crate::prepared::backend_statements::BackendStatements;
use crate::{Engine, Mail, Turn};

impl Engine {
    /// Sends a client's command to its backend, or to one that is free; else it waits.
    pub(crate) fn attach_and_send<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        client: Key,
        packet: Packet<'_>,
    ) -> Taken {
        let (statement, read) = self.judge(turn.now, client, packet, None);
        let taken = self.send_judged(turn, client, packet, statement);
        if taken == Taken::Later {
            self.keep_read(client, read);
        }
        taken
    }

    fn send_judged<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        client: Key,
        packet: Packet<'_>,
        statement: Statement,
    ) -> Taken {
        let Some(record) = self.clients.get(client) else {
            return Taken::Now;
        };
        let (attached, id) = (record.backend.is_some(), record.key);
        if self.refuses_elsewhere(turn, client, packet, &statement) {
            return Taken::Now;
        }
        if let Some(taken) = self.limits_command(turn, client, packet, &statement) {
            return taken;
        }
        if attached {
            self.force_permit(turn, client, packet, &statement);
            return self.dispatch(turn, client, packet, statement);
        }
        if let Some(taken) = self.waits_for_lock(turn, client, (packet, &statement)) {
            return taken;
        }
        let eligible = self.may_share(turn, client, packet, &statement);
        if let Some(taken) = self.ask_permit(turn, client, packet, &statement) {
            return taken;
        }
        if eligible && self.join_lane(turn, client, packet) {
            return Taken::Later;
        }
        let queue = match eligible {
            true => State::ForLane(id),
            false => State::Waiting(id),
        };
        // Whoever waits already comes first; and a lane is deepened before another backend is woken.
        if self.clients.count(queue) == 0
            && !(eligible && self.has_lane(client))
            && let Choice::Attach(backend) = self.choose(turn.now, client)
            && !self.is_held_for_stored(turn, backend)
            && self.passes_gate(turn, id)
        {
            self.attach(turn, client, backend);
            return self.dispatch(turn, client, packet, statement);
        }
        self.counters.queued += 1;
        self.clients.move_to(client, queue, turn.now);
        self.wake(id);
        self.grow(turn, id);
        Taken::Later
    }

    /// Keeps the classification of a command that waits. A lane seldom needs it again.
    fn keep_read(&mut self, client: Key, read: Option<Read>) {
        if let (Some(read), Some(state)) = (read, self.clients.state(client))
            && state != State::InLane
        {
            self.long.waits(client, read);
        }
    }

    /// Gives lanes and idle backends of `id` to the sessions that wait for one, the longest waiting
    /// first, and opens more if there are not enough.
    pub(crate) fn serve<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, id: KeyId) {
        while self.serve_one(turn, id) {}
        self.grow(turn, id);
    }

    fn serve_one<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, id: KeyId) -> bool {
        let (alone, shared) = (State::Waiting(id), State::ForLane(id));
        let lane_first = match (self.clients.oldest(alone), self.clients.oldest(shared)) {
            (Some(alone), Some(shared)) => shared < alone,
            (alone, _) => alone.is_none(),
        };
        let order = if lane_first {
            [shared, alone]
        } else {
            [alone, shared]
        };
        for queue in order {
            let Some(first) = self.clients.first(queue) else {
                continue;
            };
            let served = match queue == shared {
                true => self.serve_lanes(turn, first),
                false => self.serve_alone(turn, first),
            };
            // Its connection has to be opened, in place of one that others must not have before it.
            if served || (queue == alone && self.needs_room(turn, first)) {
                return served;
            }
        }
        false
    }

    /// True if a client has waited for long, and none of the connections that there are can serve it.
    fn needs_room<I: Io<Mail>>(&mut self, turn: &Turn<'_, I>, client: Key) -> bool {
        let Some(record) = self.clients.get(client) else {
            return false;
        };
        let (id, since) = (record.key, record.since);
        turn.now >= since + KEEP
            && self.calls_since(id, turn.now).is_some()
            && self.choose(turn.now, client) == Choice::Open
    }

    /// Sends what waits, if a backend is free for it.
    pub(crate) fn serve_alone<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, client: Key) -> bool {
        let Choice::Attach(backend) = self.choose(turn.now, client) else {
            return false;
        };
        let Some(record) = self.clients.get(client) else {
            return false;
        };
        let (id, waited) = (record.key, turn.now.since(record.since));
        if self.is_held_for_stored(turn, backend) || !self.passes_gate(turn, id) {
            return false;
        }
        self.counters.queue_wait.record(waited);
        self.attach(turn, client, backend);
        self.send_from_inbox(turn, client);
        true
    }

    /// Who waits for a backend of its own. Nobody, if the key has as many at work as are good for it.
    pub(crate) fn first_in_need(&self, id: KeyId) -> Option<Key> {
        let since = |key: &Key| self.clients.get(*key).map(|client| client.since);
        let first = [self.first_listed_in_need(id), self.first_queued_in_need(id)];
        let first = first.into_iter().flatten().min_by_key(since);
        first.filter(|_| self.may_go_alone(id))
    }

    /// Whoever has waited longest of those who wait for nothing but a backend, whatever the limits.
    pub(crate) fn first_listed_in_need(&self, id: KeyId) -> Option<Key> {
        let lane = self.clients.first(State::ForLane(id));
        let lane = lane.filter(|&first| !self.has_lane(first));
        let since = |key: &Key| self.clients.get(*key).map(|client| client.since);
        let alone = self.clients.first(State::Waiting(id));
        [alone, lane].into_iter().flatten().min_by_key(since)
    }

    /// Since when somebody has waited for a backend of its own.
    pub(crate) fn in_need_since(&self, id: KeyId) -> Option<Timestamp> {
        let first = [self.first_in_need(id), self.next_relay_of(id)];
        let since = |key: Key| self.clients.get(key).map(|client| client.since);
        first.into_iter().flatten().filter_map(since).min()
    }

    /// The login of `id` that is decided next.
    pub(crate) fn next_relay_of(&self, id: KeyId) -> Option<Key> {
        let next = self.next_relay().filter(|&(_, of)| of == id);
        next.map(|(client, _)| client)
    }

    /// The same for all keys.
    pub(crate) fn serve_all<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        self.each_awake(|engine, id| engine.serve(turn, id));
    }

    /// Sends the command that waits at the front of the client's inbox.
    pub(crate) fn send_from_inbox<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, client: Key) {
        self.initiate(client);
        if self.initiates_in_vain(client) {
            self.initiated(client);
            self.drop_first_command(client);
            self.attach_in_vain(turn, client);
            return self.consume_inbox(turn, client);
        }
        let taken = self.working_on(Owner::Client(client), |engine| {
            engine.send_first_of_inbox(turn, client)
        });
        if taken == Some(Taken::Now) {
            self.balance_memory(turn, client);
        }
        if self.clients.state(client) == Some(State::Idle) {
            self.consume_inbox(turn, client);
        }
    }

    fn send_first_of_inbox<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        client: Key,
    ) -> Option<Taken> {
        let record = self.clients.get_mut(client)?;
        let mut inbox = std::mem::take(&mut record.inbox);
        let Ok(packet) = self.front(client, &inbox) else {
            debug_assert!(false, "a command waits that is not complete");
            return None;
        };
        let consumed = packet.consumed;
        let payload = packet.payload.bytes();
        let record = self.clients.get(client);
        let attributes = record.and_then(|record| record.attributes(payload).ok());
        let raw = Packet {
            raw: &inbox[..consumed],
            payload,
            attributes: attributes.unwrap_or_default(),
        };
        let kept = self.long.waited(client);
        let (statement, read) = self.judge(turn.now, client, raw, kept);
        let taken = self.dispatch(turn, client, raw, statement);
        if taken == Taken::Later {
            self.keep_read(client, read);
        }
        if taken == Taken::Now {
            self.drop_long_data(client, payload);
            self.long.forget(client);
            drop(packet);
            inbox = self.hand_over(turn, client, inbox, consumed);
        }
        match self.clients.get_mut(client) {
            Some(record) if !inbox.is_empty() => record.inbox = inbox,
            _ => self.recycle(inbox),
        }
        Some(taken)
    }

    /// Opens connections for those who wait, as far as there are slots.
    pub(crate) fn grow<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, id: KeyId) {
        while let Some(first) = self.first_listed_in_need(id)
            && self.open_for(turn, id, first)
        {}
        while let Some(first) = self.first_queued_in_need(id)
            && self.open_for(turn, id, first)
        {}
        if self.next_relay_of(id).is_some() {
            self.open_relays(turn);
        }
    }

    /// Opens a connection for a client, and those behind it. False if none is needed, or none can be had.
    fn open_for<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, id: KeyId, first: Key) -> bool {
        let opens = self.choose(turn.now, first) == Choice::Open && self.passes_gate(turn, id);
        // Those that are being opened may be for others. Whoever no connection can be opened for is told so at once.
        if !opens || !(self.may_open(id) || self.is_locked_out(id)) {
            return false;
        }
        if self.backing_off(turn.now, id) {
            if self.keys[id.0 as usize].unfit {
                self.locked_out.push(id);
            }
            return false;
        }
        if self.is_unreachable(id) && self.pool.first(id, BackendState::Connecting).is_some() {
            // One is enough to find out whether the backend is back.
            return false;
        }
        if self.is_locked_out(id) {
            // Where only logins bring connections, those that are there have to do.
            if !(self.is_relayed(id) && self.is_served(id)) {
                self.locked_out.push(id);
            }
            return false;
        }
        let Some(slot) = self.slot(turn, id) else {
            return false;
        };
        let collation = self
            .clients
            .get(first)
            .map_or(0, |client| client.session.collation);
        self.open(turn, id, slot, collation);
        true
    }

    /// A connection of the first account, so that clients can be told the server's version.
    pub(crate) fn probe<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        let Some(account) = self.accounts.for_probe() else {
            return self.learn_nothing(turn);
        };
        let nobody = PoolKey::new(
            account,
            wire::Capabilities::empty(),
            wire::ExtendedCapabilities::empty(),
        );
        let id = self.key_id(&nobody);
        match self.slot(turn, id) {
            Some(slot) => self.open(turn, id, slot, Facts::unknown("").collation),
            None => self.learn_nothing(turn),
        }
    }

    /// No backend could be asked: clients are told what the settings say.
    pub(crate) fn learn_nothing<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        if self.known.facts.is_none() {
            self.learn_facts(turn, Facts::unknown(&self.settings.server_version));
        }
    }

    fn choose(&mut self, now: Timestamp, key: Key) -> Choice {
        self.resolve_charset(key);
        let Some(client) = self.clients.get(key) else {
            return Choice::Wait;
        };
        let queued = self.scheduler.without_backend(client.key.0);
        let waiters = (self.clients.count(State::Waiting(client.key)) + queued).max(1);
        let sandbox = self.pool.key(client.key).is_sandbox();
        let suits = |backend: &Backend| match sandbox {
            true => fit_as_new(backend, &client.session),
            false => fit(backend, &client.session),
        };
        let choice = self
            .pool
            .choose(client.key, (waiters, now), self.settings.preference, suits);
        if choice == Choice::Open && self.takes_common_schema(key) {
            return self.choose(now, key);
        }
        choice
    }

    /// Says in full what the collation of the handshake, and its flags, stand for, as soon as that is known.
    pub(crate) fn resolve_charset(&mut self, client: Key) {
        self.learn_charset_of_relayed(client);
        let Some(client) = self.clients.get_mut(client) else {
            return;
        };
        let session = &mut client.session;
        if session.charset.is_none() {
            session.charset = self.known.charsets.get(session.collation).cloned();
        }
        if let Some(facts) = &self.known.facts {
            client.begin_sql_mode(facts, &mut self.known.interner);
        }
    }

    /// No connection can be opened with the collation of a session for which only logins bring connections: what it stands
    /// for is taken from the server's list.
    fn learn_charset_of_relayed(&mut self, client: Key) {
        let Some(client) = self.clients.get(client) else {
            return;
        };
        let collation = client.session.collation;
        let is_known =
            client.session.charset.is_some() || self.known.charsets.get(collation).is_some();
        if is_known || !self.is_relayed(client.key) {
            return;
        }
        let facts = self.known.facts.as_ref();
        if let Some(charset) = facts.and_then(|facts| facts.charset_of_login(collation)) {
            let charset = self.known.interner.charset(charset);
            self.known.charsets.learn(collation, charset);
        }
    }

    fn attach<I: Io<Mail>>(&mut self, turn: &Turn<'_, I>, client: Key, backend: Key) {
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

    /// The command was answered without the backend that was just attached for it.
    pub(crate) fn attach_in_vain<I: Io<Mail>>(&mut self, turn: &Turn<'_, I>, client: Key) {
        drop(self.take_permit(client));
        self.forget_intent(client);
        self.forget_lock_wait(client);
        if self.clients.state(client) != Some(State::Active) {
            return;
        }
        let Some(record) = self.clients.get_mut(client) else {
            return;
        };
        let Some(backend) = record.backend.take() else {
            return;
        };
        self.clients.move_to(client, State::Idle, turn.now);
        if let Some(record) = self.pool.get_mut(backend) {
            record.client = None;
        }
        self.rest(turn, backend);
    }

    /// True if connecting with `id` has failed, and is to be tried again later.
    pub(crate) fn backing_off(&self, now: Timestamp, id: KeyId) -> bool {
        let retry_at = self.keys[id.0 as usize].retry_at;
        retry_at.is_some_and(|at| now < at)
    }

    /// A slot for `id`: from the budget, or that of an idle connection. None while others come first.
    pub(crate) fn slot<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, id: KeyId) -> Option<Slot> {
        let ledger = &self.shared.ledger;
        if ledger.taken() < ledger.total() {
            if self.is_owed(turn, id, Span::ZERO) {
                return None;
            }
            if let Some(slot) = ledger.take(self.worker) {
                return Some(slot);
            }
        }
        let victim = self.spare(turn, id)?;
        let opening = self.pool.get(victim).map_or(Span::ZERO, |it| it.opening);
        if self.is_owed(turn, id, opening) {
            return None;
        }
        self.counters.slots_lent += 1;
        self.drop_backend(turn, victim);
        self.shared.ledger.take(self.worker)
    }

    /// Opens the connection of `id` that is kept for KILL.
    pub(crate) fn open_reserved<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, id: KeyId) {
        let backend = self.new_backend(Facts::unknown("").collation, turn.now);
        let slot = self.shared.ledger.reserve(self.worker);
        let key = self.pool.insert_reserved(id, slot, backend, turn.now);
        self.wake(id);
        self.connect(turn, key);
    }

    fn open<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, id: KeyId, slot: Slot, collation: u8) {
        let backend = self.new_backend(collation, turn.now);
        self.open_with(turn, (id, slot), backend);
    }

    /// Opens this connection of `id`.
    pub(crate) fn open_with<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        (id, slot): (KeyId, Slot),
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

    pub(crate) fn new_backend(&self, collation: u8, now: Timestamp) -> Backend {
        Backend {
            handle: Handle::NONE,
            login: Some(BackendLogin::Handshake),
            relay: None,
            connection_id: 0,
            session: SessionState::new(collation, &self.known.interner),
            login_role: None,
            status: ServerStatus::AUTOCOMMIT,
            insert_id: InsertId::Known(0),
            statements: BackendStatements::default(),
            exchanges: VecDeque::new(),
            turns: self.loop_turns.clone(),
            inbox: Vec::new(),
            client: None,
            reading: Reading::default(),
            opened: now,
            opening: Span::ZERO,
            head_since: now,
            retired: false,
            due: Due::empty(),
            untold: Vec::new(),
            counted_rows: false,
            rest: None,
            upload: None,
            replay: Vec::new(),
            orphaned: None,
            left_by: None,
            transaction: Permit::NONE,
            kill_outstanding: false,
            kills: 0,
            retrack: None,
            dirty: false,
            prepared_xa: PreparedXa::No,
            keeps_locks: false,
            keeps_characteristics: false,
            attributes: false,
            leftovers: Leftovers::default(),
            unsure: None,
        }
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
