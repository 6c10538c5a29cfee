//! An answer as the client reads it.

use wire::{
    ErrPacket, OkPacket, Piece, Reader, ResponseWalk, ServerStatus, TextResultSet, WalkError,
};

/// A row of text, `None` for NULL.
pub(crate) type Row = Vec<Option<String>>;

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
}

/// Reads the answers to one command.
pub(crate) struct AnswerReader {
    walk: ResponseWalk,
    rows: TextResultSet,
    deprecate_eof: bool,
    has_columns: bool,
    answers: Vec<Answer>,
}

impl AnswerReader {
    pub(crate) fn new(deprecate_eof: bool) -> Self {
        Self {
            walk: ResponseWalk::new(deprecate_eof, 0),
            rows: TextResultSet::default(),
            deprecate_eof,
            has_columns: false,
            answers: Vec::new(),
        }
    }

    /// Takes what belongs to the answers off the front of `bytes`; `Some` when all are complete.
    pub(crate) fn read(&mut self, bytes: &mut Vec<u8>) -> Result<Option<Vec<Answer>>, WalkError> {
        let mut at = 0;
        while !self.walk.is_done() {
            let Some(piece) = self.walk.next(&bytes[at..])? else {
                break;
            };
            at += piece.bytes().len();
            self.rows.piece(&piece)?;
            self.has_columns |= matches!(piece, Piece::ColumnCount(_));
            let answer = self.answer(&piece)?;
            self.answers.extend(answer);
        }
        bytes.drain(..at);
        Ok(self
            .walk
            .is_done()
            .then(|| std::mem::take(&mut self.answers)))
    }

    /// What a piece ends.
    fn answer(&mut self, piece: &Piece<'_>) -> Result<Option<Answer>, WalkError> {
        let answer = match piece {
            Piece::Ok(_) => ok(piece.payload())?,
            Piece::RowsEnd(_) => {
                let (warnings, status) = end(piece.payload(), self.deprecate_eof)?;
                let rows = text(&std::mem::take(&mut self.rows));
                Answer::Rows {
                    rows,
                    status,
                    warnings,
                }
            }
            Piece::Err(_) => Answer::Err {
                code: ErrPacket::parse(piece.payload())?.code,
                after_rows: self.has_columns,
            },
            _ => return Ok(None),
        };
        self.has_columns = false;
        Ok(Some(answer))
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
