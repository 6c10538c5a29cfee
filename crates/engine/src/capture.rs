//! What is kept of a session's last statement: its conditions as SHOW WARNINGS told them, and its counts.
//! Owns the form in which that is kept and told again; when it is asked for, and whom, is decided in
//! `diagnostics` and `conditions`.

use session::statement::{Diagnostics, Flavor, Kind, Known, Traits};
use wire::{
    ErrPacket, HEADER_LEN, Header, OkPacket, Piece, ResponseWalk, ServerStatus, TextResultSet,
    Told, Translation,
};

use crate::aftermath::keeps_found_rows;
use crate::backend::ClientCommand;
use crate::binary_rows::{Form, binary_condition};

/// More than this is not kept for a session.
const CAPTURE_MAX: usize = 64 << 10;

/// The number and SQLSTATE of an ERR packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// The number.
    pub code: u16,
    /// The SQLSTATE.
    pub state: [u8; 5],
}

impl Refusal {
    /// What an ERR packet says.
    pub(crate) fn of(payload: &[u8]) -> Option<Self> {
        let error = ErrPacket::parse(payload).ok()?;
        Some(Self {
            code: error.code,
            state: error.sql_state.try_into().ok()?,
        })
    }
}

/// The statement that was answered last.
#[derive(Debug, Default)]
pub(crate) struct Source {
    /// The ERR packet, if that was the answer.
    pub refusal: Option<Refusal>,
    /// The text, if it was a SIGNAL.
    pub signal: Option<Box<[u8]>>,
}

/// The answer to a SHOW WARNINGS of our own, as far as it has come.
pub(crate) struct ReadWarnings {
    answer: Vec<u8>,
    /// It tells what came on top of what was captured.
    adds: bool,
    /// What gave the warnings.
    source: Source,
}

impl ReadWarnings {
    /// No answer yet.
    pub(crate) fn new(adds: bool, source: Source) -> Self {
        Self {
            answer: Vec::new(),
            adds,
            source,
        }
    }

    /// Keeps a piece of the answer, within bounds.
    pub(crate) fn keep(&mut self, piece: &Piece<'_>) {
        if self.answer.len() <= CAPTURE_MAX {
            self.answer.extend_from_slice(piece.bytes());
        }
    }
}

/// The conditions of a statement.
#[derive(Debug)]
pub(crate) struct Conditions {
    /// The answer to SHOW WARNINGS, as the backend gave it.
    answer: Box<[u8]>,
    /// What gave them.
    source: Source,
    /// The messages are in UTF-8.
    is_utf8: bool,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Condition {
    /// The number.
    pub code: u16,
    /// The SQLSTATE, if it was told.
    pub state: Option<[u8; 5]>,
    /// The text, in UTF-8; `None` if it may be another one than the server has.
    pub message: Option<Vec<u8>>,
}

impl Conditions {
    /// How many there are.
    pub(crate) fn len(&self) -> u64 {
        let mut rows = 0;
        each_packet(&self.answer, |piece| {
            rows += u64::from(matches!(piece, Piece::Row(_)));
        });
        rows
    }

    /// The condition with this number, the first being 1.
    pub(crate) fn get(&self, number: u64) -> Option<Condition> {
        let mut rows = TextResultSet::default();
        let mut sound = true;
        each_packet(&self.answer, |piece| sound &= rows.piece(piece).is_ok());
        let index = usize::try_from(number.checked_sub(1)?).ok()?;
        let row = rows.rows().nth(index).filter(|_| sound)?;
        let [Some(level), Some(code), Some(message)] = row else {
            return None;
        };
        let code = str::from_utf8(code).ok()?.parse().ok()?;
        let refused = self
            .source
            .refusal
            .filter(|error| error.code == code && level == b"Error");
        // What another character set does not have has become question marks.
        let plain = |byte: &u8| matches!(byte, 1..=0x7e) && *byte != b'?';
        let sure = self.is_utf8 && str::from_utf8(message).is_ok() || message.iter().all(plain);
        Some(Condition {
            code,
            state: refused.map(|error| error.state),
            message: sure.then(|| message.clone()),
        })
    }

    /// True if a SIGNAL gave them: SHOW WARNINGS tells a part of what that says.
    pub(crate) fn were_signalled(&self) -> bool {
        self.source.signal.is_some()
    }

    /// The answer to SHOW WARNINGS or SHOW ERRORS, told to a client.
    pub(crate) fn tell(
        &self,
        (asked, form): (Diagnostics, Form),
        (translation, told): (Translation, Told<'_>),
        outbox: &mut Vec<u8>,
    ) {
        let answer = selected(&self.answer, asked);
        let answer = match form {
            Form::Text => answer,
            Form::Binary => in_binary(&answer),
        };
        replay(&answer, translation, told, outbox);
    }

    /// Adds those that another answer to SHOW WARNINGS has.
    fn add(&mut self, more: &[u8]) {
        let mut packets = Packets::default();
        let mut end = Vec::new();
        each_packet(&self.answer, |piece| match piece {
            Piece::RowsEnd(bytes) => end.extend_from_slice(bytes),
            piece => packets.push(piece.bytes()),
        });
        each_packet(more, |piece| {
            if matches!(piece, Piece::Row(_)) {
                packets.push(piece.bytes());
            }
        });
        packets.push(&end);
        self.answer = packets.bytes.into();
    }
}

/// Packets of an answer, counted anew.
struct Packets {
    bytes: Vec<u8>,
    sequence_id: u8,
}

impl Default for Packets {
    fn default() -> Self {
        Self {
            bytes: Vec::new(),
            sequence_id: 1,
        }
    }
}

impl Packets {
    fn push(&mut self, packet: &[u8]) {
        let Some((header, payload)) = packet.split_at_checked(HEADER_LEN) else {
            return;
        };
        self.bytes.extend_from_slice(&header[..HEADER_LEN - 1]);
        self.bytes.push(self.sequence_id);
        self.bytes.extend_from_slice(payload);
        self.sequence_id = self.sequence_id.wrapping_add(1);
    }
}

/// What a session knows of its last statement.
#[derive(Debug)]
pub(crate) struct Capture {
    /// What SHOW WARNINGS tells; `None` if there is nothing to show.
    warnings: Option<Box<Conditions>>,
    /// `@@warning_count`, which may be more than are shown.
    warning_count: u16,
    /// `ROW_COUNT()`
    pub(crate) row_count: i64,
    /// The text of the last statement, if its warnings were not read: it was a plain read, and runs
    /// again before somebody asks for them (rule 10).
    repeat: Option<Box<Repeat>>,
    /// `FOUND_ROWS()`, as far as a backend does not hold a newer one for it; `None` in a new session.
    pub(crate) found_rows: Option<u64>,
}

/// A statement that may have to run again.
#[derive(Debug)]
struct Repeat {
    text: Box<[u8]>,
}

impl Capture {
    /// What a new session is told: no row changed.
    pub(crate) fn new() -> Self {
        Self {
            warnings: None,
            warning_count: 0,
            row_count: 0,
            repeat: None,
            found_rows: None,
        }
    }
}

impl Capture {
    /// The captured number, as a number of 64 bits.
    pub(crate) fn count(&self, known: Known, flavor: Flavor) -> Option<i64> {
        match known {
            Known::RowCount => Some(self.row_count),
            Known::FoundRows => {
                // A session that has run nothing has found one row on MariaDB, and none on MySQL.
                let new = u64::from(flavor == Flavor::MariaDb);
                Some(self.found_rows.unwrap_or(new) as i64)
            }
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

    /// What there is to show, unless what gave it must run again first.
    pub(crate) fn conditions(&self) -> Option<&Conditions> {
        self.warnings.as_deref()
    }

    /// True if the last statement must run again before somebody asks about it.
    pub(crate) fn must_repeat(&self) -> bool {
        self.repeat.is_some()
    }

    /// The text that runs again for it, or for a GET DIAGNOSTICS.
    pub(crate) fn repeated(&self, gets: bool) -> Option<&[u8]> {
        let signal = self.conditions().filter(|_| gets);
        let signal = signal.and_then(|conditions| conditions.source.signal.as_deref());
        self.repeat.as_ref().map(|repeat| &*repeat.text).or(signal)
    }

    /// Takes over what a backend told. Of more than is kept nothing is known.
    pub(crate) fn learn(&mut self, read: ReadWarnings, is_utf8: bool) {
        self.repeat = None;
        let before = self.warnings.take().filter(|_| read.adds);
        if read.answer.len() > CAPTURE_MAX {
            return;
        }
        self.warnings = Some(Box::new(match before {
            Some(mut before) => {
                before.add(&read.answer);
                *before
            }
            None => Conditions {
                answer: read.answer.into(),
                source: read.source,
                is_utf8,
            },
        }));
    }

    /// How many rows SHOW WARNINGS or SHOW ERRORS has.
    fn told(&self, errors: bool) -> i64 {
        let mut rows = 0;
        let answer = self.conditions().map(|conditions| &*conditions.answer);
        each_packet(answer.unwrap_or_default(), |piece| {
            rows += i64::from(matches!(piece, Piece::Row(_)) && (!errors || is_error(piece)));
        });
        rows
    }

    /// The warnings of a text were not read.
    pub(crate) fn repeatable(&mut self, text: &[u8]) {
        let repeat = Repeat { text: text.into() };
        (self.repeat, self.warnings) = (Some(Box::new(repeat)), None);
    }

    /// The front door itself answered with an ERR. A SIGNAL stands for it, which runs before somebody asks. False
    /// if nothing can: MySQL adds the error to the conditions that there are (`more`).
    pub(crate) fn refused(&mut self, error: &ErrPacket<'_>, more: bool) -> bool {
        self.row_count = -1;
        let signal = signal(error).filter(|_| !more);
        let stands = signal.is_some();
        if let Some(text) = signal {
            (self.warnings, self.warning_count) = (None, 1);
            self.repeat = Some(Box::new(Repeat { text: text.into() }));
        }
        stands
    }

    /// True if conditions were captured, or can be had once more.
    pub(crate) fn has_conditions(&self) -> bool {
        self.warnings.is_some() || self.repeat.is_some()
    }

    /// Takes over what an answer said.
    pub(crate) fn answered(&mut self, command: &ClientCommand, failed: bool) {
        let counts = command.counts;
        // GET DIAGNOSTICS leaves the number, unless it gives a condition itself.
        let gets =
            command.kind == Kind::Diagnostics && command.traits.contains(Traits::READS_DIAGNOSTICS);
        let gets_nothing = gets && counts.warned;
        let leaves = command.prepares() || gets || counts.text;
        if failed || gets_nothing || !leaves {
            self.row_count = match failed || gets_nothing || counts.result_set {
                true => -1,
                false => counts.affected as i64,
            };
        }
        if let (Some(found), false) = (counts.found, keeps_found_rows(command)) {
            self.found_rows = Some(found);
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

/// A statement that gives this error, read alike in every `sql_mode` and character set.
fn signal(error: &ErrPacket<'_>) -> Option<Vec<u8>> {
    let harmless = |byte: &u8| byte.is_ascii_graphic() && *byte != b'\\' || *byte == b' ';
    if !error.message.iter().all(harmless) {
        return None;
    }
    let (state, message) = (
        str::from_utf8(error.sql_state),
        str::from_utf8(error.message),
    );
    let (state, message) = (state.ok()?, message.ok()?.replace('\'', "''"));
    let code = error.code;
    let text = format!("SIGNAL SQLSTATE '{state}' SET MYSQL_ERRNO={code},MESSAGE_TEXT='{message}'");
    Some(text.into_bytes())
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
    let mut out = Packets::default();
    let mut rows = 0;
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
        out.push(piece.bytes());
    });
    out.bytes
}

/// The same answer with the rows of an execution.
fn in_binary(answer: &[u8]) -> Vec<u8> {
    let mut out = Packets::default();
    each_packet(answer, |piece| {
        let row = match piece {
            Piece::Row(packet) => binary_condition(packet),
            _ => None,
        };
        out.push(row.as_deref().unwrap_or(piece.bytes()));
    });
    out.bytes
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
