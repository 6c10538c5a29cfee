//! Where a response ends: a walk over the packets of an answer that looks at headers and at the
//! few packets that carry state, and passes rows on unseen.
//!
//! It takes bytes as they come, cut anywhere, and keeps nothing but a few numbers. Whoever calls
//! it keeps the bytes it did not consume.
//!
//! Source: MySQL manual, "COM_QUERY Response", "Text Resultset", "Binary Protocol Resultset"; MariaDB knowledge base,
//! "ERR_Packet", for progress reports. With CLIENT_OPTIONAL_RESULTSET_METADATA the byte that says whether definitions
//! follow stands behind the number of columns: MySQL 8.0 and 9.7 do so, the manual has it in front.

use crate::packet::{HEADER_LEN, Header, MAX_PAYLOAD};
use crate::status::ServerStatus;
use crate::{Malformed, OkPacket, Reader};

/// How a progress report begins: as an ERR packet with a number that a SIGNAL may have, too, but with a number of texts where
/// an error has `#`. Only who has negotiated MARIADB_CLIENT_PROGRESS gets any.
const PROGRESS: &[u8] = &[0xff, 0xff, 0xff, 1];

/// Stands behind a number of columns whose definitions do not follow.
const DEFINITIONS_LEFT_OUT: u8 = 0;

/// The number of columns, where it begins with 0xfe, takes eight bytes more; an EOF or OK packet that says nothing besides is
/// shorter.
const EOF_LEN_MAX: usize = 9;

/// Bytes at the front of the input and what they are.
///
/// Each variant but [`Piece::Rest`] and an empty [`Piece::ColumnsEnd`] begins with a packet's
/// header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// The number of columns of a result set that begins.
    ColumnCount(&'a [u8]),
    /// The beginning, or all, of a column definition.
    Column(&'a [u8]),
    /// The column definitions are complete. Empty where CLIENT_DEPRECATE_EOF leaves the EOF out.
    ColumnsEnd(&'a [u8]),
    /// The beginning, or all, of a row.
    Row(&'a [u8]),
    /// The beginning, or all, of a packet that continues a payload longer than 16 MiB.
    Continuation(&'a [u8]),
    /// More of the packet that the last piece began.
    Rest(&'a [u8]),
    /// What a COM_STMT_PREPARE is answered with: the statement's id, and how many definitions of
    /// parameters and of columns follow.
    PrepareOk(&'a [u8]),
    /// A packet that is text and nothing else, as for COM_STATISTICS.
    Text(&'a [u8]),
    /// The OK packet of a statement without rows.
    Ok(&'a [u8]),
    /// The OK or EOF packet that ends the rows.
    RowsEnd(&'a [u8]),
    /// An ERR packet, in place of a response or of the next row. It ends the answer.
    Err(&'a [u8]),
    /// How far a long statement has come (MariaDB); the response is still due.
    Progress(&'a [u8]),
    /// The backend asks for a file of the client (LOAD DATA LOCAL). The walk then waits for the
    /// response that follows the file.
    LocalInfile(&'a [u8]),
}

impl<'a> Piece<'a> {
    /// The bytes of the piece, its header included.
    pub fn bytes(&self) -> &'a [u8] {
        match *self {
            Piece::ColumnCount(bytes)
            | Piece::Column(bytes)
            | Piece::ColumnsEnd(bytes)
            | Piece::Row(bytes)
            | Piece::Continuation(bytes)
            | Piece::Rest(bytes)
            | Piece::PrepareOk(bytes)
            | Piece::Text(bytes)
            | Piece::Ok(bytes)
            | Piece::RowsEnd(bytes)
            | Piece::Err(bytes)
            | Piece::Progress(bytes)
            | Piece::LocalInfile(bytes) => bytes,
        }
    }

    /// The payload of a piece that is one whole packet; empty for the others.
    pub fn payload(&self) -> &'a [u8] {
        self.bytes().get(HEADER_LEN..).unwrap_or_default()
    }
}

/// The backend does not follow the protocol; nothing it says from here on can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WalkError {
    /// A packet has another sequence id than the one that was due.
    #[error("packet {found} came where packet {due} was due")]
    OutOfOrder {
        /// The id that was due.
        due: u8,
        /// The id that came.
        found: u8,
    },
    /// A packet's content is not what the protocol has in this place.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// Bytes came after the end of the answer.
    #[error("bytes came after the end of the answer")]
    AfterEnd,
}

/// What a response consists of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// OK, ERR, result sets: what most commands are answered with.
    #[default]
    Results,
    /// The response to COM_STMT_PREPARE.
    Prepare,
    /// Rows without a header, as for COM_STMT_FETCH; column definitions, as for COM_FIELD_LIST.
    Rows,
    /// One packet: text, OK, EOF or ERR.
    Single,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    First,
    Prepare,
    Single,
    Columns { left: u64 },
    ColumnsEnd,
    Rows,
    Done,
}

/// A walk over the answer to one command.
#[derive(Clone, Debug)]
pub struct ResponseWalk {
    phase: Phase,
    deprecate_eof: bool,
    /// The sequence id that the next packet must have.
    due: u8,
    /// Bytes of the current packet that are still to come.
    left: usize,
    /// The next packet continues the payload of the current one.
    continued: bool,
    /// In the response to a COM_STMT_PREPARE: the columns that follow the parameters.
    prepared_columns: Option<u64>,
    /// The backend leaves definitions out (CLIENT_OPTIONAL_RESULTSET_METADATA), though not what ends them.
    without_definitions: bool,
}

impl ResponseWalk {
    /// A walk over the answer to a command whose last packet had the sequence id `sequence_id` (0
    /// for all but those over 16 MiB). `deprecate_eof`: whether CLIENT_DEPRECATE_EOF was
    /// negotiated with this backend.
    pub fn new(deprecate_eof: bool, sequence_id: u8) -> Self {
        Self::shaped(Shape::Results, deprecate_eof, sequence_id)
    }

    /// The same for a response of another shape.
    pub fn shaped(shape: Shape, deprecate_eof: bool, sequence_id: u8) -> Self {
        let due = sequence_id.wrapping_add(1);
        Self {
            phase: match shape {
                Shape::Results => Phase::First,
                Shape::Prepare => Phase::Prepare,
                Shape::Rows => Phase::Rows,
                Shape::Single => Phase::Single,
            },
            deprecate_eof,
            due,
            left: 0,
            continued: false,
            prepared_columns: None,
            without_definitions: false,
        }
    }

    /// True when the answer is complete.
    pub fn is_done(&self) -> bool {
        self.phase == Phase::Done
    }

    /// The sequence id that the backend's next packet must have.
    pub fn next_sequence_id(&self) -> u8 {
        self.due
    }

    /// The sequence id that an ERR packet of our own could take here: `None` in the middle of a
    /// packet, or of a payload that is continued.
    pub fn boundary(&self) -> Option<u8> {
        (self.left == 0 && !self.continued).then_some(self.due)
    }

    /// The piece at the front of `input`; as many bytes as it holds are consumed. `None`: more
    /// bytes are needed, or the answer is complete and `input` empty.
    pub fn next<'a>(&mut self, input: &'a [u8]) -> Result<Option<Piece<'a>>, WalkError> {
        if self.left > 0 {
            return Ok((!input.is_empty()).then(|| Piece::Rest(self.take(input))));
        }
        if self.phase == Phase::ColumnsEnd && self.deprecate_eof {
            self.columns_ended();
            return Ok(Some(Piece::ColumnsEnd(&[])));
        }
        if self.phase == Phase::Done && !input.is_empty() {
            return Err(WalkError::AfterEnd);
        }
        let Some(header) = Header::parse(input) else {
            return Ok(None);
        };
        if self.breaks_in(header, input) {
            self.due = header.sequence_id;
        }
        if header.sequence_id != self.due {
            return Err(WalkError::OutOfOrder {
                due: self.due,
                found: header.sequence_id,
            });
        }
        match self.phase {
            _ if self.continued => Ok(Some(Piece::Continuation(self.begin(header, input)))),
            Phase::Columns { left } => Ok(Some(self.column(header, left, input))),
            Phase::Rows => self.row(header, input),
            Phase::First | Phase::Prepare | Phase::Single | Phase::ColumnsEnd | Phase::Done => {
                self.whole(header, input)
            }
        }
    }

    /// Consumes the complete rows at the front of `input`; returns them and their number. It leaves everything else to
    /// [`ResponseWalk::next`]: rows of several packets, errors, the end.
    pub fn rows<'a>(&mut self, input: &'a [u8]) -> (&'a [u8], u64) {
        let (mut len, mut count) = (0, 0);
        if self.phase != Phase::Rows || self.left > 0 || self.continued {
            return (&[], 0);
        }
        while let Some(header) = Header::parse(&input[len..]) {
            let end = len + HEADER_LEN + header.len;
            let is_row = (1..MAX_PAYLOAD).contains(&header.len) && input.len() >= end;
            if !is_row || input[len + HEADER_LEN] >= 0xfe || header.sequence_id != self.due {
                break;
            }
            self.due = self.due.wrapping_add(1);
            (len, count) = (end, count + 1);
        }
        (&input[..len], count)
    }

    /// True of an ERR to a command of several packets that comes before its last one was read: it was too long by then.
    fn breaks_in(&self, header: Header, input: &[u8]) -> bool {
        let is_first = matches!(self.phase, Phase::First | Phase::Prepare | Phase::Single);
        is_first
            && !self.continued
            && (1..self.due).contains(&header.sequence_id)
            && input.get(HEADER_LEN) == Some(&0xff)
    }

    fn column<'a>(&mut self, header: Header, left: u64, input: &'a [u8]) -> Piece<'a> {
        self.phase = match left {
            0 | 1 => Phase::ColumnsEnd,
            _ => Phase::Columns { left: left - 1 },
        };
        Piece::Column(self.begin(header, input))
    }

    fn row<'a>(&mut self, header: Header, input: &'a [u8]) -> Result<Option<Piece<'a>>, WalkError> {
        if header.len == 0 {
            return Err(Malformed::Truncated("row").into());
        }
        let Some(&first) = input.get(HEADER_LEN) else {
            return Ok(None);
        };
        // A row whose first column is longer than 16 MiB begins with 0xFE, too, but fills its packet.
        if first == 0xff || (first == 0xfe && header.len < MAX_PAYLOAD) {
            return self.whole(header, input);
        }
        Ok(Some(Piece::Row(self.begin(header, input))))
    }

    /// A packet that is looked into, once all of it is here.
    fn whole<'a>(
        &mut self,
        header: Header,
        input: &'a [u8],
    ) -> Result<Option<Piece<'a>>, WalkError> {
        let Some(packet) = input.get(..HEADER_LEN + header.len) else {
            return Ok(None);
        };
        let Some((first, _)) = packet[HEADER_LEN..].split_first() else {
            return Err(Malformed::Truncated("response").into());
        };
        self.due = self.due.wrapping_add(1);
        let payload = &packet[HEADER_LEN..];
        let piece = match (self.phase, first) {
            (_, 0xff) if payload.starts_with(PROGRESS) => Piece::Progress(packet),
            (_, 0xff) => {
                self.phase = Phase::Done;
                Piece::Err(packet)
            }
            (Phase::Prepare, 0x00) => {
                self.prepare(payload)?;
                Piece::PrepareOk(packet)
            }
            (Phase::Single, 0xfe) => {
                self.phase = Phase::Done;
                Piece::RowsEnd(packet)
            }
            (Phase::Single, 0x01..=0xfd) => {
                self.phase = Phase::Done;
                Piece::Text(packet)
            }
            (Phase::First | Phase::Single, 0x00) => {
                self.end(OkPacket::parse(payload)?.status);
                Piece::Ok(packet)
            }
            // MariaDB ends rows of a bulk execution that it has not begun. No number of columns is that short; and what is
            // told besides must not make it longer, or a client would take it for one.
            (Phase::First, 0xfe) if payload.len() < EOF_LEN_MAX => {
                self.end(OkPacket::parse(payload)?.status);
                Piece::Ok(packet)
            }
            (Phase::First, 0xfb) => {
                // The client's file takes sequence ids of its own: one per packet and an empty one.
                Piece::LocalInfile(packet)
            }
            (Phase::First, _) => {
                let mut reader = Reader::new(payload);
                let columns = reader.lenenc_int("column count")?;
                self.without_definitions = reader.rest() == [DEFINITIONS_LEFT_OUT];
                self.phase = self.definitions_of(columns);
                Piece::ColumnCount(packet)
            }
            (Phase::ColumnsEnd, 0xfe) => {
                self.columns_ended();
                Piece::ColumnsEnd(packet)
            }
            (Phase::Rows, 0xfe) => {
                self.end(self.end_status(payload)?);
                Piece::RowsEnd(packet)
            }
            _ => return Err(Malformed::Invalid("end of column definitions").into()),
        };
        Ok(Some(piece))
    }

    /// The client has sent the file that was asked for; its last packet had this sequence id.
    pub fn file_sent(&mut self, sequence_id: u8) {
        self.due = sequence_id.wrapping_add(1);
    }

    /// Source: "COM_STMT_PREPARE Response" in the MySQL manual.
    fn prepare(&mut self, payload: &[u8]) -> Result<(), Malformed> {
        let mut reader = Reader::new(payload);
        reader.bytes(5, "header and statement id")?;
        let columns = u64::from(reader.u16("number of columns")?);
        let parameters = u64::from(reader.u16("number of parameters")?);
        reader.bytes(3, "filler and warnings")?;
        self.without_definitions = reader.rest() == [DEFINITIONS_LEFT_OUT];
        self.prepared_columns = Some(columns);
        match parameters {
            0 => self.columns_ended(),
            left => self.phase = self.definitions_of(left),
        }
        Ok(())
    }

    /// What follows the number of columns, or of parameters.
    fn definitions_of(&self, left: u64) -> Phase {
        if self.without_definitions {
            Phase::ColumnsEnd
        } else {
            Phase::Columns { left }
        }
    }

    /// The definitions of columns, or of parameters, are complete.
    fn columns_ended(&mut self) {
        self.phase = match self.prepared_columns {
            None => Phase::Rows,
            Some(0) => Phase::Done,
            Some(left) => self.definitions_of(left),
        };
        self.prepared_columns = self.prepared_columns.map(|_| 0);
    }

    fn end_status(&self, payload: &[u8]) -> Result<ServerStatus, Malformed> {
        if self.deprecate_eof {
            return OkPacket::parse(payload).map(|ok| ok.status);
        }
        let mut reader = Reader::new(payload);
        reader.bytes(3, "EOF header and warnings")?;
        Ok(ServerStatus::from_bits_retain(reader.u16("status flags")?))
    }

    fn end(&mut self, status: ServerStatus) {
        let more = status.contains(ServerStatus::MORE_RESULTS_EXISTS);
        self.phase = if more { Phase::First } else { Phase::Done };
    }

    /// Passes on what is there of a packet that is not looked into.
    fn begin<'a>(&mut self, header: Header, input: &'a [u8]) -> &'a [u8] {
        self.due = self.due.wrapping_add(1);
        self.continued = header.len == MAX_PAYLOAD;
        self.left = HEADER_LEN + header.len;
        self.take(input)
    }

    fn take<'a>(&mut self, input: &'a [u8]) -> &'a [u8] {
        let bytes = &input[..input.len().min(self.left)];
        self.left -= bytes.len();
        bytes
    }
}

#[cfg(test)]
mod tests;
