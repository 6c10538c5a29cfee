//! Statements that are prepared on a backend because a session wants to execute them there: in the state in
//! which the session prepared them (rule 11), and awaited before anything is executed (rule 5).
//!
//! MariaDB would take an execution in the same write, of "the statement that was prepared last". But where
//! preparing fails for want of room (ERR 1461), that is another statement, which it runs.

use std::sync::Arc;

use carry::outbound::put_command;
use carry::packet::Packet;
use carry::prepared::Preparing;
use carry::prepared::named::executes;
use carry::prepared::templates::Template;
use events::Io;
use membership::Key;
use wire::{Command, ResponseWalk, Shape};

use crate::follow::prepared::named::need;
use crate::record::backend::{Backend, Due, Exchange, Purpose, Step};
use crate::record::records::Records;
use crate::record::shared::Mail;
use crate::record::turn::Turn;

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

impl Records {
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
}
