//! What a view can see of the session that reads it, although the text does not mention it: LAST_INSERT_ID() and
//! user variables. They are brought to the backend of a read unless its tables are known to be no views. What is not
//! known is asked when the session leaves the backend, now and then, so that nothing is brought in vain for long.

use events::{Io, Timestamp};
use membership::Key;
use session::statement::{Kind, Statement, Traits};
use wire::ServerStatus;

use crate::commands::{Packet, mentions};
use crate::conditions::may_name_tables;
use crate::endings::retry::COMMAND_MAX;
use crate::lanes::digests::Digest;
use crate::prepared::named::executes;
use crate::{Engine, Mail, Turn};

/// A read for which something was brought that only a view could see.
pub(crate) struct Unsure {
    digest: Digest,
    /// How many views there are among the names in its text.
    question: Vec<u8>,
}

impl Engine {
    /// True if a statement may read a view, as far as is known.
    pub(crate) fn may_read_view(
        &mut self,
        now: Timestamp,
        key: Key,
        (packet, statement): (Packet<'_>, &Statement),
    ) -> bool {
        if statement.traits.contains(Traits::RUNS_PREPARED_TEXT) {
            return true;
        }
        let Some(client) = self.clients.get(key) else {
            return false;
        };
        let prepared = client.statement(packet.payload);
        let text = match prepared.filter(|_| executes(packet.payload)) {
            Some(prepared) => &prepared.template.text,
            None if packet.is_statement() => packet.text(),
            // What is only prepared reads nothing.
            None => return false,
        };
        match statement.kind {
            Kind::Show | Kind::Select if lists_variables(text) => true,
            Kind::Select
                if statement.traits.contains(Traits::HAS_FROM) || may_name_tables(text) =>
            {
                !self.reads_tables_only(now, key, (packet, statement))
            }
            Kind::Do | Kind::Set | Kind::Explain | Kind::Ddl => may_name_tables(text),
            _ => false,
        }
    }

    /// True if a SELECT is known to read base tables only. If that is not known, it is asked about.
    pub(crate) fn reads_tables_only(
        &mut self,
        now: Timestamp,
        key: Key,
        (packet, statement): (Packet<'_>, &Statement),
    ) -> bool {
        let unseen = statement.traits.contains(Traits::RUNS_PREPARED_TEXT);
        let Some(client) = self.clients.get(key).filter(|_| !unseen) else {
            return false;
        };
        // Without autocommit reading would begin a transaction.
        let may_ask = client.status.contains(ServerStatus::AUTOCOMMIT);
        let digest = self.digest_of_tables(client, packet, statement);
        let known = self.digests.is_base(digest, now);
        if !known && may_ask && self.digests.asks(digest, now) {
            self.ask_later(now, (key, packet), digest);
        }
        known
    }

    /// The tables of a read are asked about when its session leaves the backend.
    fn ask_later(&mut self, now: Timestamp, (key, packet): (Key, Packet<'_>), digest: Digest) {
        let question = match packet.raw.len() <= COMMAND_MAX {
            true => self.question_about_names(key, packet.payload),
            false => None,
        };
        let backend = self.clients.get(key).and_then(|client| client.backend);
        let backend = backend.and_then(|backend| self.pool.get_mut(backend));
        match (backend, question) {
            (Some(backend), Some(question)) => {
                backend.unsure = Some(Box::new(Unsure { digest, question }));
            }
            (_, None) => {
                let never = (false, self.digests.epoch());
                self.digests.learn_tables(digest, never, now);
            }
            (None, Some(_)) => {}
        }
    }

    /// Asks about the tables of a read. False if nothing is to be asked.
    pub(crate) fn ask_for_unsure<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) -> bool {
        let Some(backend) = self.pool.get_mut(key) else {
            return false;
        };
        let may_ask = backend.status.contains(ServerStatus::AUTOCOMMIT);
        let Some(unsure) = backend.unsure.take().filter(|_| may_ask) else {
            return false;
        };
        self.digests.asked(turn.now);
        let Unsure { digest, question } = *unsure;
        self.put_tables_question(turn, key, (digest, &question));
        self.counters.read_backs += 1;
        true
    }
}

/// True if a text may list variables of the session, LAST_INSERT_ID() among them: SHOW VARIABLES, and the server's own
/// views.
fn lists_variables(text: &[u8]) -> bool {
    mentions(text, b"variables")
}
