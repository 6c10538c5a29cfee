//! Statements that are prepared on a backend because a session wants to execute them there: in the state in
//! which the session prepared them (rule 11), and awaited before anything is executed (rule 5).
//!
//! MariaDB would take an execution in the same write, of "the statement that was prepared last". But where
//! preparing fails for want of room (ERR 1461), that is another statement, which it runs.

use std::sync::Arc;

use events::Io;
use membership::Key;
use wire::{Capabilities, Command, ErrPacket, ResponseWalk, Shape, code};

use crate::backend::Step;
use crate::backend::{Backend, Due, Exchange, Purpose};
use crate::commands::Packet;
use crate::commands::dispatch::put_command;
use crate::prepared::Preparing;
use crate::prepared::named::{executes, need};
use crate::prepared::templates::Template;
use crate::{Engine, Mail, Turn};

impl Backend {
    /// True if all that is under way is what a session needs before its command: what comes of it is known
    /// of the backend, whoever it was for.
    pub(crate) fn brings_only(&self) -> bool {
        let brings = |exchange: &Exchange| {
            matches!(
                exchange.purpose,
                Purpose::Own(Step::Prepare(_) | Step::Restore(_))
            )
        };
        !self.exchanges.is_empty() && self.exchanges.iter().all(brings)
    }
}

impl Engine {
    /// The statement that a command executes, if the client's backend must prepare it first.
    pub(crate) fn missing(&self, client: Key, packet: Packet<'_>) -> Option<Arc<Template>> {
        if !executes(packet.payload) {
            return None;
        }
        let client = self.clients.get(client)?;
        let statement = client.statement(packet.payload)?;
        let backend = self.pool.get(client.backend?)?;
        let has = backend.statements.has(
            &need((client, statement), packet.payload),
            self.known.flavor(),
        );
        (!has).then(|| statement.template.clone())
    }

    /// Has a backend prepare a statement, which is in the state for it. The client's command waits.
    pub(crate) fn prepare_on_demand<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        backend: Key,
        template: Arc<Template>,
    ) {
        let Some(backend) = self.pool.get_mut(backend) else {
            return;
        };
        let outbox = turn.io.outbox(backend.handle);
        put_command(outbox, Command::StmtPrepare, &template.text);
        let payload = template.text.len() + 1;
        let sequence_id = (payload / wire::MAX_PAYLOAD) as u8;
        let walk = ResponseWalk::shaped(Shape::Prepare, true, sequence_id);
        let preparing = Box::new(Preparing::new(template));
        backend.owe(walk, Step::Prepare(preparing).into());
        backend.due |= Due::COMMAND;
        self.counters.prepares_on_demand += 1;
    }

    /// A backend has prepared a statement.
    pub(crate) fn prepared_on(&mut self, backend: Key, preparing: &Preparing) {
        let max = self.settings.max_prepared_statements;
        let (Some(backend), Some(told)) = (self.pool.get_mut(backend), preparing.told) else {
            return;
        };
        let evicted = backend.statements.add(&preparing.template, told.id, max);
        self.counters.prepares_evicted += evicted as u64;
    }

    /// A backend could not prepare a statement: that is the answer to the command that executes it. If it was
    /// for want of room, what else it has is closed first.
    pub(crate) fn prepare_failed<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        error: &[u8],
    ) {
        self.counters.prepare_errors += 1;
        let Ok(error) = ErrPacket::parse(error) else {
            return;
        };
        let Some(backend) = self.pool.get_mut(key) else {
            return;
        };
        // A transaction may be gone.
        backend.due |= Due::PING;
        let awaited = backend.due.contains(Due::COMMAND);
        let Some(client_key) = backend.client.filter(|_| awaited) else {
            return;
        };
        if error.code == code::TOO_MANY_STATEMENTS && backend.statements.close_shared() {
            backend
                .statements
                .put_closes(turn.io.outbox(backend.handle));
            if let Some(client) = self.clients.get_mut(client_key) {
                client.capture.conditions.lose();
            }
            return;
        }
        backend.due -= Due::COMMAND;
        if let Some(client) = self.clients.get_mut(client_key) {
            client.capture.failed();
            let outbox = turn.io.outbox(client.handle);
            error.encode(outbox, client.answer_begins, Capabilities::PROTOCOL_41);
        }
        self.drop_first_command(client_key);
    }
}
