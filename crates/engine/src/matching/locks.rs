//! Statements that wait for a user-level lock without a backend.

use carry::conditions::{Answer, Does};
use carry::locks::registry::{LockName, LockTicket};
use carry::packet::Packet;
use events::{Io, Span};
use membership::Key;
use session::statement::LockCall;
use wire::{
    Command, ParameterTypes, ParameterValue, Translation, TypeList, parameter_types,
    parameter_values,
};

use crate::matching::Matching;
use crate::record::client::{Client, State};
use crate::record::lock_waits::{Got, Stage, Wanted, lock_name};
use crate::record::records::Records;
use crate::record::shared::Mail;
use crate::record::turn::Turn;

impl Records {
    /// The name of the lock that a command is about, if that is certain.
    pub(crate) fn lock_name(
        &self,
        key: Key,
        packet: Packet<'_>,
        call: &LockCall,
    ) -> Option<LockName> {
        let client = self.clients.get(key)?;
        client
            .session
            .charset
            .as_ref()
            .filter(|set| set.is_narrow())?;
        let values = values_of(client, packet);
        lock_name(call, values.as_deref(), self.known.flavor())
    }

    /// Answers a statement that has not got its lock, in a column as the server has defined it before. False if it has
    /// not.
    pub(crate) fn tell_lock<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        wanted: &Wanted,
        got: Got,
    ) -> bool {
        let (Some(column), Some(client)) = (self.shared.locks.column(), self.clients.get_mut(key))
        else {
            return false;
        };
        let offset = client.answer_begins.wrapping_sub(1);
        let translation = Translation::new(client.dialect(), offset);
        column.tell(
            (&wanted.column, got == Got::Null, wanted.form),
            client.extended,
            (translation, client.status),
            turn.io.outbox(client.handle),
        );
        let capture = &mut client.capture;
        (capture.row_count, capture.found_rows) = (-1, Some(1));
        // Both servers end the statement with an empty list, which is on no backend.
        let (replaces, answer) = (Does::Replaces, Answer::default());
        capture.conditions.answered(replaces, &answer);
        capture.conditions.lose();
        self.counters.local_answers += 1;
        true
    }

    /// The server would remember the types of an execution's parameters.
    pub(crate) fn keep_types(&mut self, key: Key, packet: Packet<'_>) {
        let Some(client) = self.clients.get_mut(key) else {
            return;
        };
        let attributes = client.has_attributes();
        let Some(statement) = client.statement_mut(packet.payload) else {
            return;
        };
        if let ParameterTypes::Given(types) =
            parameter_types(packet.payload, statement.list(attributes))
        {
            statement.types = Some(types.pairs().flatten().copied().collect());
        }
    }
}

impl Matching {
    /// True if something else than the statement's own time may end it while it waits.
    pub(crate) fn may_be_ended_sooner(&self, client: &Client, packet: Packet<'_>) -> bool {
        let limit = |seat| self.scheduler.max_statement_time(seat);
        client.time_limit(packet) != Span::ZERO
            || client.seat.as_ref().map(limit).unwrap_or_default() != Span::ZERO
    }

    /// The client's statement goes to the server now: takes its ticket for the lock along.
    pub(crate) fn take_lock_ticket(&mut self, key: Key) -> Option<LockTicket> {
        self.lock_waits.forget(key)?.ticket
    }

    /// The client's statement will not be sent: gives up its wait for the lock.
    pub(crate) fn forget_lock_wait(&mut self, key: Key) {
        drop(self.lock_waits.forget(key));
    }

    /// What is kept of a client that wants a lock agrees with the list that it is on.
    pub(crate) fn check_lock_wait(&self, key: Key, state: State) -> Result<(), String> {
        let wait = self.lock_waits.clients.get(&key);
        let agrees = match wait.map(|wait| &wait.stage) {
            None => state != State::ForLock,
            Some(Stage::Waiting(waiting)) => {
                state == State::ForLock && self.lock_waits.due.contains(&(waiting.look_at, key))
            }
            Some(Stage::Called) => {
                matches!(state, State::Queued | State::Waiting(_) | State::Active)
            }
        };
        match agrees {
            true => Ok(()),
            false => Err(format!("its wait for a lock: {wait:?}")),
        }
    }

    /// No client is kept that is not on a list.
    pub(crate) fn check_lock_waits(&self, records: &Records) -> Result<(), String> {
        let is_known = |key: &Key| records.clients.get(*key).is_some();
        let waiting = self.lock_waits.due.len();
        match self.lock_waits.clients.keys().all(is_known)
            && records.clients.count(State::ForLock) == waiting
        {
            true => Ok(()),
            false => Err(format!(
                "{waiting} clients wait for locks, others are listed"
            )),
        }
    }
}

/// The values of the parameters of an execution.
pub(crate) fn values_of<'a>(
    client: &'a Client,
    packet: Packet<'a>,
) -> Option<Vec<ParameterValue<'a>>> {
    if packet.payload.first() != Some(&(Command::StmtExecute as u8)) {
        return None;
    }
    let statement = client.statement(packet.payload)?;
    let list = statement.list(client.has_attributes());
    let types = match parameter_types(packet.payload, list) {
        ParameterTypes::Given(types) => types,
        ParameterTypes::Omitted => TypeList::of(statement.types.as_deref()?),
        ParameterTypes::Nothing => return None,
    };
    statement.long.is_none().then_some(())?;
    parameter_values(packet.payload, list, types)
}
