//! Plain reads whose backend was lost before it answered: run once more, elsewhere (rule 6).
//!
//! A read is plain by its text only as long as the tables it names are no views: a view can call a
//! function that writes. The next backend is asked for that first.

use admission::Permit;
use events::Io;
use membership::Key;
use session::statement::{Statement, Traits, names};
use wire::{Command, ServerStatus, TextResultSet};

use crate::ask::Ask;
use crate::backend::{Backend, Due, Purpose};
use crate::client::Client;
use crate::commands::Packet;
use crate::errors::ClientError;
use crate::known::Known;
use crate::pair::Pair;
use crate::prepared::named::executes;
use crate::report::counters::DisconnectReason;
use crate::{Engine, Mail, Turn};

/// Longer commands, and those that name more, are not run again.
pub(crate) const COMMAND_MAX: usize = 16 << 10;
const NAMES_MAX: usize = 64;

/// How often a client's command was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Retry {
    /// Once at most.
    #[default]
    Fresh,
    /// It will be sent for the second time, if it names no view.
    Unchecked,
    /// Twice: that is all it gets.
    Resent,
    /// Twice, because what was before it in its lane took too long.
    Moved,
}

impl Backend {
    /// Keeps a command as long as it may be sent again, should this backend be lost; not one that is `rewritten`.
    pub(crate) fn keep_for_retry(
        &mut self,
        (client, statement): (&Client, &Statement),
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

impl Engine {
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

impl Known {
    /// How many views are among the names in what a command of a client runs; `None` if that cannot be asked.
    pub(crate) fn question_about_names(
        &mut self,
        client: &Client,
        payload: &[u8],
    ) -> Option<Vec<u8>> {
        let (text, session) = match client.statement(payload).filter(|_| executes(payload)) {
            Some(statement) => {
                let template = &*statement.template;
                let bound = template.binding.over(&client.session, &mut self.interner);
                (&template.text[..], bound)
            }
            None => (client.text(payload), client.session.clone()),
        };
        question(&names(text, &self.dialect(&session)?)?)
    }
}

impl Engine {
    /// The backend said whether there are views among the names.
    pub(crate) fn learn_views<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        rows: Option<&TextResultSet>,
    ) {
        let client = self.pool.get(key).and_then(|backend| backend.client);
        let awaited = self
            .pool
            .get(key)
            .is_some_and(|backend| backend.due.contains(Due::COMMAND));
        let Some(client) = client.filter(|_| awaited) else {
            return;
        };
        if rows.and_then(|rows| rows.first(0)) != Some(b"0") {
            let error = ClientError::server_shutdown();
            return self.fail(turn, client, &error, DisconnectReason::BackendLost);
        }
        if let Some(client) = self.clients.get_mut(client) {
            client.retry = Retry::Resent;
        }
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

/// Counts the views among `names`; `None` if a name cannot be written as a literal in every
/// `sql_mode`, or there are too many.
fn question(names: &[&[u8]]) -> Option<Vec<u8>> {
    let plain = |name: &&[u8]| {
        name.iter()
            .all(|&byte| byte >= 0x80 || byte.is_ascii_alphanumeric() || b"_$".contains(&byte))
    };
    if names.len() > NAMES_MAX || !names.iter().all(plain) {
        return None;
    }
    let mut text = b"SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_TYPE='VIEW' \
                     AND TABLE_NAME IN ('"
        .to_vec();
    text.extend_from_slice(&names.join(&b"','"[..]));
    // A session may want to see no rows (`sql_select_limit`).
    text.extend_from_slice(b"') LIMIT 1");
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_asked_for_as_literals() {
        let text = question(&[b"SELECT", b"t"]).map(String::from_utf8);
        let expected = "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_TYPE='VIEW' \
                        AND TABLE_NAME IN ('SELECT','t') LIMIT 1";
        assert_eq!(text, Some(Ok(expected.to_owned())));
        assert_eq!(question(&[b"a'b"]), None);
        assert_eq!(question(&[&b"t"[..]; 65]), None);
    }
}
