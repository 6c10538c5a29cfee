//! Whether an answer is the right one: takes its packets one by one and judges at the last.

use wire::{ErrPacket, HEADER_LEN, Malformed, Piece, Reader, ResponseWalk, WalkError};

use crate::workload::Token;

/// What the answer to a command must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expectation {
    /// One row of one column that is not NULL.
    OneValue,
    /// One row of one column that holds exactly this text.
    Token(Token),
    /// An OK packet.
    Pong,
}

/// An answer that is coming in.
#[derive(Debug)]
pub(crate) struct Answer {
    walk: ResponseWalk,
    expectation: Expectation,
    columns: u64,
    rows: u64,
    /// The first thing found wrong.
    wrong: Option<Box<str>>,
}

/// What a complete answer was.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict<'a> {
    /// What it had to be.
    Right,
    /// Another one; the text says what is wrong.
    Wrong(Box<str>),
    /// An error.
    Err(ErrPacket<'a>),
}

impl Answer {
    /// The answer to a command that is being sent.
    pub(crate) fn new(expectation: Expectation, deprecate_eof: bool) -> Self {
        Self {
            walk: ResponseWalk::new(deprecate_eof, 0),
            expectation,
            columns: 0,
            rows: 0,
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
        Ok(self.walk.is_done().then(|| self.verdict()))
    }

    fn piece(&mut self, piece: &Piece<'_>) -> Result<(), Malformed> {
        match piece {
            Piece::ColumnCount(_) => {
                self.columns += Reader::new(piece.payload()).lenenc_int("column count")?;
            }
            Piece::Row(row) => {
                self.rows += 1;
                let value = Reader::new(&row[HEADER_LEN..]).text_column("row")?;
                self.value(value);
            }
            Piece::Ok(_) if self.expectation != Expectation::Pong => {
                self.blame(|| "an OK packet instead of rows".into());
            }
            Piece::LocalInfile(_) => return Err(Malformed::Invalid("request for a local file")),
            _ => {}
        }
        Ok(())
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
        let due = match self.expectation {
            Expectation::Pong => (0, 0),
            Expectation::OneValue | Expectation::Token(_) => (1, 1),
        };
        let (columns, rows) = (self.columns, self.rows);
        if (columns, rows) != due {
            self.blame(|| format!("{rows} rows and {columns} columns"));
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
