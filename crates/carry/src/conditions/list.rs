//! A list of conditions that is known by value: the answer to SHOW WARNINGS as a backend gave it, what can be taken
//! from it, and how it is told again. When it is asked for, and whom, is not decided here.

use session::statement::Diagnostics;
use wire::{
    ErrPacket, HEADER_LEN, Header, OkPacket, Piece, ResponseWalk, ServerStatus, Told, Translation,
    put_lenenc_bytes, write_packet,
};

use crate::conditions::binary_rows::{Form, binary_condition};
use crate::session_memory::{Kept, SessionMemory};

/// More than this is not kept for a session: room for the 1,024 conditions that MySQL lists if nothing is set, though
/// their texts be long.
const KEPT_MAX: usize = 256 << 10;

/// The answer to a SHOW WARNINGS of our own, as far as it has come.
pub struct ReadWarnings {
    answer: Vec<u8>,
    /// More is not kept.
    most: usize,
    /// Rows were left out, because they are more than is kept.
    is_cut: bool,
    /// The sequence id that follows the last row that was kept.
    end_id: Option<u8>,
    /// It tells what came on top of what is known.
    adds: bool,
    /// The text that runs once more for them.
    again: Option<Box<[u8]>>,
}

impl ReadWarnings {
    /// No answer yet.
    pub fn new(adds: bool) -> Self {
        Self {
            answer: Vec::new(),
            most: KEPT_MAX,
            is_cut: false,
            end_id: None,
            adds,
            again: None,
        }
    }

    /// There is no memory to keep conditions in.
    pub fn keeps_none(&mut self) {
        self.most = 0;
    }

    /// The text that runs once more for them, which must do so again if its backend is lost.
    pub fn again(&mut self) -> &mut Option<Box<[u8]>> {
        &mut self.again
    }

    /// Keeps a piece of the answer, but for rows that are more than is kept.
    pub fn keep(&mut self, piece: &Piece<'_>) {
        let sequence_id = Header::parse(piece.bytes()).map(|header| header.sequence_id);
        match piece {
            Piece::Row(_) if self.answer.len() > self.most => self.is_cut = true,
            Piece::Row(packet) => {
                self.answer.extend_from_slice(packet);
                self.end_id = sequence_id.map(|id| id.wrapping_add(1));
            }
            Piece::Rest(_) if self.is_cut => {}
            piece => {
                let begin = self.answer.len();
                self.answer.extend_from_slice(piece.bytes());
                // It follows the last row that was kept.
                if let (Piece::RowsEnd(_), Some(id)) = (piece, self.end_id) {
                    self.answer[begin + HEADER_LEN - 1] = id;
                }
            }
        }
    }

    /// It tells what came on top of what is known.
    pub fn adds(&self) -> bool {
        self.adds
    }

    /// The list, once the answer is complete, behind what was known `before`, and whether it is all of it.
    pub fn list(self, before: Option<Box<List>>) -> (Box<List>, bool) {
        let Some(mut list) = before else {
            let list = List {
                answer: self.answer.into(),
                kept: Kept::default(),
            };
            return (Box::new(list), !self.is_cut);
        };
        let all = list.add(&self.answer);
        (list, all && !self.is_cut)
    }
}

/// The conditions of a statement.
#[derive(Debug)]
pub struct List {
    /// The answer to SHOW WARNINGS, as the backend gave it.
    answer: Box<[u8]>,
    /// The memory that it takes.
    kept: Kept,
}

impl List {
    /// How many there are, or only errors.
    pub fn count(&self, errors: bool) -> i64 {
        let mut rows = 0;
        each_packet(&self.answer, |piece| {
            rows += i64::from(matches!(piece, Piece::Row(_)) && (!errors || is_error(piece)));
        });
        rows
    }

    /// The answer to SHOW WARNINGS or SHOW ERRORS, told to a client.
    pub fn tell(
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

    /// Adds an error, as far as there is room. False if it cannot be written in the character set of the others.
    pub(crate) fn add_error(&mut self, error: &ErrPacket<'_>) -> bool {
        let mut is_ascii = true;
        each_packet(&self.answer, |piece| {
            is_ascii &= !matches!(piece, Piece::Row(_)) || !piece.payload().contains(&0);
        });
        let mut row = Vec::new();
        for value in [b"Error", error.code.to_string().as_bytes(), error.message] {
            put_lenenc_bytes(&mut row, value);
        }
        let mut packet = Vec::new();
        write_packet(&mut packet, 0, &row);
        if is_ascii && packet.len() <= self.room() {
            self.append(|packets| packets.push(&packet));
        }
        is_ascii
    }

    /// Adds those that another answer to SHOW WARNINGS has, as far as there is room. True if there was.
    fn add(&mut self, more: &[u8]) -> bool {
        let mut room = self.room();
        self.append(|packets| {
            each_packet(more, |piece| {
                if matches!(piece, Piece::Row(_)) {
                    room = room.saturating_sub(piece.bytes().len());
                    if room > 0 {
                        packets.push(piece.bytes());
                    }
                }
            });
        });
        room > 0
    }

    fn room(&self) -> usize {
        KEPT_MAX.saturating_sub(self.answer.len())
    }

    /// Adds rows.
    fn append(&mut self, rows: impl FnOnce(&mut Packets)) {
        let mut packets = Packets::default();
        let mut end = Vec::new();
        each_packet(&self.answer, |piece| match piece {
            Piece::RowsEnd(bytes) => end.extend_from_slice(bytes),
            piece => packets.push(piece.bytes()),
        });
        rows(&mut packets);
        packets.push(&end);
        self.answer = packets.bytes.into();
        self.kept.recount(self.answer.len());
    }

    /// From now on its memory is counted.
    pub(crate) fn counts_in(&mut self, memory: &SessionMemory) {
        self.kept.count(self.answer.len(), memory);
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

/// The packets of a captured answer. It was complete and right when it was captured.
fn each_packet(answer: &[u8], mut each: impl FnMut(&Piece<'_>)) {
    let mut walk = ResponseWalk::new(true, 0);
    let mut at = 0;
    while let Ok(Some(piece)) = walk.next(&answer[at..]) {
        at += piece.bytes().len();
        each(&piece);
    }
}

/// True if a row of SHOW WARNINGS is an error, which may be said in several bytes for each letter.
fn is_error(row: &Piece<'_>) -> bool {
    let level = row.payload().split_first();
    let level = level.and_then(|(&length, rest)| rest.get(..usize::from(length)));
    level.is_some_and(|level| level.iter().filter(|byte| **byte != 0).eq(b"Error"))
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

/// The captured answer with the rows of an execution.
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
