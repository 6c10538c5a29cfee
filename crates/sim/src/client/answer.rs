//! An answer as the client reads it.

use wire::{
    ErrPacket, OkPacket, Piece, Reader, ResponseWalk, ServerStatus, TextResultSet, WalkError,
};

/// A row of text, `None` for NULL.
pub(crate) type Row = Vec<Option<String>>;

/// A complete answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Ok {
        affected_rows: u64,
        insert_id: u64,
        status: ServerStatus,
        changes: Vec<u8>,
    },
    Rows {
        rows: Vec<Row>,
        status: ServerStatus,
    },
    Err {
        code: u16,
        /// It came after the beginning of rows.
        after_rows: bool,
    },
}

/// Reads one answer.
pub(crate) struct AnswerReader {
    walk: ResponseWalk,
    rows: TextResultSet,
    deprecate_eof: bool,
    has_columns: bool,
    answer: Option<Answer>,
}

impl AnswerReader {
    pub(crate) fn new(deprecate_eof: bool) -> Self {
        Self {
            walk: ResponseWalk::new(deprecate_eof, 0),
            rows: TextResultSet::default(),
            deprecate_eof,
            has_columns: false,
            answer: None,
        }
    }

    /// Takes what belongs to the answer off the front of `bytes`; `Some` when it is complete.
    pub(crate) fn read(&mut self, bytes: &mut Vec<u8>) -> Result<Option<Answer>, WalkError> {
        let mut at = 0;
        while !self.walk.is_done() {
            let Some(piece) = self.walk.next(&bytes[at..])? else {
                break;
            };
            at += piece.bytes().len();
            self.rows.piece(&piece)?;
            self.has_columns |= matches!(piece, Piece::ColumnCount(_));
            self.answer = match piece {
                Piece::Ok(_) => Some(ok(piece.payload())?),
                Piece::RowsEnd(_) => Some(Answer::Rows {
                    rows: text(&self.rows),
                    status: end_status(piece.payload(), self.deprecate_eof)?,
                }),
                Piece::Err(_) => Some(Answer::Err {
                    code: ErrPacket::parse(piece.payload())?.code,
                    after_rows: self.has_columns,
                }),
                _ => None,
            };
        }
        bytes.drain(..at);
        Ok(self.answer.take())
    }
}

fn ok(payload: &[u8]) -> Result<Answer, WalkError> {
    let ok = OkPacket::parse(payload)?;
    Ok(Answer::Ok {
        affected_rows: ok.affected_rows,
        insert_id: ok.last_insert_id,
        status: ok.status,
        changes: ok.state_changes.to_vec(),
    })
}

fn end_status(payload: &[u8], deprecate_eof: bool) -> Result<ServerStatus, WalkError> {
    if deprecate_eof {
        return Ok(OkPacket::parse(payload)?.status);
    }
    let mut reader = Reader::new(payload);
    reader.bytes(3, "EOF header and warnings")?;
    Ok(ServerStatus::from_bits_retain(reader.u16("status flags")?))
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
