//! KILL: of statements and of connections (rule 15).
//!
//! Clients have ids of their own, which say on which worker they are. An order travels there by
//! mail and its outcome comes back the same way. A running statement is ended with a KILL QUERY on
//! a connection that is kept for that, outside the budget: one per key in use. Until both the KILL
//! and its victim have answered, the victim's connection gets no further command.

use events::{Io, Span};
use membership::Key;
use pool::{KeyId, State as BackendState};
use session::statement::{Kill, Named, PinReason, kill_target};
use wire::{Command, ErrPacket, HEADER_LEN, OkPacket, code};

use crate::backend::Due;
use crate::backend::Step;
use crate::client::{Client, State};
use crate::commands::answers::Ending;
use crate::commands::{Packet, Taken, runs_statement};
use crate::errors::ClientError;
use crate::report::counters::DisconnectReason;
use crate::{Engine, FIRST_CONNECTION_ID, Mail, Turn};

/// How long a connection that is kept for KILL may be idle.
const RESERVED_IDLE: Span = Span::from_secs(60);

/// Somebody wants a client's statement, or the client, ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KillOrder {
    /// What is to be ended.
    victim: Victim,
    /// Whoever asks; `None` if it may end anybody's.
    account: Option<u32>,
    /// Who asked, and on which worker.
    asker: (usize, Key),
}

/// What became of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KillOutcome {
    /// It was carried out, or there was nothing to end.
    Done,
    /// There is no such client.
    NoSuchThread(u32),
    /// The client belongs to somebody else.
    NotOwner(u32),
    /// Nobody knows: carrying it out has panicked. Whoever asked is closed.
    Lost,
}

/// A client of ours that somebody wants ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Victim {
    /// The client's connection id.
    pub id: u32,
    /// Only its statement.
    pub query: bool,
}

impl KillOrder {
    /// Who asked: the worker and its client.
    pub(crate) fn asker(&self) -> (usize, Key) {
        self.asker
    }
}

impl Engine {
    /// Deals with a KILL of one of our clients. Others are commands like any other, for the server.
    pub(crate) fn kill_command<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        client: Key,
        packet: Packet<'_>,
    ) -> Taken {
        let Some(victim) = self.kill_named(client, packet) else {
            return self.attach_and_send(turn, client, packet);
        };
        self.order_kill(turn, client, victim);
        Taken::Now
    }

    /// Has one of our clients ended for another.
    pub(crate) fn order_kill<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        client: Key,
        victim: Victim,
    ) {
        let Some(record) = self.clients.get(client) else {
            return;
        };
        if victim.id == record.id {
            return self.kill_oneself(turn, client, victim);
        }
        let kills_others = self.keys[record.key.0 as usize].kills_others;
        let order = KillOrder {
            victim,
            account: (!kills_others).then_some(record.account),
            asker: (self.worker, client),
        };
        self.counters.kills += 1;
        self.clients.move_to(client, State::Asking, turn.now);
        let worker = self.shared.worker_of(victim.id);
        if worker == self.worker {
            let outcome = self.kill(turn, order);
            self.kill_done(turn, client, outcome);
        } else if turn.io.post(worker, Mail::Kill(order)).is_err() {
            self.kill_done(turn, client, KillOutcome::NoSuchThread(victim.id));
        }
    }

    /// What would be ended is the KILL.
    fn kill_oneself<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, client: Key, victim: Victim) {
        self.counters.kills += 1;
        if victim.query {
            self.answer_err(turn, client, &ClientError::interrupted());
            return self.touch(client, turn.now);
        }
        let error = ClientError::killed(self.known.flavor());
        self.answer_err(turn, client, &error);
        self.close_client(turn, client, DisconnectReason::Killed);
    }

    /// The client of ours that a command wants ended.
    fn kill_named(&self, client: Key, packet: Packet<'_>) -> Option<Victim> {
        let (&command, argument) = packet.payload.split_first()?;
        if command != Command::ProcessKill as u8 {
            return self.victim(client, packet.text());
        }
        let id = u32::from_le_bytes(*argument.first_chunk()?);
        ours(id, false)
    }

    /// The client of ours that a text of `client` wants ended.
    pub(crate) fn victim(&self, client: Key, text: &[u8]) -> Option<Victim> {
        let record = self.clients.get(client)?;
        let dialect = self.known.facts.as_ref()?.dialect(&record.session)?;
        let Kill { named, query, .. } = kill_target(text, &dialect)?;
        match named {
            Named::Id(id) => ours(u32::try_from(id).ok()?, query),
            // A backend can end its own statement.
            Named::Own => ours(record.id, false).filter(|_| !query),
            Named::Variable(name) => {
                let id = self.whole_number(record, &name)?;
                ours(u32::try_from(id).ok()?, query)
            }
        }
    }

    /// The client of ours that a text of `client` wants ended whenever it is executed.
    pub(crate) fn victim_for_ever(&self, client: Key, text: &[u8]) -> Option<Victim> {
        let names_variable = text.contains(&b'@');
        self.victim(client, text).filter(|_| !names_variable)
    }

    /// The whole number that a variable holds, if that is known here.
    fn whole_number(&self, client: &Client, name: &[u8]) -> Option<u64> {
        let backend = client.backend.and_then(|key| self.pool.get(key));
        let unread = backend.is_some_and(|backend| backend.leftovers.variables.may_have(name));
        let known = !unread && !client.pins.contains(PinReason::UserVariable);
        let user = client.session.user.as_ref().filter(|_| known)?;
        user.get(name)?.as_unsigned()
    }

    /// Carries out an order for a client of this worker.
    pub(crate) fn kill<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        order: KillOrder,
    ) -> KillOutcome {
        self.end(turn, order.victim, order.account)
    }

    /// Ends a client of this worker, or its statement; `account`: of whoever asks, `None` if it may
    /// end anybody's.
    pub(crate) fn end<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        victim: Victim,
        account: Option<u32>,
    ) -> KillOutcome {
        let Some(&key) = self.ids.get(&victim.id) else {
            return self.end_left(turn, victim, account);
        };
        let Some(client) = self.clients.get(key) else {
            return KillOutcome::NoSuchThread(victim.id);
        };
        // Whoever is still logging in is nobody's yet, and runs no statement.
        let logs_in = client.login.is_some();
        let owner = account.is_none_or(|account| account == client.account);
        if logs_in || !owner {
            return KillOutcome::NotOwner(victim.id);
        }
        let state = self.clients.state(key);
        let waits = state.is_some_and(State::waits) && !logs_in;
        if let (Some(State::InLane), true) = (state, victim.query)
            && let Some(lane) = self.place_in_lane(key)
        {
            self.kill_in_lane(turn, key, lane);
            return KillOutcome::Done;
        }
        let Some(client) = self.clients.get(key) else {
            return KillOutcome::NoSuchThread(victim.id);
        };
        if let Some(backend) = client.backend {
            self.interrupt(turn, backend);
        }
        if !victim.query {
            self.close_client(turn, key, DisconnectReason::Killed);
        } else if waits && self.kill_lock_wait(turn, key) {
            // It was answered.
        } else if waits {
            self.leave_queue(key, DisconnectReason::Killed);
            self.answer_err(turn, key, &ClientError::interrupted());
            self.drop_waiting_command(turn, key);
        } else if !logs_in && (self.takes_back_command(key) || self.has_yet_to_begin(key)) {
            self.answer_err(turn, key, &ClientError::interrupted());
            self.drop_first_command(key);
        }
        KillOutcome::Done
    }

    /// The same of a client that has hung up, for as long as its statement runs.
    fn end_left<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        victim: Victim,
        account: Option<u32>,
    ) -> KillOutcome {
        let mut backends = (0..self.pool.places()).filter_map(|place| self.pool.at(place));
        let left = backends.find(|(_, backend)| backend.left_by == Some(victim.id));
        let Some((key, id)) = left.and_then(|(key, _)| Some((key, self.pool.key_of(key)?))) else {
            return KillOutcome::NoSuchThread(victim.id);
        };
        if account.is_some_and(|account| account != self.pool.key(id).account) {
            return KillOutcome::NotOwner(victim.id);
        }
        self.interrupt(turn, key);
        KillOutcome::Done
    }

    /// True if the client's command waited for its restore; what is restored stays.
    fn takes_back_command(&mut self, client: Key) -> bool {
        let backend = self.clients.get(client).and_then(|client| client.backend);
        let Some(backend) = backend.and_then(|key| self.pool.get_mut(key)) else {
            return false;
        };
        let waited = backend.due.contains(Due::COMMAND);
        backend.due -= Due::COMMAND;
        waited
    }

    /// True if the client's next statement is here, and its backend is still busy with what the one before has
    /// left to do, which nobody can see and no KILL is meant for.
    fn has_yet_to_begin(&self, key: Key) -> bool {
        let active = self.clients.state(key) == Some(State::Active);
        let Some(client) = self.clients.get(key).filter(|_| active) else {
            return false;
        };
        let backend = client.backend.and_then(|key| self.pool.get(key));
        let at_rest = backend.is_some_and(|backend| !backend.may_be_ended());
        let is_complete = self.front_len(key, &client.inbox).is_ok();
        at_rest && is_complete && runs_statement(&client.inbox[HEADER_LEN..])
    }

    /// The outcome of an order is known: whoever asked is told.
    pub(crate) fn kill_done<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        asker: Key,
        outcome: KillOutcome,
    ) {
        if outcome == KillOutcome::Lost {
            return self.close_client(turn, asker, DisconnectReason::Defect);
        }
        if outcome == KillOutcome::Done {
            self.counts_rows(asker, 0);
        }
        // It may have hung up, or have killed itself.
        let Some(client) = self.clients.get(asker) else {
            return;
        };
        let error = match outcome {
            KillOutcome::Done | KillOutcome::Lost => None,
            KillOutcome::NoSuchThread(id) => Some(ClientError::no_such_thread(id)),
            KillOutcome::NotOwner(id) => Some(ClientError::not_owner(id)),
        };
        match error {
            Some(error) => self.answer_err(turn, asker, &error),
            None => {
                let ok = OkPacket {
                    status: client.status,
                    ..OkPacket::default()
                };
                ok.encode(turn.io.outbox(client.handle), client.answer_begins, 0x00);
            }
        }
        self.asked(turn, asker);
    }

    /// What a client asked somebody else for has come: its session goes on.
    pub(crate) fn asked<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, asker: Key) {
        let next = match self.clients.get(asker).and_then(|client| client.backend) {
            Some(_) => State::Held,
            None => State::Idle,
        };
        self.clients.move_to(asker, next, turn.now);
        self.consume_inbox(turn, asker);
    }

    /// Has the server end what a backend runs.
    pub(crate) fn interrupt<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, victim: Key) {
        let id = self.pool.key_of(victim);
        let Some(backend) = self.pool.get_mut(victim) else {
            return;
        };
        if backend.kill_outstanding || !backend.may_be_ended() {
            return;
        }
        backend.kill_outstanding = true;
        self.kills.push_back(victim);
        if let Some(id) = id {
            self.send_kills(turn, id);
        }
    }

    /// True if a KILL of what this backend runs is wanted, or was sent and not answered.
    pub(crate) fn has_kill_outstanding(&self, key: Key) -> bool {
        let backend = self.pool.get(key);
        backend.is_some_and(|backend| backend.kill_outstanding)
    }

    /// True if a backend on which nothing is under way must wait for the answer to a KILL. One that
    /// was not sent has nothing to end any more and is forgotten.
    pub(crate) fn awaits_kill(&mut self, key: Key) -> bool {
        if !self.has_kill_outstanding(key) {
            return false;
        }
        let Some(place) = self.kills.iter().position(|&victim| victim == key) else {
            return true;
        };
        self.kills.remove(place);
        if let Some(backend) = self.pool.get_mut(key) {
            backend.kill_outstanding = false;
        }
        false
    }

    /// True if it is a client's command that the backend runs now. What is restored before it must
    /// not be hit in its place: the command would run all the same.
    fn runs_command(&self, key: Key) -> bool {
        let front = self.pool.get(key).and_then(|b| b.exchanges.front());
        front.is_some_and(|exchange| exchange.purpose.may_be_ended())
    }

    /// Sends the next KILL of a key, if its connection for that is free; opens it if there is none.
    pub(crate) fn send_kills<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, id: KeyId) {
        // Victims that are gone need nobody to end them.
        self.kills.retain(|&key| self.pool.get(key).is_some());
        let of_key = |key: &&Key| self.pool.key_of(**key) == Some(id);
        if !self.kills.iter().any(|key| of_key(&key)) {
            return;
        }
        let killer = self.pool.first(id, BackendState::Reserved);
        match killer.and_then(|killer| self.pool.get(killer)) {
            Some(record) if record.login.is_some() || record.is_working() => return,
            None if self.opens_reserved(id) => return self.open_reserved(turn, id),
            _ => {}
        }
        let mut victims = self.kills.iter();
        let Some(place) = victims.position(|key| of_key(&key) && self.runs_command(*key)) else {
            return;
        };
        let Some(victim) = self.kills.remove(place) else {
            return;
        };
        let Some(killer) = killer else {
            if !self.kill_from_idle(turn, (id, victim)) {
                self.counters.kill_errors += 1;
                self.kill_answered(turn, victim);
            }
            return;
        };
        let Some(target) = self.pool.get(victim).map(|backend| backend.connection_id) else {
            return;
        };
        self.pool.move_to(killer, BackendState::Reserved, turn.now);
        if let Some(record) = self.pool.get_mut(killer) {
            let text = format!("KILL QUERY {target}");
            record.put_query(turn.io.outbox(record.handle), text.as_bytes());
            record.expect(Step::Kill(victim));
        }
    }

    /// False if a connection of `id` cannot be opened, or could end nothing.
    fn opens_reserved(&self, id: KeyId) -> bool {
        !self.is_relayed(id) && !self.pool.key(id).is_sandbox()
    }

    /// The server has dealt with a KILL that went over this connection.
    pub(crate) fn kill_told<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        (victim, ending): (Key, &Ending),
    ) {
        self.counters.kill_errors += u64::from(is_refusal(ending));
        self.kill_answered(turn, victim);
        let id = self.pool.key_of(key);
        id.into_iter().for_each(|id| self.send_kills(turn, id));
        if self.pool.state(key) != Some(BackendState::Reserved) {
            self.goes_on(turn, key);
        }
    }

    /// The server has dealt with a KILL. It may have come after its victim's statement and hit the
    /// next one: a COM_PING takes that.
    pub(crate) fn kill_answered<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, victim: Key) {
        let Some(backend) = self.pool.get_mut(victim) else {
            return;
        };
        backend.kill_outstanding = false;
        backend.due |= Due::PING;
        if !backend.is_working() {
            self.settle(turn, victim);
        } else if backend.may_be_ended() {
            self.survives(victim, turn.now);
        }
    }

    /// No connection for KILL can be had: what was to be ended goes on.
    pub(crate) fn give_up_kills<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, id: KeyId) {
        while let Some(place) = self
            .kills
            .iter()
            .position(|&key| self.pool.key_of(key) == Some(id))
        {
            if let Some(victim) = self.kills.remove(place) {
                self.counters.kill_errors += 1;
                self.kill_answered(turn, victim);
            }
        }
    }

    /// When the connection of `id` that is kept for KILL is to be looked at.
    pub(crate) fn reserved_due(&self, id: KeyId) -> Option<events::Timestamp> {
        let key = self.pool.first(id, BackendState::Reserved)?;
        let limit = match self.pool.get(key)?.login {
            Some(_) => self.settings.connect_timeout,
            None => RESERVED_IDLE,
        };
        Some(self.pool.oldest(id, BackendState::Reserved)? + limit)
    }

    /// Gives up a connection for KILL that does not come about, or that nobody needs.
    pub(crate) fn reserved_is_due<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, id: KeyId) {
        if self.reserved_due(id).is_none_or(|at| turn.now < at) {
            return;
        }
        let Some(key) = self.pool.first(id, BackendState::Reserved) else {
            return;
        };
        let Some(backend) = self.pool.get(key) else {
            return;
        };
        if backend.login.is_some() {
            self.give_up_connect(turn, key, "no login within connect_timeout".to_owned());
        } else if backend.is_working() {
            self.backend_broken(turn, key);
        } else {
            self.drop_backend(turn, key);
        }
    }
}

/// True of the answer to a KILL that has ended nothing although there was something.
fn is_refusal(ending: &Ending) -> bool {
    let Ending::Err(error) = ending else {
        return false;
    };
    ErrPacket::parse(error).is_ok_and(|error| error.code != code::NO_SUCH_THREAD)
}

/// Ids below are the server's.
pub(crate) fn ours(id: u32, query: bool) -> Option<Victim> {
    (id >= FIRST_CONNECTION_ID).then_some(Victim { id, query })
}
