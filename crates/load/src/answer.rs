//! Whether an answer is the right one: takes its packets one by one and judges at the last.

use wire::{
    ErrPacket, HEADER_LEN, Malformed, OkPacket, Piece, Reader, ResponseWalk, Shape, WalkError,
};

use crate::workload::Token;

/// What the answer to a command must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expectation {
    /// One row of one column that is not NULL.
    OneValue,
    /// One row of one column that holds exactly this text.
    Token(Token),
    /// One row of one column that holds the token of its statement; replaced by it when sent.
    OwnToken,
    /// So many rows.
    Rows {
        /// The fewest.
        min: u32,
        /// The most.
        max: u32,
    },
    /// An OK packet that tells of so many changed rows.
    Affected(u32),
    /// An OK packet.
    Pong,
    /// A prepared statement's id.
    Prepared,
    /// Whatever is no error.
    Anything,
}

/// How the answer to a command is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Rows of texts, as for COM_QUERY.
    Text,
    /// Rows of the binary protocol, as for COM_STMT_EXECUTE.
    Binary,
    /// A prepared statement, as for COM_STMT_PREPARE.
    Prepare,
}

/// An answer that is coming in.
#[derive(Debug)]
pub(crate) struct Answer {
    walk: ResponseWalk,
    expectation: Expectation,
    form: Form,
    columns: u32,
    rows: u32,
    /// Rows that were changed; of a prepared statement, its id.
    told: u32,
    /// The first thing found wrong.
    wrong: Option<Box<str>>,
}

/// What a complete answer was.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict<'a> {
    /// What it had to be.
    Right,
    /// The statement was prepared under this id.
    Prepared(u32),
    /// Another one; the text says what is wrong.
    Wrong(Box<str>),
    /// An error.
    Err(ErrPacket<'a>),
}

impl Answer {
    /// The answer to a command that is being sent.
    pub(crate) fn new(expectation: Expectation, form: Form, deprecate_eof: bool) -> Self {
        let shape = match form {
            Form::Text | Form::Binary => Shape::Results,
            Form::Prepare => Shape::Prepare,
        };
        Self {
            walk: ResponseWalk::shaped(shape, deprecate_eof, 0),
            expectation,
            form,
            columns: 0,
            rows: 0,
            told: 0,
            wrong: None,
        }
    }

    /// Takes one whole packet, its header included. Returns the verdict with the last one.
    ///
    /// An error means that the connection cannot be used any more.
    pub(crate) fn packet<'a>(
        &mut self,
        packet: &'a [u8],
    ) -> Result<Option<Verdict<'a>>, WalkError> {
        let mut rest = packet;
        while !rest.is_empty() {
            // A piece without bytes stands for a packet that is left out.
            let Some(piece) = self.walk.next(rest)? else {
                return Err(Malformed::Truncated("packet").into());
            };
            rest = rest.get(piece.bytes().len()..).unwrap_or_default();
            if let Piece::Err(_) = piece {
                return Ok(Some(Verdict::Err(ErrPacket::parse(piece.payload())?)));
            }
            self.piece(&piece)?;
        }
        // An end of columns that is left out may be the end of all.
        self.walk.next(&[])?;
        Ok(self.walk.is_done().then(|| self.verdict()))
    }

    fn piece(&mut self, piece: &Piece<'_>) -> Result<(), Malformed> {
        match piece {
            Piece::ColumnCount(_) => {
                let count = Reader::new(piece.payload()).lenenc_int("column count")?;
                self.columns = self
                    .columns
                    .saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
            }
            Piece::Row(row) => {
                self.rows = self.rows.saturating_add(1);
                if self.wants_value() {
                    let value = self.first_value(&row[HEADER_LEN..])?;
                    self.value(value);
                }
            }
            Piece::Ok(_) => {
                let affected = OkPacket::parse(piece.payload())?.affected_rows;
                self.told = self
                    .told
                    .saturating_add(u32::try_from(affected).unwrap_or(u32::MAX));
                if self.wants_rows() {
                    self.blame(|| "an OK packet instead of rows".into());
                }
            }
            Piece::PrepareOk(_) => {
                let mut reader = Reader::new(piece.payload());
                reader.u8("OK header")?;
                self.told = reader.u32("statement id")?;
            }
            Piece::LocalInfile(_) => return Err(Malformed::Invalid("request for a local file")),
            _ => {}
        }
        Ok(())
    }

    fn wants_value(&self) -> bool {
        matches!(
            self.expectation,
            Expectation::OneValue | Expectation::Token(_) | Expectation::OwnToken
        )
    }

    fn wants_rows(&self) -> bool {
        self.wants_value() || matches!(self.expectation, Expectation::Rows { .. })
    }

    /// The first value of a row, `None` if it is NULL. What comes later in a long row is not seen.
    fn first_value<'a>(&self, row: &'a [u8]) -> Result<Option<&'a [u8]>, Malformed> {
        let mut reader = Reader::new(row);
        if self.form == Form::Text {
            return reader.text_column("row");
        }
        reader.u8("row header")?;
        let nulls = reader.bytes((self.columns as usize + 9) / 8, "NULL bitmap")?;
        if nulls.first().is_some_and(|bits| bits & 0b100 != 0) {
            return Ok(None);
        }
        match self.expectation {
            Expectation::Token(_) => reader.lenenc_bytes("row").map(Some),
            _ => Ok(Some(reader.rest())),
        }
    }

    fn value(&mut self, value: Option<&[u8]>) {
        let Some(value) = value else {
            return self.blame(|| "NULL".into());
        };
        if let Expectation::Token(token) = self.expectation {
            let wanted = token.text();
            if value != wanted.bytes() {
                let found = value[..value.len().min(100)].escape_ascii();
                self.blame(|| format!("{found} instead of {}", wanted.bytes().escape_ascii()));
            }
        }
    }

    fn verdict(&mut self) -> Verdict<'static> {
        let (columns, rows, told) = (self.columns, self.rows, self.told);
        let right = match self.expectation {
            Expectation::Anything => true,
            Expectation::Prepared => return Verdict::Prepared(told),
            Expectation::Pong => (columns, rows) == (0, 0),
            Expectation::Affected(due) => (columns, rows, told) == (0, 0, due),
            Expectation::Rows { min, max } => (min..=max).contains(&rows),
            Expectation::OneValue | Expectation::Token(_) | Expectation::OwnToken => {
                (columns, rows) == (1, 1)
            }
        };
        if !right {
            self.blame(|| format!("{rows} rows and {columns} columns, {told} rows changed"));
        }
        self.wrong.take().map_or(Verdict::Right, Verdict::Wrong)
    }

    fn blame(&mut self, what: impl FnOnce() -> String) {
        if self.wrong.is_none() {
            self.wrong = Some(what().into());
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
