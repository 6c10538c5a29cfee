//! What a session can ask about its last statement: warnings, errors, row counts (rule 10).
//!
//! All of it lives on the backend that ran the statement, and is somebody else's when the session
//! asks. So it is captured: counts from the answer itself, warnings by reading them back before
//! detaching. Questions are answered from the capture; on the backend they are asked only of one
//! that has nothing of others.

use events::Io;
use membership::Key;
use session::statement::{Flavor, Kind, Statement, Traits};
use wire::{HEADER_LEN, Header, OkPacket, Piece, ResponseWalk, ServerStatus, Told, Translation};

use crate::backend::{Backend, ClientCommand, Purpose, RestorePart};
use crate::dispatch::put_query;
use crate::{Engine, Mail, Turn};

/// Reads what nobody needs, from a table of its own: that empties the list of warnings on both
/// servers. Statements without a table leave it on MariaDB.
const CLEAR: &[u8] = b"SELECT 1 FROM (SELECT 1) AS cleared";

/// Longer texts are not looked at for a question.
const QUESTION_MAX: usize = 64;

/// More than this is not kept for a session.
const CAPTURE_MAX: usize = 64 << 10;

/// Whose warnings a backend has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Warnings {
    /// Nobody's.
    None,
    /// Those of the session that is attached, newer than what was captured for it.
    OfClient,
    /// Those of some session before.
    Foreign,
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
    /// Warnings.
    pub warnings: u16,
}

impl Counts {
    /// An answer is complete, with rows or without; those to further statements may follow.
    pub(crate) fn ended(&mut self, with_rows: bool) {
        self.result_set = with_rows;
        if with_rows {
            self.found = Some(self.sent);
        }
    }
}

/// What a session knows of its last statement.
#[derive(Debug)]
pub(crate) struct Capture {
    /// The answer to SHOW WARNINGS, as the backend gave it; `None` if there was nothing to show.
    warnings: Option<Box<[u8]>>,
    /// `ROW_COUNT()`
    row_count: i64,
    /// `FOUND_ROWS()`; `None` if only the backend knows, to which the session is pinned then.
    found_rows: Option<u64>,
}

/// A question that can be answered from the capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    /// `SHOW WARNINGS`
    Warnings,
    /// `SELECT ROW_COUNT()`, with the name of the column.
    RowCount(Vec<u8>),
    /// `SELECT FOUND_ROWS()`, with the name of the column.
    FoundRows(Vec<u8>),
}

impl Question {
    /// The question that a text asks, and nothing besides.
    pub(crate) fn of(text: &[u8]) -> Option<Self> {
        if text.len() > QUESTION_MAX {
            return None;
        }
        let text = text.trim_ascii();
        let text = text.strip_suffix(b";").unwrap_or(text).trim_ascii_end();
        let (verb, rest) = split_word(text);
        if verb.eq_ignore_ascii_case(b"show") {
            return rest
                .eq_ignore_ascii_case(b"warnings")
                .then_some(Self::Warnings);
        }
        if !verb.eq_ignore_ascii_case(b"select") {
            return None;
        }
        let (call, alias) = split_word(rest);
        let name = match split_word(alias) {
            (b"", b"") => call,
            (word, name) if word.eq_ignore_ascii_case(b"as") && is_plain(name) => name,
            _ => return None,
        };
        if call.eq_ignore_ascii_case(b"row_count()") {
            Some(Self::RowCount(name.to_vec()))
        } else if call.eq_ignore_ascii_case(b"found_rows()") {
            Some(Self::FoundRows(name.to_vec()))
        } else {
            None
        }
    }
}

impl Default for Capture {
    /// What a new session is told: one row found, none changed.
    fn default() -> Self {
        Self {
            warnings: None,
            row_count: 0,
            found_rows: Some(1),
        }
    }
}

impl Capture {
    /// A statement that has the same answer, type and column name for the captured number, and the
    /// value that LAST_INSERT_ID() must have for it. That is the one expression which is of the
    /// type of ROW_COUNT() and has the value one wants.
    pub(crate) fn rewritten(&self, question: &Question) -> Option<(u64, Vec<u8>)> {
        let (value, name) = match question {
            Question::RowCount(name) => (self.row_count as u64, name),
            Question::FoundRows(name) => (self.found_rows?, name),
            Question::Warnings => return None,
        };
        let text = [
            b"SELECT CAST(LAST_INSERT_ID() AS SIGNED) AS `",
            &name[..],
            b"`",
        ]
        .concat();
        Some((value, text))
    }

    /// Takes over what an answer said.
    pub(crate) fn answered(&mut self, command: &ClientCommand, failed: bool) {
        let counts = command.counts;
        self.row_count = match failed || counts.result_set {
            true => -1,
            false => counts.affected as i64,
        };
        // SHOW WARNINGS and its like leave FOUND_ROWS() as it was.
        let asks = command.traits.contains(Traits::READS_DIAGNOSTICS) && command.kind == Kind::Show;
        if let (Some(found), false) = (counts.found, asks) {
            self.found_rows = (!command.counts_all_rows).then_some(found);
        }
        if command.clears_warnings && !failed && counts.warnings == 0 {
            self.warnings = None;
        }
    }
}

/// True if the list of warnings is empty after the statement, unless it gave some itself.
pub(crate) fn clears_warnings(statement: &Statement, text: &[u8], flavor: Flavor) -> bool {
    if statement.traits.contains(Traits::READS_DIAGNOSTICS) {
        return false;
    }
    let has_tables = || {
        text.windows(4)
            .any(|word| word.eq_ignore_ascii_case(b"from"))
    };
    match statement.kind {
        Kind::Select | Kind::Do => flavor == Flavor::MySql || has_tables(),
        Kind::Set | Kind::Use | Kind::Begin | Kind::Commit | Kind::Rollback | Kind::Savepoint => {
            flavor == Flavor::MySql
        }
        _ => true,
    }
}

impl Backend {
    /// Makes sure that a question about the last statement is not answered with somebody else's.
    pub(crate) fn clear_warnings(&mut self, outbox: &mut Vec<u8>) {
        if self.warnings == Warnings::Foreign {
            put_query(outbox, CLEAR);
            self.expect(Purpose::Restore(RestorePart::Warnings));
            self.warnings = Warnings::None;
        }
    }

    /// Notes whose warnings there are after an answer.
    pub(crate) fn note_warnings(&mut self, command: &ClientCommand, failed: bool) {
        if failed || command.counts.warnings > 0 {
            self.warnings = Warnings::OfClient;
        } else if command.clears_warnings {
            self.warnings = Warnings::None;
        }
    }
}

impl Engine {
    /// Asks the backend for the warnings of the session that is about to be detached.
    pub(crate) fn read_warnings<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let Some(backend) = self.pool.get_mut(key) else {
            return;
        };
        backend.warnings = Warnings::Foreign;
        put_query(turn.io.outbox(backend.handle), b"SHOW WARNINGS");
        backend.expect(Purpose::ReadWarnings(Vec::new()));
        self.counters.read_backs += 1;
    }

    /// The backend told the warnings.
    pub(crate) fn learn_warnings(&mut self, key: Key, answer: Vec<u8>) {
        let client = self.pool.get(key).and_then(|backend| backend.client);
        if let Some(client) = client.and_then(|client| self.clients.get_mut(client)) {
            let kept = (answer.len() <= CAPTURE_MAX).then(|| answer.into_boxed_slice());
            client.capture.warnings = kept;
        }
    }

    /// Answers a command from the capture, if that is what it asks for.
    pub(crate) fn answered_from_capture<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        payload: &[u8],
    ) -> bool {
        payload.len() < QUESTION_MAX
            && Question::of(&payload[1..]) == Some(Question::Warnings)
            && self.show_warnings(turn, key)
    }

    /// Answers SHOW WARNINGS from the capture. False if there is none, or the backend at hand
    /// knows better.
    fn show_warnings<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) -> bool {
        let Some(client) = self.clients.get_mut(key) else {
            return false;
        };
        let live = client.backend.and_then(|backend| self.pool.get(backend));
        if live.is_some_and(|backend| backend.warnings == Warnings::OfClient) {
            return false;
        }
        let Some(answer) = &client.capture.warnings else {
            return false;
        };
        let told = Told {
            status: client.status,
            ..Told::default()
        };
        let outbox = turn.io.outbox(client.handle);
        replay(answer, Translation::new(client.dialect(), 0), told, outbox);
        client.capture.row_count = -1;
        self.counters.local_answers += 1;
        true
    }
}

/// Tells a captured answer again. It was complete and right when it was captured.
fn replay(answer: &[u8], mut translation: Translation, mut told: Told<'_>, outbox: &mut Vec<u8>) {
    let mut walk = ResponseWalk::new(true, 0);
    let mut at = 0;
    while let Ok(Some(piece)) = walk.next(&answer[at..]) {
        at += piece.bytes().len();
        told.next_sequence_id = walk.next_sequence_id();
        // The status flags are those of now, not of when it was captured.
        let end = match &piece {
            Piece::RowsEnd(packet) => with_status(packet, told.status),
            _ => Vec::new(),
        };
        let piece = if end.is_empty() {
            piece
        } else {
            Piece::RowsEnd(&end)
        };
        let done = translation.piece(&piece, &told, outbox);
        debug_assert!(done.is_ok(), "a captured answer is malformed");
    }
}

/// The packet that ends rows, with other status flags; empty if it is malformed.
fn with_status(packet: &[u8], status: ServerStatus) -> Vec<u8> {
    let mut end = Vec::new();
    if let (Some(header), Some(payload)) = (Header::parse(packet), packet.get(HEADER_LEN..))
        && let Ok(ok) = OkPacket::parse(payload)
    {
        OkPacket { status, ..ok }.encode(&mut end, header.sequence_id, 0xfe);
    }
    end
}

/// Keeps a piece of the answer to SHOW WARNINGS, within bounds.
pub(crate) fn keep(answer: &mut Vec<u8>, piece: &Piece<'_>) {
    if answer.len() <= CAPTURE_MAX {
        answer.extend_from_slice(piece.bytes());
    }
}

fn split_word(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.iter().position(u8::is_ascii_whitespace);
    let (word, rest) = text.split_at(end.unwrap_or(text.len()));
    (word, rest.trim_ascii_start())
}

fn is_plain(name: &[u8]) -> bool {
    !name.is_empty()
        && name
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_and_what_only_looks_like_one() {
        for (text, expected) in [
            ("SHOW WARNINGS", Some(Question::Warnings)),
            (" show  warnings ; ", Some(Question::Warnings)),
            ("SHOW WARNINGS LIMIT 1", None),
            (
                "SELECT ROW_COUNT()",
                Some(Question::RowCount(b"ROW_COUNT()".to_vec())),
            ),
            (
                "select found_rows() as n",
                Some(Question::FoundRows(b"n".to_vec())),
            ),
            ("select found_rows() n", None),
            ("select found_rows() as `n`", None),
            ("SELECT ROW_COUNT(), 1", None),
            ("SELECT ROW_COUNT()+1", None),
            ("SHOW", None),
            ("", None),
        ] {
            assert_eq!(Question::of(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn a_count_below_zero_is_told_as_one() {
        let capture = Capture {
            row_count: -1,
            ..Capture::default()
        };
        let question = Question::RowCount(b"c".to_vec());
        let (id, text) = capture.rewritten(&question).expect("a count");
        assert_eq!(id as i64, -1);
        assert_eq!(text, b"SELECT CAST(LAST_INSERT_ID() AS SIGNED) AS `c`");
    }
}
