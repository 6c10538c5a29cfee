//! Reads that may run once more: what is kept for that, and taken back.

use admission::Permit;
use carry::packet::Packet;
use events::Io;
use membership::Key;
use session::statement::{Statement, Traits};
use wire::{Command, ServerStatus};

use crate::record::ask::Ask;
use crate::record::backend::{Backend, Due, Purpose};
use crate::record::client::Client;
use crate::record::pair::Pair;
use crate::record::records::Records;
use crate::record::retry::{COMMAND_MAX, Retry};
use crate::record::shared::Mail;
use crate::record::turn::Turn;

impl Backend {
    /// Keeps a command as long as it may be sent again, should this backend be lost; not one that is `rewritten`.
    pub(crate) fn keep_for_retry(
        &mut self,
        client: &Client,
        statement: &Statement,
        packet: Packet<'_>,
        rewritten: bool,
    ) {
        self.replay.clear();
        let within = !client.status.contains(ServerStatus::AUTOCOMMIT) || client.holds_backend();
        if !rewritten
            && statement.traits.contains(Traits::PURE_READ)
            && !within
            && client.retry == Retry::Fresh
            && client.login.is_none()
            && runs_once(client, packet.payload)
            && packet.raw.len() <= COMMAND_MAX
        {
            self.replay.extend_from_slice(packet.raw);
        }
    }

    /// The command that may be sent again, and its permit: nothing of its answer was told.
    pub(crate) fn take_replay(&mut self) -> Option<(Vec<u8>, Permit)> {
        let command =
            self.exchanges
                .iter_mut()
                .find_map(|exchange| match &mut exchange.purpose {
                    Purpose::Command(command) if !command.answered => Some(command),
                    _ => None,
                })?;
        if self.replay.is_empty() {
            return None;
        }
        let permit = std::mem::replace(&mut command.permit, Permit::NONE);
        Some((std::mem::take(&mut self.replay), permit))
    }
}

impl Records {
    /// Puts a command that was lost with its backend back to the front of the client's inbox.
    pub(crate) fn take_back(&mut self, key: Key, mut command: Vec<u8>) {
        let Some(client) = self.clients.get_mut(key) else {
            return;
        };
        client.retry = Retry::Unchecked;
        command.append(&mut client.inbox);
        client.inbox = command;
        self.counters.retries += 1;
    }

    /// Asks the backend whether a command that is to be sent again names a view. False if none is
    /// to be.
    pub(crate) fn ask_for_views<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        packet: Packet<'_>,
    ) -> bool {
        let Some(Pair {
            client,
            backend,
            known,
            ..
        }) = self.attached(key)
        else {
            return false;
        };
        if client.retry != Retry::Unchecked {
            return false;
        }
        let question = known.question_about_names(client, packet.payload);
        // What cannot be asked is answered like a view.
        let question = question.unwrap_or_else(|| b"SELECT 1".to_vec());
        backend.ask(turn.io.outbox(backend.handle), Ask::Views, &question);
        backend.due |= Due::COMMAND;
        true
    }
}

/// True for a command that can be sent again as it came: a text, or an execution without long data, which is
/// used up.
fn runs_once(client: &Client, payload: &[u8]) -> bool {
    let execution = Some(&(Command::StmtExecute as u8));
    match payload.first() {
        first if first == execution => {
            let statement = client.statement(payload);
            statement.is_some_and(|statement| statement.long.is_none())
        }
        first => first == Some(&(Command::Query as u8)),
    }
}
