//! Answers as they came, packet by packet, and what they say. Reads packets on its own, so that it
//! does not share a mistake with the code under test.

use wire::{Capabilities, ErrPacket, MAX_PAYLOAD, OkPacket, Reader, ServerStatus};

use super::Server;

/// Stands behind a number of columns whose definitions do not follow.
const DEFINITIONS_LEFT_OUT: u8 = 0;

/// One packet as it stood in the stream.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Packet {
    pub(crate) sequence_id: u8,
    pub(crate) payload: Vec<u8>,
}

impl Packet {
    /// Puts `new` in place of the first `old` in an ERR packet's text.
    pub(crate) fn replace(&mut self, old: &str, new: &str) {
        let at = self
            .payload
            .windows(old.len())
            .position(|part| part == old.as_bytes());
        if let (Some(0xff), Some(at)) = (self.payload.first(), at) {
            self.payload.splice(at..at + old.len(), new.bytes());
        }
    }
}

/// Long payloads are cut: a failed comparison must stay readable.
impl std::fmt::Debug for Packet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = &self.payload[..self.payload.len().min(200)];
        let (id, len) = (self.sequence_id, self.payload.len());
        write!(f, "#{id} [{len}] {}", shown.escape_ascii())
    }
}

/// All packets of the answer to one command, and what each is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) packets: Vec<(Part, Packet)>,
    capabilities: Capabilities,
}

/// What a packet is within an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Ok,
    PrepareOk,
    Err,
    ColumnCount,
    Column,
    ColumnsEnd,
    Row,
    RowsEnd,
    /// Of an answer that is text alone.
    Text,
}

/// What kind of answer a command has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// As that of a statement.
    Any,
    /// Rows without what stands before them, or definitions of columns.
    Rows,
    /// One packet.
    Single,
    /// As that of COM_STMT_PREPARE.
    Prepare,
}

/// The fields of an OK packet, or of the end of rows, that the tests look at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Done {
    pub(crate) affected_rows: u64,
    pub(crate) last_insert_id: u64,
    pub(crate) status: ServerStatus,
    pub(crate) warnings: u16,
    pub(crate) info: String,
}

/// One response of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Ok(Done),
    /// Number and text.
    Err(u16, String),
    /// NULL is shown as `NULL`.
    Rows(Vec<Vec<String>>),
}

impl Answer {
    /// Reads an answer to its end through `next`, which reads one packet.
    pub(crate) fn read<E>(
        capabilities: Capabilities,
        mut next: impl FnMut() -> Result<Packet, E>,
    ) -> Result<Self, E> {
        let mut answer = Self {
            packets: Vec::new(),
            capabilities,
        };
        while answer.response(&mut next)? {}
        Ok(answer)
    }

    /// The same of an answer of another kind.
    pub(crate) fn read_as<E>(
        (shape, capabilities): (Shape, Capabilities),
        mut next: impl FnMut() -> Result<Packet, E>,
    ) -> Result<Self, E> {
        if shape == Shape::Any {
            return Self::read(capabilities, next);
        }
        let mut answer = Self {
            packets: Vec::new(),
            capabilities,
        };
        match shape {
            Shape::Rows => drop(answer.rows(&mut next)?),
            Shape::Prepare => answer.prepare(&mut next)?,
            Shape::Any | Shape::Single => {
                let packet = next()?;
                let part = match packet.payload[0] {
                    0x00 => Part::Ok,
                    0xfe => Part::RowsEnd,
                    0xff => Part::Err,
                    _ => Part::Text,
                };
                answer.packets.push((part, packet));
            }
        }
        Ok(answer)
    }

    fn prepare<E>(&mut self, next: &mut impl FnMut() -> Result<Packet, E>) -> Result<(), E> {
        let first = next()?;
        if first.payload[0] == 0xff {
            self.packets.push((Part::Err, first));
            return Ok(());
        }
        let count = |at: usize| u16::from_le_bytes([first.payload[at], first.payload[at + 1]]);
        let counts = [count(7), count(5)];
        let told = first.payload.get(12) != Some(&DEFINITIONS_LEFT_OUT);
        self.packets.push((Part::PrepareOk, first));
        for count in counts.into_iter().filter(|&count| count > 0) {
            for _ in 0..if told { count } else { 0 } {
                self.packets.push((Part::Column, next()?));
            }
            if !self.deprecate_eof() {
                self.packets.push((Part::ColumnsEnd, next()?));
            }
        }
        Ok(())
    }

    /// Reads one response. Returns true if another one follows.
    fn response<E>(&mut self, next: &mut impl FnMut() -> Result<Packet, E>) -> Result<bool, E> {
        let first = next()?;
        match first.payload[0] {
            0x00 => return Ok(self.end(Part::Ok, first)),
            0xff => return Ok(self.end(Part::Err, first)),
            _ => {}
        }
        let mut reader = Reader::new(&first.payload);
        let columns = reader.lenenc_int("column count").unwrap();
        let told = reader.rest() != [DEFINITIONS_LEFT_OUT];
        self.packets.push((Part::ColumnCount, first));
        for _ in 0..if told { columns } else { 0 } {
            self.packets.push((Part::Column, next()?));
        }
        let mut follows = false;
        if !self.deprecate_eof() {
            let packet = next()?;
            // A cursor that could not be opened.
            if packet.payload[0] == 0xff {
                return Ok(self.end(Part::Err, packet));
            }
            let status = status(Part::ColumnsEnd, &packet);
            self.packets.push((Part::ColumnsEnd, packet));
            if status.contains(ServerStatus::CURSOR_EXISTS) {
                return Ok(false);
            }
            // Behind the parameters of a prepared CALL comes an OK packet, which MySQL 9.7 announces only here.
            follows = status.contains(ServerStatus::PS_OUT_PARAMS);
        }
        let more = self.rows(next)?;
        Ok(more || follows && matches!(self.packets.last(), Some((Part::RowsEnd, _))))
    }

    /// Reads rows and their end. Returns true if another response follows.
    fn rows<E>(&mut self, next: &mut impl FnMut() -> Result<Packet, E>) -> Result<bool, E> {
        let mut continued = false;
        loop {
            let packet = next()?;
            let (first, len) = (packet.payload.first().copied(), packet.payload.len());
            match first {
                _ if continued => {}
                Some(0xff) => return Ok(self.end(Part::Err, packet)),
                Some(0xfe) if len < MAX_PAYLOAD && (len < 9 || self.deprecate_eof()) => {
                    return Ok(self.end(Part::RowsEnd, packet));
                }
                _ => {}
            }
            continued = len == MAX_PAYLOAD;
            self.packets.push((Part::Row, packet));
        }
    }

    fn end(&mut self, part: Part, packet: Packet) -> bool {
        let more = status(part, &packet).contains(ServerStatus::MORE_RESULTS_EXISTS);
        self.packets.push((part, packet));
        more
    }

    fn deprecate_eof(&self) -> bool {
        self.capabilities.contains(Capabilities::DEPRECATE_EOF)
    }

    /// Takes status flags out of the EOF packets between column definitions and rows, for a
    /// comparison in which they may differ; with MySQL the number of warnings, too.
    pub(crate) fn ignore_after_columns(&mut self, flags: ServerStatus) {
        let ends = self
            .packets
            .iter_mut()
            .filter(|(part, _)| *part == Part::ColumnsEnd);
        for (_, packet) in ends {
            let kept = status(Part::ColumnsEnd, packet) - flags;
            packet.payload[3..5].copy_from_slice(&kept.bits().to_le_bytes());
            if !Server::is_mariadb() {
                packet.payload[1..3].fill(0);
            }
        }
    }

    /// What the responses say, in order.
    pub(crate) fn outcomes(&self) -> Vec<Outcome> {
        let (mut outcomes, mut rows, mut columns) = (Vec::new(), Vec::new(), 0);
        let mut long = Vec::new();
        for (part, packet) in &self.packets {
            let payload = &packet.payload;
            match part {
                Part::ColumnCount => {
                    columns = Reader::new(payload).lenenc_int("column count").unwrap();
                }
                Part::Row => {
                    long.extend_from_slice(payload);
                    if payload.len() < MAX_PAYLOAD {
                        rows.push(row(&std::mem::take(&mut long), columns));
                    }
                }
                Part::RowsEnd => outcomes.push(Outcome::Rows(std::mem::take(&mut rows))),
                Part::Ok => outcomes.push(Outcome::Ok(ok(payload))),
                Part::Err => {
                    let error = ErrPacket::parse(payload).unwrap();
                    let text = String::from_utf8_lossy(error.message).into_owned();
                    outcomes.push(Outcome::Err(error.code, text));
                }
                Part::Column | Part::ColumnsEnd | Part::PrepareOk | Part::Text => {}
            }
        }
        outcomes
    }
}

/// The status flags of a packet that has some.
fn status(part: Part, packet: &Packet) -> ServerStatus {
    match (part, packet.payload.len()) {
        (Part::Ok, _) | (Part::RowsEnd, 6..) => ok(&packet.payload).status,
        (Part::RowsEnd | Part::ColumnsEnd, _) => {
            let flags = [packet.payload[3], packet.payload[4]];
            ServerStatus::from_bits_retain(u16::from_le_bytes(flags))
        }
        _ => ServerStatus::empty(),
    }
}

fn ok(payload: &[u8]) -> Done {
    let ok = OkPacket::parse(payload).unwrap();
    Done {
        affected_rows: ok.affected_rows,
        last_insert_id: ok.last_insert_id,
        status: ok.status,
        warnings: ok.warnings,
        info: String::from_utf8_lossy(ok.info).into_owned(),
    }
}

fn row(payload: &[u8], columns: u64) -> Vec<String> {
    let mut reader = Reader::new(payload);
    let mut value = || match reader.text_column("row").unwrap() {
        Some(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        None => "NULL".to_owned(),
    };
    (0..columns).map(|_| value()).collect()
}
