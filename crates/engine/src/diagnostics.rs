//! What a session can ask about its last statement: warnings, errors, row counts (rule 10).
//!
//! All of it lives on the backend that ran the statement, and is somebody else's when the session
//! asks. So it is captured: counts from the answer itself, warnings by reading them back before
//! detaching. Questions are answered from the capture; on the backend they are asked only of one
//! that has nothing of others.

use events::Io;
use membership::Key;
use session::statement::{Diagnostics, Kind, Known, Statement, Traits, show_diagnostics};
use wire::{
    HEADER_LEN, Header, OkPacket, Piece, ResponseWalk, ServerStatus, TextResultSet, Told,
    Translation,
};

use crate::aftermath::keeps_found_rows;
use crate::backend::{Backend, ClientCommand, Purpose, RestorePart};
use crate::client::Client;
use crate::dispatch::put_query;
use crate::{Engine, Mail, Turn};

/// Reads what nobody needs, from a table of its own: that empties the list of warnings on both
/// servers. Statements without a table leave it on MariaDB.
const CLEAR: &[u8] = b"SELECT 1 FROM (SELECT 1) AS cleared";

/// Longer texts are not looked at for a question.
const QUESTION_MAX: usize = 256;

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
    /// Warnings, of the last of the answers.
    pub warnings: u16,
    /// One of the answers said that there were warnings.
    pub warned: bool,
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

/// What a session knows of its last statement.
#[derive(Debug)]
pub(crate) struct Capture {
    /// The answer to SHOW WARNINGS, as the backend gave it; `None` if there was nothing to show.
    warnings: Option<Box<[u8]>>,
    /// `@@warning_count`, which may be more than are shown.
    warning_count: u16,
    /// `ROW_COUNT()`
    row_count: i64,
    /// The text of the last statement, if its warnings were not read: it was a plain read, and runs
    /// again before somebody asks for them (rule 10).
    repeat: Option<Box<Repeat>>,
    /// `FOUND_ROWS()`, as far as a backend does not hold a newer one for it.
    pub(crate) found_rows: u64,
}

/// A statement that may have to run again.
#[derive(Debug)]
struct Repeat {
    text: Box<[u8]>,
}

impl Default for Capture {
    /// What a new session is told: one row found, none changed.
    fn default() -> Self {
        Self {
            warnings: None,
            warning_count: 0,
            row_count: 0,
            repeat: None,
            found_rows: 1,
        }
    }
}

impl Capture {
    /// The captured number, as a number of 64 bits.
    pub(crate) fn count(&self, known: Known) -> Option<i64> {
        match known {
            Known::RowCount => Some(self.row_count),
            Known::FoundRows => Some(self.found_rows as i64),
            Known::WarningCount => Some(self.told(false).max(i64::from(self.warning_count))),
            Known::ErrorCount => Some(self.told(true)),
            Known::ConnectionId
            | Known::Socket
            | Known::Port
            | Known::Hostname
            | Known::BindAddress => None,
        }
    }

    /// Whether there is something to show.
    pub(crate) fn has_warnings(&self) -> bool {
        self.warnings.is_some()
    }

    /// How many rows SHOW WARNINGS or SHOW ERRORS has.
    fn told(&self, errors: bool) -> i64 {
        let mut rows = 0;
        each_packet(self.warnings.as_deref().unwrap_or_default(), |piece| {
            rows += i64::from(matches!(piece, Piece::Row(_)) && (!errors || is_error(piece)));
        });
        rows
    }

    /// The warnings of the command at the front of `inbox`, a COM_QUERY, were not read.
    pub(crate) fn repeatable(&mut self, inbox: &[u8]) {
        let packet = wire::whole_packet(inbox).ok();
        let text = packet
            .as_ref()
            .and_then(|packet| packet.payload.bytes().get(1..));
        let repeat = |text: &[u8]| Box::new(Repeat { text: text.into() });
        (self.repeat, self.warnings) = (text.map(repeat), None);
    }

    /// Takes over what an answer said.
    pub(crate) fn answered(&mut self, command: &ClientCommand, failed: bool) {
        let counts = command.counts;
        if failed || !command.prepares() {
            self.row_count = match failed || counts.result_set {
                true => -1,
                false => counts.affected as i64,
            };
        }
        if let (Some(found), false) = (counts.found, keeps_found_rows(command)) {
            self.found_rows = found;
        }
        if failed || counts.warnings > 0 && command.kind != Kind::Use {
            self.warning_count = counts.warnings.max(u16::from(failed));
            self.repeat = None;
        } else if command.clears_warnings {
            self.warnings = None;
            self.repeat = None;
            self.warning_count = 0;
        }
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

    /// If the session asks for warnings that were not read, what gave them runs again. True if so.
    pub(crate) fn repeat(
        &mut self,
        outbox: &mut Vec<u8>,
        (client, statement): (&Client, &Statement),
    ) -> bool {
        let asks = statement.traits.contains(Traits::READS_DIAGNOSTICS);
        let Some(repeat) = client.capture.repeat.as_ref().filter(|_| asks) else {
            return false;
        };
        if self.warnings == Warnings::OfClient {
            return false;
        }
        put_query(outbox, &repeat.text);
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
    pub(crate) fn note_warnings(&mut self, command: &ClientCommand, failed: bool) {
        // Which of several statements emptied the list is more than their answers tell.
        let clears = command.clears_warnings && command.kind != Kind::Multiple;
        let warned = command.counts.warned && command.kind != Kind::Use;
        if failed || warned {
            self.warnings = Warnings::OfClient;
        } else if clears {
            self.warnings = Warnings::None;
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
        put_query(
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
            client.capture.found_rows = found;
        }
    }

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

    /// True for GET DIAGNOSTICS about a statement that ran on another backend: there is no bringing a
    /// condition across, and none would be a wrong answer.
    pub(crate) fn asks_in_vain(&self, client: Key, statement: &Statement) -> bool {
        if statement.kind != Kind::Diagnostics
            || !statement.traits.contains(Traits::READS_DIAGNOSTICS)
        {
            return false;
        }
        self.clients.get(client).is_some_and(|client| {
            let backend = client.backend.and_then(|backend| self.pool.get(backend));
            let live = backend.is_some_and(|backend| backend.warnings == Warnings::OfClient);
            !live && client.capture.has_warnings()
        })
    }

    /// The backend told the warnings.
    pub(crate) fn learn_warnings(&mut self, key: Key, answer: Vec<u8>) {
        let client = self.pool.get(key).and_then(|backend| backend.client);
        if let Some(client) = client.and_then(|client| self.clients.get_mut(client)) {
            let kept = (answer.len() <= CAPTURE_MAX).then(|| answer.into_boxed_slice());
            client.capture.warnings = kept;
            client.capture.repeat = None;
        }
    }

    /// Answers SHOW WARNINGS and SHOW ERRORS from the capture. False if the command is another, there
    /// is nothing to show, or the backend at hand knows better.
    pub(crate) fn answered_from_capture<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        payload: &[u8],
    ) -> bool {
        let text = &payload[1..];
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
        let (Some(asked), Some(answer)) = (asked, &client.capture.warnings) else {
            return false;
        };
        let answer = selected(answer, asked);
        let told = Told {
            status: client.status,
            ..Told::default()
        };
        let outbox = turn.io.outbox(client.handle);
        replay(&answer, Translation::new(client.dialect(), 0), told, outbox);
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

/// The packets of a captured answer. It was complete and right when it was captured.
fn each_packet(answer: &[u8], mut each: impl FnMut(&Piece<'_>)) {
    let mut walk = ResponseWalk::new(true, 0);
    let mut at = 0;
    while let Ok(Some(piece)) = walk.next(&answer[at..]) {
        at += piece.bytes().len();
        each(&piece);
    }
}

/// True if a row of SHOW WARNINGS is an error.
fn is_error(row: &Piece<'_>) -> bool {
    row.payload().starts_with(b"\x05Error")
}

/// The captured answer with the rows that are asked for.
fn selected(answer: &[u8], asked: Diagnostics) -> Vec<u8> {
    let mut out = Vec::with_capacity(answer.len());
    let (mut rows, mut sequence_id) = (0, 1);
    let end = asked.offset.saturating_add(asked.rows);
    each_packet(answer, |piece| {
        if matches!(piece, Piece::Row(_)) {
            if asked.errors && !is_error(piece) {
                return;
            }
            rows += 1;
            if rows <= asked.offset || rows > end {
                return;
            }
        }
        let Some((header, payload)) = piece.bytes().split_at_checked(HEADER_LEN) else {
            return;
        };
        out.extend_from_slice(&header[..HEADER_LEN - 1]);
        out.push(sequence_id);
        out.extend_from_slice(payload);
        sequence_id = sequence_id.wrapping_add(1);
    });
    out
}

/// Tells a captured answer again.
fn replay(answer: &[u8], mut translation: Translation, mut told: Told<'_>, outbox: &mut Vec<u8>) {
    each_packet(answer, |piece| {
        if let Some(header) = Header::parse(piece.bytes()) {
            told.next_sequence_id = header.sequence_id.wrapping_add(1);
        }
        // The status flags are those of now, not of when it was captured.
        let end = match piece {
            Piece::RowsEnd(packet) => with_status(packet, told.status),
            _ => Vec::new(),
        };
        let done = match end.is_empty() {
            true => translation.piece(piece, &told, outbox),
            false => translation.piece(&Piece::RowsEnd(&end), &told, outbox),
        };
        debug_assert!(done.is_ok(), "a captured answer is malformed");
    });
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
