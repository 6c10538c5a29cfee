//! A command gets its backend: served in its turn, attached, made ready, sent.

use carry::diagnostics::Counts;
use carry::effect::Effect;
use carry::errors::ClientError;
use carry::outbound::put_command_of;
use carry::packet::{Packet, Taken};
use carry::prepared::named::names_statement;
use carry::rewrite::{Live, Rewrite};
use events::Io;
use membership::Key;
use pool::{Choice, KeyId, State as BackendState};
use session::statement::{Dialect, Flavor, Kind, Statement, Traits};
use wire::{Command, Translation, asks_for_cursor};

use crate::desk::Engine;
use crate::follow::insert_id::put_insert_id;
use crate::follow::own_status::own_status;
use crate::follow::prepared::named::put_named;
use crate::follow::restore::{Replaced, put_restore};
use crate::follow::retrack::put_tracking;
use crate::follow::rewrite::rewrite;
use crate::record::allowance::Allowance;
use crate::record::backend::{Backend, ClientCommand};
use crate::record::client::{Client, State};
use crate::record::owner::Owner;
use crate::record::pieces::{Put, put_as_sent};
use crate::record::settings::Settings;
use crate::record::shared::Mail;
use crate::record::turn::Turn;

impl Engine {
    /// Sends a client's command to its backend, or to one that is free; else it waits.
    pub(crate) fn attach_and_send<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        client: Key,
        packet: Packet<'_>,
    ) -> Taken {
        let (statement, read) = self.records.judge(turn.now, client, packet, None);
        let taken = self.send_judged(turn, client, packet, statement);
        if taken == Taken::Later {
            self.records.keep_read(client, read);
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
        let Some(record) = self.records.clients.get(client) else {
            return Taken::Now;
        };
        let (attached, id) = (record.backend.is_some(), record.key);
        if self
            .records
            .refuses_elsewhere(turn, client, packet, &statement)
        {
            return Taken::Now;
        }
        if let Some(taken) = self.limits_command(turn, client, packet, &statement) {
            return taken;
        }
        if attached {
            self.matching
                .force_permit(&mut self.records, turn, client, packet, &statement);
            return self.dispatch(turn, client, packet, statement);
        }
        if let Some(taken) = self.waits_for_lock(turn, client, packet, &statement) {
            return taken;
        }
        let eligible = self
            .matching
            .may_share(&mut self.records, turn, client, packet, &statement);
        if let Some(taken) =
            self.matching
                .ask_permit(&mut self.records, turn, client, packet, &statement)
        {
            return taken;
        }
        if eligible
            && self
                .matching
                .join_lane(&mut self.records, turn, client, packet)
        {
            return Taken::Later;
        }
        let queue = match eligible {
            true => State::ForLane(id),
            false => State::Waiting(id),
        };
        // Whoever waits already comes first; and a lane is deepened before another backend is woken.
        if self.records.clients.count(queue) == 0
            && !(eligible && self.records.has_lane(client))
            && let Choice::Attach(backend) =
                self.matching.choose(&mut self.records, turn.now, client)
            && !self.records.is_held_for_stored(turn, backend)
            && self.matching.passes_gate(&mut self.records, turn, id)
        {
            self.records.attach(turn, client, backend);
            return self.dispatch(turn, client, packet, statement);
        }
        self.records.counters.queued += 1;
        self.records.clients.move_to(client, queue, turn.now);
        self.records.wake(id);
        self.grow(turn, id);
        Taken::Later
    }

    /// Gives lanes and idle backends of `id` to the sessions that wait for one, the longest waiting
    /// first, and opens more if there are not enough.
    pub(crate) fn serve<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, id: KeyId) {
        while self.serve_one(turn, id) {}
        self.grow(turn, id);
    }

    fn serve_one<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, id: KeyId) -> bool {
        let (alone, shared) = (State::Waiting(id), State::ForLane(id));
        let lane_first = match (
            self.records.clients.oldest(alone),
            self.records.clients.oldest(shared),
        ) {
            (Some(alone), Some(shared)) => shared < alone,
            (alone, _) => alone.is_none(),
        };
        let order = if lane_first {
            [shared, alone]
        } else {
            [alone, shared]
        };
        for queue in order {
            let Some(first) = self.records.clients.first(queue) else {
                continue;
            };
            let served = match queue == shared {
                true => self.serve_lanes(turn, first),
                false => self.serve_alone(turn, first),
            };
            // Its connection has to be opened, in place of one that others must not have before it.
            if served
                || (queue == alone && self.matching.needs_room(&mut self.records, turn, first))
            {
                return served;
            }
        }
        false
    }

    /// Sends what waits, if a backend is free for it.
    pub(crate) fn serve_alone<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, client: Key) -> bool {
        let Choice::Attach(backend) = self.matching.choose(&mut self.records, turn.now, client)
        else {
            return false;
        };
        let Some(record) = self.records.clients.get(client) else {
            return false;
        };
        let (id, waited) = (record.key, turn.now.since(record.since));
        if self.records.is_held_for_stored(turn, backend)
            || !self.matching.passes_gate(&mut self.records, turn, id)
        {
            return false;
        }
        self.records.counters.queue_wait.record(waited);
        self.records.attach(turn, client, backend);
        self.send_from_inbox(turn, client);
        true
    }

    /// Serves all keys that are awake.
    pub(crate) fn serve_all<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        self.each_awake(|engine, id| engine.serve(turn, id));
    }

    /// Sends the command that waits at the front of the client's inbox.
    pub(crate) fn send_from_inbox<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, client: Key) {
        self.records.initiate(client);
        if self.records.initiates_in_vain(client) {
            self.records.initiated(client);
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
        if self.records.clients.state(client) == Some(State::Idle) {
            self.consume_inbox(turn, client);
        }
    }

    fn send_first_of_inbox<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        client: Key,
    ) -> Option<Taken> {
        let record = self.records.clients.get_mut(client)?;
        let mut inbox = std::mem::take(&mut record.inbox);
        let Ok(packet) = self.records.front(client, &inbox) else {
            debug_assert!(false, "a command waits that is not complete");
            return None;
        };
        let consumed = packet.consumed;
        let payload = packet.payload.bytes();
        let record = self.records.clients.get(client);
        let attributes = record.and_then(|record| record.attributes(payload).ok());
        let raw = Packet {
            raw: &inbox[..consumed],
            payload,
            attributes: attributes.unwrap_or_default(),
        };
        let kept = self.records.long.waited(client);
        let (statement, read) = self.records.judge(turn.now, client, raw, kept);
        let taken = self.dispatch(turn, client, raw, statement);
        if taken == Taken::Later {
            self.records.keep_read(client, read);
        }
        if taken == Taken::Now {
            self.records.drop_long_data(client, payload);
            self.records.long.forget(client);
            drop(packet);
            inbox = self.records.hand_over(turn, client, inbox, consumed);
        }
        match self.records.clients.get_mut(client) {
            Some(record) if !inbox.is_empty() => record.inbox = inbox,
            _ => self.records.recycle(inbox),
        }
        Some(taken)
    }

    /// Opens connections for those who wait, as far as there are slots.
    pub(crate) fn grow<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, id: KeyId) {
        while let Some(first) = self.records.first_listed_in_need(id)
            && self.open_for(turn, id, first)
        {}
        while let Some(first) = self.matching.first_queued_in_need(&self.records, id)
            && self.open_for(turn, id, first)
        {}
        if self.matching.next_relay_of(id).is_some() {
            self.matching.open_relays(&mut self.records, turn);
        }
    }

    /// Opens a connection for a client, and those behind it. False if none is needed, or none can be had.
    fn open_for<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, id: KeyId, first: Key) -> bool {
        let opens = self.matching.choose(&mut self.records, turn.now, first) == Choice::Open
            && self.matching.passes_gate(&mut self.records, turn, id);
        // Those that are being opened may be for others. Whoever no connection can be opened for is told so at once.
        if !opens || !(self.matching.may_open(&self.records, id) || self.records.is_locked_out(id))
        {
            return false;
        }
        if self.records.backing_off(turn.now, id) {
            if self.records.keys[id.0 as usize].unfit {
                self.locked_out.push(id);
            }
            return false;
        }
        if self.records.is_unreachable(id)
            && self
                .records
                .pool
                .first(id, BackendState::Connecting)
                .is_some()
        {
            // One is enough to find out whether the backend is back.
            return false;
        }
        if self.records.is_locked_out(id) {
            // Where only logins bring connections, those that are there have to do.
            if !(self.records.is_relayed(id) && self.records.is_served(id)) {
                self.locked_out.push(id);
            }
            return false;
        }
        let Some(slot) = self.matching.slot(&mut self.records, turn, id) else {
            return false;
        };
        let collation = self
            .records
            .clients
            .get(first)
            .map_or(0, |client| client.session.collation);
        self.records.open(turn, id, slot, collation);
        true
    }

    /// The command was answered without the backend that was just attached for it.
    fn attach_in_vain<I: Io<Mail>>(&mut self, turn: &Turn<'_, I>, client: Key) {
        drop(self.matching.take_permit(&mut self.records, client));
        self.forget_intent(client);
        self.matching.forget_lock_wait(client);
        if self.records.clients.state(client) != Some(State::Active) {
            return;
        }
        let Some(record) = self.records.clients.get_mut(client) else {
            return;
        };
        let Some(backend) = record.backend.take() else {
            return;
        };
        self.records.clients.move_to(client, State::Idle, turn.now);
        if let Some(record) = self.records.pool.get_mut(backend) {
            record.client = None;
        }
        self.rest(turn, backend);
    }

    /// Sends an attached client's command, what it needs restored before it.
    pub(crate) fn dispatch<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        client: Key,
        packet: Packet<'_>,
        mut statement: Statement,
    ) -> Taken {
        if self
            .records
            .ask_for_routine(turn, client, packet, &statement)
        {
            return Taken::Later;
        }
        if self.refuses_pin(turn, client, &statement) {
            return Taken::Now;
        }
        if self
            .records
            .reads_list_first(turn, client, packet, &statement)
            || self
                .records
                .keeps_list_first(turn, client, packet, &statement)
        {
            return Taken::Later;
        }
        let session = self.records.clients.get(client);
        let mentions = session.map_or_else(Vec::new, |session| {
            session.mentions(&self.records.known, turn.now, (packet, &statement))
        });
        if self
            .records
            .cleans_first(turn, client, &statement, &mentions)
        {
            return Taken::Later;
        }
        let logs =
            !mentions.is_empty() && self.records.logs_what_it_reads(client, packet, &statement);
        let missing = self.records.missing(client, packet);
        let bound = self
            .records
            .bound(client, (packet, &statement), missing.as_deref());
        let replaced = Replaced::by(&statement, missing.as_deref());
        let mut restore = self.records.restore(client, bound.as_ref());
        replaced.leave_out_of(&mut restore);
        if let Some(mut pair) = self.records.attached(client) {
            let command = (packet, &mut statement);
            pair.bring_user_variables(turn.now, command, (mentions, logs), &mut restore);
        }
        self.records
            .note_restore(turn, client, &restore, &statement);
        let Some(record) = self.records.clients.get_mut(client) else {
            return Taken::Now;
        };
        let Some(backend_key) = record.backend else {
            return Taken::Now;
        };
        let Some(backend) = self.records.pool.get_mut(backend_key) else {
            return Taken::Now;
        };
        let wanted = bound.as_ref().unwrap_or(&record.session);
        // A plain read could share the write (rule 5), but that its tables are no views with
        // side effects is more than a text can tell.
        let must_await = restore.can_fail && !restore.is_empty();
        let outbox = turn.io.outbox(backend.handle);
        backend.statements.put_closes(outbox);
        put_restore(outbox, backend, &restore);
        replaced.bring(&mut backend.session, wanted);
        self.records.clients.set_active(client, turn.now);
        if let (Some(template), false) = (&missing, must_await) {
            self.records
                .prepare_on_demand(turn, backend_key, template.clone());
            return Taken::Later;
        }
        if missing.is_none()
            && (self.records.ask_for_views(turn, client, packet)
                || self.ask_for_right(turn, client))
        {
            return Taken::Later;
        }
        if must_await {
            self.records.await_answers(backend_key);
            return Taken::Later;
        }
        if let Some(mut pair) = self.records.attached(client) {
            pair.note_draws(packet, &statement);
        }
        self.records.forget_defined(turn, &statement);
        self.send(turn, client, packet, statement);
        Taken::Now
    }

    /// Answers a statement that would pin one session too many. False if it does not.
    fn refuses_pin<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        client: Key,
        statement: &Statement,
    ) -> bool {
        let Err(max) = self.records.takes_pin(client, statement) else {
            return false;
        };
        self.records.counters.pins_rejected += 1;
        self.records
            .answer_err(turn, client, &ClientError::too_many_pinned(max));
        self.attach_in_vain(turn, client);
        self.records.touch(client, turn.now);
        true
    }

    /// Sends a command to the client's backend, which is in the session's state.
    pub(crate) fn send<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        client_key: Key,
        packet: Packet<'_>,
        statement: Statement,
    ) {
        let text = packet.text();
        let dialect = self.records.dialect_if_needed(client_key, &statement);
        // Before it pins the session: behind EXECUTE of a text that may prepare others none of them is known.
        let does = self.records.does(client_key, packet, &statement);
        let pins = self
            .records
            .add_pins(client_key, &statement, text, dialect.as_ref());
        let effect = self.effect(client_key, packet, &statement, dialect.as_ref());
        let session = self.records.clients.get(client_key);
        let untold =
            session.and_then(|session| session.sets(packet, (&statement, dialect.as_ref())));
        let lock = effect.as_ref().and_then(Effect::of_lock);
        lock.into_iter().for_each(|lock| lock.sent(turn.now));
        self.matching.forget_lock_wait(client_key);
        let (keeping, own_text) = self.take_intent(client_key);
        let keeping = self
            .records
            .reads_accounts_after(client_key, packet, &statement, keeping);
        let Allowance { permit, until } =
            self.matching
                .take_allowance(&mut self.records, client_key, statement.kind);
        let brings_insert_id =
            self.records
                .brings_insert_id(turn.now, client_key, (packet, &statement));
        let flavor = self.records.known.flavor();
        let Some(client) = self.records.clients.get_mut(client_key) else {
            return;
        };
        let Some(backend) = client
            .backend
            .and_then(|key| self.records.pool.get_mut(key))
        else {
            return;
        };
        let outbox = turn.io.outbox(backend.handle);
        let repeats = backend.repeat(outbox, (client, &statement), packet.payload);
        self.records.counters.lane_repeats += u64::from(repeats);
        let live = backend.live(client.capture.conditions.is_there());
        let text_read = (text, dialect.as_ref());
        let settings = &self.records.settings;
        let rewrite =
            own_text.or_else(|| in_place_of(&statement, text_read, client, live, settings));
        let reads = client.needs_none_there(packet.payload, &statement, (does, flavor));
        bring_across(
            outbox,
            backend,
            client,
            packet.payload,
            &statement,
            reads,
            brings_insert_id,
            rewrite.as_ref(),
            flavor,
        );
        let rewritten = rewrite.as_ref().map(|rewrite| &rewrite.text[..]);
        let rewritten = rewritten.or_else(|| effect.as_ref()?.text_in_place_of(text));
        backend.keep_for_retry(client, &statement, packet, rewritten.is_some());
        let does_so = (&statement, effect.as_ref());
        put_tracking(
            outbox,
            client,
            backend,
            does_so,
            &self.records.known.track_lists,
        );
        let put = put_packet(outbox, client, backend, packet, rewritten, flavor);
        let sequence_id = put.last;
        debug_assert!(
            backend.rest.is_none(),
            "it has not got all of the last command"
        );
        backend.rest = put.rest;
        Self::goes_on_sending(turn, backend);
        client.holds_unseen(&statement, effect.as_ref());
        self.records.counters.statements += u64::from(packet.is_statement());
        let kept = client.keeps_definitions_of(packet.payload, &statement);
        let command = ClientCommand {
            client: Some(client_key),
            translation: translation(client, packet, &statement, sequence_id, kept),
            kind: statement.kind,
            traits: statement.traits,
            pins,
            counts: Counts::default(),
            does,
            effect: effect.map(Box::new),
            untold,
            answered: false,
            permit,
            keeping,
            until,
            timed_out: false,
            digest: backend.replayed(client.digest),
            keeps_definitions_of: kept,
        };
        backend.note_xa(&statement, text);
        backend.expect_answer(turn.now, packet, sequence_id, command);
    }
}

/// What is sent in place of a text.
fn in_place_of(
    statement: &Statement,
    (text, dialect): (&[u8], Option<&Dialect>),
    client: &Client,
    live: Live,
    settings: &Settings,
) -> Option<Rewrite> {
    dialect
        .and_then(|dialect| rewrite(statement, text, dialect, client, live, settings))
        .or_else(|| own_status(statement, text, client))
}

/// Appends a command, or what is sent in its place.
fn put_packet(
    outbox: &mut Vec<u8>,
    client: &mut Client,
    backend: &mut Backend,
    packet: Packet<'_>,
    rewritten: Option<&[u8]>,
    flavor: Flavor,
) -> Put {
    match rewritten {
        Some(text) => {
            let command = packet.payload.first().copied();
            let command = command.and_then(Command::from_byte);
            let parts = [packet.attributes(), text];
            Put::whole(put_command_of(
                outbox,
                command.unwrap_or(Command::Query),
                parts,
            ))
        }
        None if names_statement(packet.payload) => {
            put_named(outbox, client, backend, packet, flavor)
        }
        None => put_as_sent(outbox, packet),
    }
}

/// How the client is told the answer to a command whose last packet was sent with `sequence_id`.
fn translation(
    client: &Client,
    packet: Packet<'_>,
    statement: &Statement,
    sequence_id: u8,
    keeps_definitions_of: Option<u32>,
) -> Translation {
    let login = client.login.as_ref();
    let begins = login.map_or(client.answer_begins, |login| login.sequence_id);
    let offset = begins.wrapping_sub(1).wrapping_sub(sequence_id);
    let mut translation = Translation::new(client.dialect(), offset);
    if statement.kind == Kind::Admin && !statement.traits.contains(Traits::IMPLICIT_COMMIT) {
        // CHECKSUM TABLE.
        translation = translation.with_columns_first();
    }
    if keeps_definitions_of.is_some() {
        let executed = client.statement(packet.payload);
        translation = translation.with_kept(executed.and_then(|executed| executed.definitions));
    }
    // Writes that return rows, and what a procedure reads, are told at once.
    let opens_none = matches!(
        statement.kind,
        Kind::Insert | Kind::Replace | Kind::Update | Kind::Delete | Kind::Call | Kind::Handler
    );
    match asks_for_cursor(packet.payload) && !opens_none {
        true => translation.with_cursor(),
        false => translation,
    }
}

/// Appends what the statement reads of its session and the backend does not have: an empty list of conditions, and
/// LAST_INSERT_ID().
fn bring_across(
    outbox: &mut Vec<u8>,
    backend: &mut Backend,
    client: &mut Client,
    payload: &[u8],
    statement: &Statement,
    needs_no_conditions: bool,
    brings_insert_id: bool,
    rewrite: Option<&Rewrite>,
    flavor: Flavor,
) {
    let counted = client.counted(payload, statement);
    if rewrite.is_none() && needs_no_conditions {
        backend.clear_conditions(outbox);
        client.capture.conditions.cleared();
    }
    let value = match counted {
        Some(known) => client
            .capture
            .count(known, flavor)
            .map(|count| count as u64),
        None => rewrite.and_then(|rewrite| rewrite.insert_id),
    };
    if value.is_some() {
        // The value that is about to be replaced may be known to nobody else.
        backend.ask_for_insert_id(outbox);
    }
    if let Some(value) = value {
        put_insert_id(outbox, backend, value);
    } else if brings_insert_id {
        put_insert_id(outbox, backend, client.last_insert_id);
    }
}
