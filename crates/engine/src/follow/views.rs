//! Reads of views: what a view may see of its session, and asking whether a name is a view's.

use carry::conditions::may_name_tables;
use carry::digests::{Digest, Digests};
use carry::packet::{Packet, mentions};
use carry::prepared::named::executes;
use carry::tables::ReadTables;
use carry::views::Unsure;
use events::Timestamp;
use session::statement::{Kind, Statement, Traits, names};
use wire::{ServerStatus, whole_packet};

use crate::record::ask::Ask;
use crate::record::backend::Backend;
use crate::record::carried::Carried;
use crate::record::client::Client;
use crate::record::known::Known;
use crate::record::pair::Pair;
use crate::record::retry::COMMAND_MAX;

const NAMES_MAX: usize = 64;

/// Whether the read that was answered last names a view: asked before it may share a lane.
pub(crate) static TABLES: Carried = Carried {
    ask: |pair, outbox, now| pair.ask_for_tables(outbox, now),
    ..Carried::NOTHING
};

/// Whether a read names a view for which something was brought that only a view could see.
pub(crate) static VIEWS: Carried = Carried {
    ask: |pair, outbox, now| {
        let digests = &mut pair.known.digests;
        pair.backend.ask_for_unsure(outbox, digests, now)
    },
    leave: |pair| pair.backend.unsure.is_some(),
    ..Carried::NOTHING
};

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

    /// Asks whether the read that the backend answered last names a view. False if that cannot be
    /// asked: then it never shares a lane.
    fn ask_for_tables(&mut self, outbox: &mut Vec<u8>, now: Timestamp) -> bool {
        let replay = std::mem::take(&mut self.backend.replay);
        let packet = whole_packet(&replay).ok();
        let question = packet.and_then(|packet| {
            let payload = packet.payload.bytes();
            self.known.question_about_names(self.client, payload)
        });
        let (digest, epoch) = (self.client.digest, self.known.digests.epoch());
        let Some(question) = question else {
            let digests = &mut self.known.digests;
            digests.learn_tables(digest, (false, epoch), now);
            return false;
        };
        self.backend
            .put_tables_question(outbox, digest, epoch, &question);
        true
    }
}

impl Backend {
    /// Asks about the tables of a read. False if nothing is to be asked.
    fn ask_for_unsure(
        &mut self,
        outbox: &mut Vec<u8>,
        digests: &mut Digests,
        now: Timestamp,
    ) -> bool {
        let may_ask = self.status.contains(ServerStatus::AUTOCOMMIT);
        match self.unsure.take() {
            Some(unsure) if may_ask => {
                digests.asked(now);
                self.put_tables_question(outbox, unsure.digest, digests.epoch(), &unsure.question);
                true
            }
            _ => false,
        }
    }

    /// Sends the question about the tables of reads with a digest; `epoch`: what is known of tables now.
    fn put_tables_question(
        &mut self,
        outbox: &mut Vec<u8>,
        digest: Digest,
        epoch: u32,
        question: &[u8],
    ) {
        let read = Box::new(ReadTables { digest, epoch });
        self.ask(outbox, Ask::Tables(read), question);
    }
}

/// True if a text may list variables of the session, LAST_INSERT_ID() among them: SHOW VARIABLES, and the server's own
/// views.
fn lists_variables(text: &[u8]) -> bool {
    mentions(text, b"variables")
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

/// Counts the views among `names`; `None` if a name cannot be written as a literal in every
/// `sql_mode`, or there are too many.
pub(crate) fn question(names: &[&[u8]]) -> Option<Vec<u8>> {
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
