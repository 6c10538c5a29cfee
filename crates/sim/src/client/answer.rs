//! An answer as the client reads it.

use wire::{
    ErrPacket, HEADER_LEN, Malformed, OkPacket, Piece, Reader, ResponseWalk, ServerStatus,
    TextResultSet, WalkError, code, whole_packet,
};

use super::Request;
use crate::database::Row;

/// A complete answer; a command with several statements has several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Ok {
        affected_rows: u64,
        insert_id: u64,
        status: ServerStatus,
        changes: Vec<u8>,
        warnings: u16,
    },
    Rows {
        rows: Vec<Row>,
        status: ServerStatus,
        warnings: u16,
    },
    Err {
        code: u16,
        /// It came after the beginning of rows.
        after_rows: bool,
    },
    Prepared {
        id: u32,
        parameters: usize,
        columns: usize,
    },
}

/// Reads the answers to one command.
pub(crate) struct AnswerReader {
    walk: ResponseWalk,
    rows: TextResultSet,
    deprecate_eof: bool,
    has_columns: bool,
    answers: Vec<Answer>,
    /// Rows of the binary protocol: the packets.
    binary: Option<Vec<Vec<u8>>>,
    /// A cursor was asked for.
    cursor: bool,
    /// A cursor was opened: no rows follow.
    done: bool,
    prepared: Option<Answer>,
    file: File,
}

/// How far a file has come that the answer asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum File {
    None,
    AskedFor,
    Coming,
    Sent,
}

impl AnswerReader {
    /// Reads the answers to `request`; `None` if nothing was asked.
    pub(crate) fn new(deprecate_eof: bool, request: Option<&Request>) -> Self {
        let shape = request.map(Request::shape).unwrap_or_default();
        let binary = request.is_some_and(Request::is_binary);
        Self {
            walk: ResponseWalk::shaped(shape, deprecate_eof, 0),
            rows: TextResultSet::default(),
            deprecate_eof,
            has_columns: false,
            answers: Vec::new(),
            binary: binary.then(Vec::new),
            cursor: matches!(request, Some(Request::Execute(execute)) if execute.cursor),
            done: false,
            prepared: None,
            file: File::None,
        }
    }

    /// True once if a file is asked for.
    pub(crate) fn asks_for_file(&mut self) -> bool {
        let asks = self.file == File::AskedFor;
        if asks {
            self.file = File::Coming;
        }
        asks
    }

    /// The file was sent; its last packet had this sequence id.
    pub(crate) fn file_sent(&mut self, sequence_id: u8) {
        self.walk.file_sent(sequence_id);
        self.file = File::Sent;
    }

    /// Takes what belongs to the answers off the front of `bytes`; `Some` when all are complete.
    pub(crate) fn read(&mut self, bytes: &mut Vec<u8>) -> Result<Option<Vec<Answer>>, WalkError> {
        if matches!(self.file, File::Coming | File::Sent) {
            // What follows a file is one packet.
            if whole_packet(bytes).is_err() {
                return Ok(None);
            }
            if let Some(end) = end_of_file(bytes) {
                return Ok(Some(vec![end]));
            }
        }
        let mut at = 0;
        while !self.is_done() && self.file != File::AskedFor {
            let Some(piece) = self.walk.next(&bytes[at..])? else {
                break;
            };
            at += piece.bytes().len();
            self.row(&piece)?;
            self.has_columns |= matches!(piece, Piece::ColumnCount(_));
            let answer = self.answer(&piece)?;
            self.answers.extend(answer);
        }
        bytes.drain(..at);
        if !self.is_done() {
            return Ok(None);
        }
        self.answers.extend(self.prepared.take());
        Ok(Some(std::mem::take(&mut self.answers)))
    }

    fn is_done(&self) -> bool {
        self.done || self.walk.is_done()
    }

    /// Takes in what belongs to a row.
    fn row(&mut self, piece: &Piece<'_>) -> Result<(), Malformed> {
        let Some(rows) = &mut self.binary else {
            return self.rows.piece(piece);
        };
        match (piece, rows.last_mut()) {
            (Piece::Row(bytes), _) => rows.push(bytes.to_vec()),
            (Piece::Rest(bytes), Some(row)) => row.extend_from_slice(bytes),
            _ => {}
        }
        Ok(())
    }

    /// What a piece ends.
    fn answer(&mut self, piece: &Piece<'_>) -> Result<Option<Answer>, WalkError> {
        let answer = match piece {
            Piece::Ok(_) => ok(piece.payload())?,
            Piece::RowsEnd(_) => self.rows_end(piece.payload(), self.deprecate_eof)?,
            Piece::ColumnsEnd(packet) if self.cursor && !packet.is_empty() => {
                let (_, status) = end(piece.payload(), false)?;
                if !status.contains(ServerStatus::CURSOR_EXISTS) {
                    return Ok(None);
                }
                self.done = true;
                self.rows_end(piece.payload(), false)?
            }
            Piece::Err(_) => Answer::Err {
                code: ErrPacket::parse(piece.payload())?.code,
                after_rows: self.has_columns,
            },
            Piece::PrepareOk(_) => {
                self.prepared = Some(prepared(piece.payload())?);
                return Ok(None);
            }
            Piece::LocalInfile(_) => {
                self.file = File::AskedFor;
                return Ok(None);
            }
            _ => return Ok(None),
        };
        self.has_columns = false;
        Ok(Some(answer))
    }

    fn rows_end(&mut self, payload: &[u8], deprecate_eof: bool) -> Result<Answer, WalkError> {
        let (warnings, status) = end(payload, deprecate_eof)?;
        let rows = match &mut self.binary {
            Some(rows) => {
                let rows = std::mem::take(rows);
                rows.iter()
                    .map(|row| binary(row))
                    .collect::<Result<_, _>>()?
            }
            None => text(&std::mem::take(&mut self.rows)),
        };
        Ok(Answer::Rows {
            rows,
            status,
            warnings,
        })
    }
}

/// The end of the connection, told while a file is under way: whoever tells it cannot know with
/// which sequence id.
fn end_of_file(bytes: &mut Vec<u8>) -> Option<Answer> {
    let packet = whole_packet(bytes).ok()?;
    let (payload, consumed) = (packet.payload.bytes().to_vec(), packet.consumed);
    let is_err = payload.first() == Some(&0xff);
    let error = ErrPacket::parse(&payload).ok().filter(|_| is_err)?.code;
    if error != code::SERVER_SHUTDOWN {
        return None;
    }
    bytes.drain(..consumed);
    Some(Answer::Err {
        code: error,
        after_rows: false,
    })
}

/// Source: "COM_STMT_PREPARE Response" in the MySQL manual.
fn prepared(payload: &[u8]) -> Result<Answer, Malformed> {
    let mut reader = Reader::new(payload);
    reader.bytes(1, "header")?;
    Ok(Answer::Prepared {
        id: reader.u32("statement id")?,
        columns: usize::from(reader.u16("columns")?),
        parameters: usize::from(reader.u16("parameters")?),
    })
}

/// A row of the binary protocol whose values are all strings.
fn binary(packet: &[u8]) -> Result<Row, Malformed> {
    let mut reader = Reader::new(packet.get(HEADER_LEN..).unwrap_or_default());
    reader.bytes(1, "header of a binary row")?;
    let nulls = reader.u8("NULL bitmap")?;
    let mut row = Row::new();
    loop {
        if nulls >> (row.len() + 2) & 1 == 1 {
            row.push(None);
        } else if reader.is_empty() {
            return Ok(row);
        } else {
            let value = reader.lenenc_bytes("value")?;
            row.push(Some(String::from_utf8_lossy(value).into_owned()));
        }
    }
}

fn ok(payload: &[u8]) -> Result<Answer, WalkError> {
    let ok = OkPacket::parse(payload)?;
    Ok(Answer::Ok {
        affected_rows: ok.affected_rows,
        insert_id: ok.last_insert_id,
        status: ok.status,
        changes: ok.state_changes.to_vec(),
        warnings: ok.warnings,
    })
}

/// Warnings and status flags at the end of rows.
fn end(payload: &[u8], deprecate_eof: bool) -> Result<(u16, ServerStatus), WalkError> {
    if deprecate_eof {
        let ok = OkPacket::parse(payload)?;
        return Ok((ok.warnings, ok.status));
    }
    let mut reader = Reader::new(payload);
    reader.bytes(1, "EOF header")?;
    let warnings = reader.u16("warnings")?;
    let status = ServerStatus::from_bits_retain(reader.u16("status flags")?);
    Ok((warnings, status))
}

fn text(rows: &TextResultSet) -> Vec<Row> {
    let value = |value: &Option<Vec<u8>>| {
        let bytes = value.as_deref();
        bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    };
    rows.rows()
        .map(|row| row.iter().map(value).collect())
        .collect()
}
