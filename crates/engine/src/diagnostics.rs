//! What a session can ask about its last statement: warnings, errors, row counts (rule 10).
//!
//! All of it lives on the backend that ran the statement, and is somebody else's when the session
//! asks. So it is captured: counts from the answer itself, warnings by reading them back before
//! detaching. Questions are answered from the capture; on the backend they are asked only of one
//! that has nothing of others.

use events::Io;
use membership::Key;
use session::statement::{Kind, Statement, Traits, show_diagnostics};
use wire::{Piece, TextResultSet, Told, Translation};

use crate::aftermath::keeps_found_rows;
use crate::answers::Ending;
use crate::backend::{Backend, ClientCommand, Purpose, RestorePart};
use crate::binary_rows::Form;
use crate::capture::{ReadWarnings, Refusal};
use crate::client::Client;
use crate::{Engine, Mail, Turn};

/// Reads what nobody needs, from a table of its own: that empties the list of warnings on both
/// servers. Statements without a table leave it on MariaDB.
const CLEAR: &[u8] = b"SELECT 1 FROM (SELECT 1) AS cleared";

/// Longer texts are not looked at for a question.
const QUESTION_MAX: usize = 256;

/// Whose warnings a backend has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Warnings {
    /// Nobody's.
    None,
    /// Those of the session that is attached, newer than what was captured for it.
    OfClient,
    /// Those that came on top of what was captured for the session that is attached.
    More,
    /// Those of some session before.
    Foreign,
}

impl Warnings {
    /// True if there are some of the session that is attached which were not captured yet.
    pub(crate) fn are_of_client(self) -> bool {
        matches!(self, Self::OfClient | Self::More)
    }
}

/// What an answer says of its statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Rows that were changed.
    pub affected: u64,
    /// Rows that were sent so far, in the result set at hand.
    pub sent: u64,
    /// Rows of the last complete result set, if there was one.
    pub found: Option<u64>,
    /// The last of the answers was a result set.
    pub result_set: bool,
    /// Warnings, of the last of the answers.
    pub warnings: u16,
    /// One of the answers said that there were warnings.
    pub warned: bool,
    /// The answer is a text, which says nothing of rows.
    pub text: bool,
}

impl Counts {
    /// Takes note of a piece of an answer.
    pub(crate) fn piece(&mut self, piece: &Piece<'_>) {
        match piece {
            Piece::Ok(_) => self.ended(false),
            Piece::RowsEnd(_) => self.ended(true),
            Piece::ColumnCount(_) => {
                *self = Self {
                    found: self.found,
                    warned: self.warned,
                    ..Self::default()
                }
            }
            Piece::Row(_) => self.sent += 1,
            Piece::Text(_) => self.text = true,
            _ => {}
        }
    }

    /// An answer is complete, with rows or without; those to further statements may follow.
    fn ended(&mut self, with_rows: bool) {
        self.result_set = with_rows;
        if with_rows {
            self.found = Some(self.sent);
        }
    }
}

impl Backend {
    /// Makes sure that a question about the last statement is not answered with somebody else's.
    pub(crate) fn clear_warnings(&mut self, outbox: &mut Vec<u8>) {
        if self.warnings == Warnings::Foreign {
            self.put_query(outbox, CLEAR);
            self.expect(Purpose::Restore(RestorePart::Warnings));
            self.warnings = Warnings::None;
        }
    }

    /// If the session asks for warnings that were not read, what gave them runs again. True if so.
    pub(crate) fn repeat(
        &mut self,
        outbox: &mut Vec<u8>,
        (client, statement): (&Client, &Statement),
    ) -> bool {
        let asks = statement.traits.contains(Traits::READS_DIAGNOSTICS);
        let gets = statement.kind == Kind::Diagnostics;
        let Some(text) = client.capture.repeated(gets).filter(|_| asks) else {
            return false;
        };
        if self.warnings == Warnings::OfClient {
            return false;
        }
        self.put_query(outbox, text);
        self.expect(Purpose::Repeat);
        self.warnings = Warnings::OfClient;
        true
    }

    /// Notes whether only this backend knows what FOUND_ROWS() is after an answer.
    pub(crate) fn note_found_rows(&mut self, command: &ClientCommand, failed: bool) {
        // What is explained would count them.
        let explains = command.traits.contains(Traits::KEEPS_FOUND_ROWS);
        let unsent = command.traits.contains(Traits::COUNTS_UNSENT_ROWS) && !explains;
        if unsent && !failed {
            self.counted_rows = true;
        } else if command.counts.found.is_some() && !keeps_found_rows(command) {
            self.counted_rows = false;
        }
    }

    /// Notes whose warnings there are after an answer.
    pub(crate) fn note_warnings(&mut self, command: &ClientCommand, ending: &Ending) {
        let refusal = match ending {
            Ending::Err(error) => Refusal::of(error),
            Ending::Ok => None,
        };
        self.source.refusal = refusal;
        // Which of several statements emptied the list is more than their answers tell.
        let clears = command.clears_warnings && command.kind != Kind::Multiple;
        let warned = command.counts.warned && command.kind != Kind::Use;
        let failed = *ending != Ending::Ok;
        let live = self.warnings == Warnings::OfClient;
        let about_list = command.traits.contains(Traits::READS_DIAGNOSTICS);
        let asked = about_list && command.kind == Kind::Diagnostics;
        let adds =
            about_list && (command.kind == Kind::Admin || failed && command.kind == Kind::Use);
        match refusal.map(|refusal| refusal.code) {
            // The list stays as it is.
            Some(wire::code::NOT_STACKED) if asked => {}
            Some(wire::code::NOT_RESIGNALLED) | None if asked && !live && (warned || failed) => {
                self.warnings = Warnings::More;
            }
            // Also that the command is deprecated.
            _ if adds && !live => self.warnings = Warnings::More,
            _ if adds => {}
            _ if failed || warned => self.warnings = Warnings::OfClient,
            _ if clears => self.warnings = Warnings::None,
            _ => {}
        }
    }
}

impl Engine {
    /// Asks for what FOUND_ROWS() is, before something of our own changes it. False if that is known.
    pub(crate) fn read_found_rows<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
    ) -> bool {
        let Some(backend) = self.pool.get_mut(key) else {
            return false;
        };
        if !std::mem::take(&mut backend.counted_rows) {
            return false;
        }
        // MySQL warns of the call.
        backend.warnings = Warnings::Foreign;
        backend.put_query(
            turn.io.outbox(backend.handle),
            b"SELECT FOUND_ROWS() LIMIT 1",
        );
        backend.expect(Purpose::ReadFoundRows(TextResultSet::default()));
        self.counters.read_backs += 1;
        true
    }

    /// The backend told the number.
    pub(crate) fn learn_found_rows(&mut self, key: Key, rows: &TextResultSet) {
        let client = self.pool.get(key).and_then(|backend| backend.client);
        let digits = rows
            .first(0)
            .and_then(|value| std::str::from_utf8(value).ok());
        let found = digits.and_then(|digits| digits.parse().ok());
        if let (Some(client), Some(found)) = (
            client.and_then(|client| self.clients.get_mut(client)),
            found,
        ) {
            client.capture.found_rows = Some(found);
        }
    }

    /// Asks the backend for the warnings of the session that is about to be detached.
    pub(crate) fn read_warnings<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let Some(backend) = self.pool.get_mut(key) else {
            return;
        };
        let adds = backend.warnings == Warnings::More;
        backend.warnings = Warnings::Foreign;
        backend.put_query(turn.io.outbox(backend.handle), b"SHOW WARNINGS");
        let read = ReadWarnings::new(adds, std::mem::take(&mut backend.source));
        backend.expect(Purpose::ReadWarnings(Box::new(read)));
        self.counters.read_backs += 1;
    }

    /// The backend told the warnings.
    pub(crate) fn learn_warnings(&mut self, key: Key, read: ReadWarnings) {
        let client = self.pool.get(key).and_then(|backend| backend.client);
        if let Some(client) = client.and_then(|client| self.clients.get_mut(client)) {
            let results = client
                .session
                .charset
                .as_ref()
                .map(|charset| &charset.results);
            let is_utf8 = |name: &Option<Box<[u8]>>| {
                name.as_ref().is_none_or(|name| name.starts_with(b"utf8"))
            };
            let is_utf8 = results.is_some_and(is_utf8);
            client.capture.learn(read, is_utf8);
        }
    }

    /// Answers SHOW WARNINGS and SHOW ERRORS from the capture. False if the command is another, there
    /// is nothing to show, or the backend at hand knows better.
    pub(crate) fn answered_from_capture<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        (text, form): (&[u8], Form),
    ) -> bool {
        if !may_be_show(text) {
            return false;
        }
        let (Some(client), Some(facts)) = (self.clients.get_mut(key), &self.facts) else {
            return false;
        };
        let live = client.backend.and_then(|backend| self.pool.get(backend));
        if live.is_some_and(|backend| backend.warnings == Warnings::OfClient) {
            return false;
        }
        let asked = facts
            .dialect(&client.session)
            .and_then(|dialect| show_diagnostics(text, &dialect));
        let (Some(asked), Some(conditions)) = (asked, client.capture.conditions()) else {
            return false;
        };
        let told = Told {
            status: client.status,
            ..Told::default()
        };
        let outbox = turn.io.outbox(client.handle);
        let translation = Translation::new(client.dialect(), 0);
        conditions.tell((asked, form), (translation, told), outbox);
        client.capture.row_count = -1;
        self.counters.local_answers += 1;
        true
    }
}

/// True for texts that may ask for warnings, so that the others are not looked at twice.
fn may_be_show(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    let begins = match text.first() {
        Some(b's' | b'S') => text
            .get(..4)
            .is_some_and(|word| word.eq_ignore_ascii_case(b"show")),
        first => matches!(first, Some(b'/' | b'#' | b'-')),
    };
    begins && text.len() <= QUESTION_MAX
}
