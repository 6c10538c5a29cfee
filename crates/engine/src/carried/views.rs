//! What a view can see of the session that reads it, although the text does not mention it: LAST_INSERT_ID() and
//! user variables. They are brought to the backend of a read unless its tables are known to be no views. What is not
//! known is asked when the session leaves the backend, now and then, so that nothing is brought in vain for long.

use events::Timestamp;
use session::statement::{Kind, Statement, Traits};
use wire::ServerStatus;

use crate::backend::Backend;
use crate::commands::{Packet, mentions};
use crate::conditions::may_name_tables;
use crate::endings::retry::COMMAND_MAX;
use crate::lanes::digests::{Digest, Digests};
use crate::pair::Pair;
use crate::prepared::named::executes;

/// A read for which something was brought that only a view could see.
pub(crate) struct Unsure {
    digest: Digest,
    /// How many views there are among the names in its text.
    question: Vec<u8>,
}

impl Pair<'_> {
    /// True if a statement may read a view, as far as is known.
    pub(crate) fn may_read_view(
        &mut self,
        now: Timestamp,
        packet: Packet<'_>,
        statement: &Statement,
    ) -> bool {
        if statement.traits.contains(Traits::RUNS_PREPARED_TEXT) {
            return true;
        }
        let prepared = self.client.statement(packet.payload);
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
                !self.reads_tables_only(now, packet, statement)
            }
            Kind::Do | Kind::Set | Kind::Explain | Kind::Ddl => may_name_tables(text),
            _ => false,
        }
    }

    /// True if a SELECT is known to read base tables only. If that is not known, it is asked about.
    pub(crate) fn reads_tables_only(
        &mut self,
        now: Timestamp,
        packet: Packet<'_>,
        statement: &Statement,
    ) -> bool {
        if statement.traits.contains(Traits::RUNS_PREPARED_TEXT) {
            return false;
        }
        // Without autocommit reading would begin a transaction.
        let may_ask = self.client.status.contains(ServerStatus::AUTOCOMMIT);
        let digest = self.known.digest_of_tables(self.client, packet, statement);
        let digests = &mut self.known.digests;
        let known = digests.is_base(digest, now);
        if !known && may_ask && digests.asks(digest, now) {
            self.ask_later(now, packet, digest);
        }
        known
    }

    /// The tables of a read are asked about when its session leaves the backend.
    fn ask_later(&mut self, now: Timestamp, packet: Packet<'_>, digest: Digest) {
        let question = match packet.raw.len() <= COMMAND_MAX {
            true => self.known.question_about_names(self.client, packet.payload),
            false => None,
        };
        match question {
            Some(question) => self.backend.unsure = Some(Box::new(Unsure { digest, question })),
            None => {
                let never = (false, self.known.digests.epoch());
                self.known.digests.learn_tables(digest, never, now);
            }
        }
    }
}

impl Backend {
    /// Asks about the tables of a read. False if nothing is to be asked.
    pub(crate) fn ask_for_unsure(
        &mut self,
        outbox: &mut Vec<u8>,
        digests: &mut Digests,
        now: Timestamp,
    ) -> bool {
        let may_ask = self.status.contains(ServerStatus::AUTOCOMMIT);
        match self.unsure.take() {
            Some(unsure) if may_ask => {
                digests.asked(now);
                self.put_tables_question(
                    outbox,
                    (unsure.digest, digests.epoch()),
                    &unsure.question,
                );
                true
            }
            _ => false,
        }
    }
}

/// True if a text may list variables of the session, LAST_INSERT_ID() among them: SHOW VARIABLES, and the server's own
/// views.
fn lists_variables(text: &[u8]) -> bool {
    mentions(text, b"variables")
}
