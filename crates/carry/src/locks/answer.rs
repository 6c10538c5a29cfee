//! What the server's answer to a call of a lock's function says: the value in its first column, and what such a column
//! is like, so that the front door can give the same answer.

use session::statement::LockTells;
use wire::{
    ExtendedCapabilities, OkPacket, Piece, Reader, ResponseWalk, ServerStatus, Told, Translation,
    put_lenenc_bytes, write_packet,
};

use crate::conditions::binary_rows::Form;

/// Bytes at the end of a column definition that say what it is like. Source: "Column Definition" in the MySQL manual.
const FIXED_LEN: usize = 12;

/// Where among them the type stands.
const TYPE: usize = 6;

/// More of a row is not looked at.
const ROW_MAX: usize = 64;

/// What a column with the value of `GET_LOCK` is like, as the server has defined it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockColumn([u8; FIXED_LEN]);

/// What came of an answer so far.
#[derive(Debug, Default)]
pub struct LockAnswer {
    columns: u16,
    /// The last bytes of the first column's definition.
    definition: Vec<u8>,
    /// The beginning of the last row.
    row: Vec<u8>,
    part: Part,
}

/// What is under way, and may go on with the next piece.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Part {
    #[default]
    Other,
    FirstColumn,
    Row,
}

/// What a call returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returned {
    /// The digit of a lock that was got.
    One,
    /// 0 or NULL.
    Not,
    /// The answer does not say it.
    Untold,
}

impl LockAnswer {
    /// Takes note of a piece.
    pub fn note(&mut self, piece: &Piece<'_>) {
        match piece {
            Piece::Column(_) => {
                self.columns = self.columns.saturating_add(1);
                self.part = match self.columns {
                    1 => Part::FirstColumn,
                    _ => Part::Other,
                };
                self.take(piece.payload());
            }
            Piece::Row(_) => {
                self.part = Part::Row;
                self.row.clear();
                self.take(piece.payload());
            }
            Piece::Rest(bytes) => self.take(bytes),
            _ => self.part = Part::Other,
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        match self.part {
            Part::FirstColumn => {
                let kept = &bytes[bytes.len().saturating_sub(FIXED_LEN)..];
                self.definition.extend_from_slice(kept);
                let surplus = self.definition.len().saturating_sub(FIXED_LEN);
                self.definition.drain(..surplus);
            }
            Part::Row => {
                let room = ROW_MAX.saturating_sub(self.row.len());
                self.row.extend_from_slice(&bytes[..bytes.len().min(room)]);
            }
            Part::Other => {}
        }
    }

    /// What the first column is like, if the answer had rows.
    pub fn column(&self) -> Option<LockColumn> {
        let fixed = self.definition.first_chunk().copied();
        fixed.filter(|_| !self.row.is_empty()).map(LockColumn)
    }

    /// What the call returned.
    pub(crate) fn returned(&self, tells: LockTells, form: Form) -> Returned {
        let first = match form {
            Form::Text => self.first_of_text(),
            Form::Binary => self.first_of_binary(),
        };
        match (tells, first) {
            (LockTells::Nothing, _) | (_, None) => Returned::Untold,
            (LockTells::One, Some(Some(b"1"))) | (LockTells::NotNull, Some(Some(_))) => {
                Returned::One
            }
            (_, Some(_)) => Returned::Not,
        }
    }

    /// The first value of the row, `Some(None)` if that is NULL.
    fn first_of_text(&self) -> Option<Option<&[u8]>> {
        if self.row.is_empty() {
            return None;
        }
        Reader::new(&self.row).text_column("row").ok()
    }

    /// The first value of a row of the binary protocol. Of numbers only whether they are 1 is said.
    fn first_of_binary(&self) -> Option<Option<&[u8]>> {
        let (_, row) = self.row.split_first()?;
        let bitmap = (usize::from(self.columns) + 9) / 8;
        let (nulls, values) = row.split_at_checked(bitmap)?;
        if nulls.first()? & 0b100 != 0 {
            return Some(None);
        }
        let number = |len: usize| {
            let bytes = values.get(..len)?;
            let is_one = bytes[0] == 1 && bytes[1..].iter().all(|&byte| byte == 0);
            Some(Some(if is_one { &b"1"[..] } else { b"" }))
        };
        match width(*self.definition.get(TYPE)?) {
            Some(len) => number(len),
            None => Reader::new(values).lenenc_bytes("value").ok().map(Some),
        }
    }
}

/// How many bytes a whole number of that type has in the binary protocol; `None` of other types.
fn width(kind: u8) -> Option<usize> {
    match kind {
        1 => Some(1),
        2 => Some(2),
        3 | 9 => Some(4),
        8 => Some(8),
        _ => None,
    }
}

impl LockColumn {
    /// Tells a client what the server would that has nothing but this column, and a row with 0, or with NULL.
    pub fn tell(
        self,
        (name, is_null, form): (&[u8], bool, Form),
        extended: ExtendedCapabilities,
        (translation, status): (Translation, ServerStatus),
        outbox: &mut Vec<u8>,
    ) {
        let answer = self.answer((name, is_null, form), extended, status);
        let (mut walk, mut translation) = (ResponseWalk::new(true, 0), translation);
        let mut at = 0;
        while let Ok(Some(piece)) = walk.next(&answer[at..]) {
            at += piece.bytes().len();
            let told = Told {
                status,
                // The end of the columns is a piece without bytes, so the walk is asked.
                next_sequence_id: walk.next_sequence_id(),
                ..Told::default()
            };
            let done = translation.piece(&piece, &told, outbox);
            debug_assert!(done.is_ok(), "an answer of our own is malformed");
        }
        debug_assert_eq!(at, answer.len(), "an answer of our own goes on");
    }

    /// The answer with this column and its row, as a backend would send it.
    fn answer(
        self,
        (name, is_null, form): (&[u8], bool, Form),
        extended: ExtendedCapabilities,
        status: ServerStatus,
    ) -> Vec<u8> {
        let mut definition = Vec::new();
        for text in [&b"def"[..], b"", b"", b"", name, b""] {
            put_lenenc_bytes(&mut definition, text);
        }
        if extended.contains(ExtendedCapabilities::EXTENDED_METADATA) {
            put_lenenc_bytes(&mut definition, b"");
        }
        definition.push(FIXED_LEN as u8);
        definition.extend_from_slice(&self.0);
        let row = match (form, is_null) {
            (Form::Text, false) => b"\x010".to_vec(),
            (Form::Text, true) => vec![0xfb],
            (Form::Binary, true) => vec![0, 0b100],
            (Form::Binary, false) => {
                let mut row = vec![0, 0];
                row.resize(2 + width(self.0[TYPE]).unwrap_or(8), 0);
                row
            }
        };
        let mut answer = Vec::new();
        let mut sequence_id = 1;
        for payload in [&[1][..], &definition, &row] {
            sequence_id = write_packet(&mut answer, sequence_id, payload);
        }
        let ok = OkPacket {
            status,
            ..OkPacket::default()
        };
        ok.encode(&mut answer, sequence_id, 0xfe);
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As MariaDB and MySQL define it.
    const INT: [u8; FIXED_LEN] = [63, 0, 1, 0, 0, 0, 3, 0x80, 0, 0, 0, 0];
    const BIGINT: [u8; FIXED_LEN] = [63, 0, 1, 0, 0, 0, 8, 0x80, 0, 0, 0, 0];
    const STRING: [u8; FIXED_LEN] = [45, 0, 4, 0, 0, 0, 253, 0, 0, 31, 0, 0];

    /// An answer of so many columns, the first like this, with one row, which comes cut at every place.
    fn answers(
        columns: u8,
        fixed: [u8; FIXED_LEN],
        row: &[u8],
    ) -> impl Iterator<Item = LockAnswer> {
        let definition = [&b"\x03def\0\0\0\x01x\0\x0c"[..], &fixed].concat();
        let mut bytes = Vec::new();
        let mut sequence_id = write_packet(&mut bytes, 1, &[columns]);
        for _ in 0..columns {
            sequence_id = write_packet(&mut bytes, sequence_id, &definition);
        }
        sequence_id = write_packet(&mut bytes, sequence_id, row);
        OkPacket::default().encode(&mut bytes, sequence_id, 0xfe);
        (1..bytes.len()).map(move |cut| {
            let (mut answer, mut walk) = (LockAnswer::default(), ResponseWalk::new(true, 0));
            let (mut at, mut end) = (0, cut);
            loop {
                match walk.next(&bytes[at..end]) {
                    Ok(Some(piece)) => {
                        at += piece.bytes().len();
                        answer.note(&piece);
                    }
                    _ if end == bytes.len() => return answer,
                    _ => end = bytes.len(),
                }
            }
        })
    }

    #[test]
    fn the_first_value_tells_what_the_call_returned() {
        use Form::{Binary, Text};
        use LockTells::{NotNull, Nothing, One};
        for (columns, fixed, row, form, tells, expected) in [
            (1, INT, &b"\x011"[..], Text, One, Returned::One),
            (1, INT, b"\x010", Text, One, Returned::Not),
            (1, INT, b"\xfb", Text, One, Returned::Not),
            (2, INT, b"\x011\x06prefix", Text, One, Returned::One),
            (1, BIGINT, b"\x011", Text, Nothing, Returned::Untold),
            (1, BIGINT, b"\x0a1700000000", Text, NotNull, Returned::One),
            (1, BIGINT, b"\xfb", Text, NotNull, Returned::Not),
            (1, INT, b"\0\0\x01\0\0\0", Binary, One, Returned::One),
            (1, INT, b"\0\0\0\0\0\0", Binary, One, Returned::Not),
            (1, INT, b"\0\x04", Binary, One, Returned::Not),
            (
                1,
                BIGINT,
                b"\0\0\x01\0\0\0\0\0\0\0",
                Binary,
                One,
                Returned::One,
            ),
            (
                1,
                BIGINT,
                b"\0\0\x01\x01\0\0\0\0\0\0",
                Binary,
                One,
                Returned::Not,
            ),
            (
                2,
                BIGINT,
                b"\0\0\x01\0\0\0\0\0\0\0\x06prefix",
                Binary,
                One,
                Returned::One,
            ),
            (1, STRING, b"\0\0\x011", Binary, One, Returned::One),
            (1, STRING, b"\0\0\x010", Binary, One, Returned::Not),
        ] {
            for answer in answers(columns, fixed, row) {
                assert_eq!(answer.returned(tells, form), expected, "{row:?}");
                assert_eq!(answer.column(), Some(LockColumn(fixed)));
            }
        }
        let none = LockAnswer::default();
        assert_eq!(none.returned(One, Text), Returned::Untold);
        assert_eq!(none.column(), None);
    }

    #[test]
    fn the_front_doors_own_answer_reads_as_the_servers_in_every_dialect() {
        for (fixed, form) in [
            (INT, Form::Text),
            (INT, Form::Binary),
            (BIGINT, Form::Text),
            (BIGINT, Form::Binary),
        ] {
            // The command came in several packets, so the answer begins with a later sequence id.
            for (is_null, deprecate_eof, offset) in [
                (false, true, 0),
                (true, true, 0),
                (false, false, 0),
                (true, false, 0),
                (false, true, 2),
                (false, false, 2),
            ] {
                let mut told = Vec::new();
                let dialect = wire::ClientDialect {
                    deprecate_eof,
                    ..wire::ClientDialect::default()
                };
                LockColumn(fixed).tell(
                    (b"GET_LOCK('a', 1)", is_null, form),
                    ExtendedCapabilities::empty(),
                    (Translation::new(dialect, offset), ServerStatus::AUTOCOMMIT),
                    &mut told,
                );
                let mut walk = ResponseWalk::new(deprecate_eof, offset);
                let (mut answer, mut at, mut ended) = (LockAnswer::default(), 0, false);
                while let Some(piece) = walk.next(&told[at..]).expect("an answer in order") {
                    at += piece.bytes().len();
                    answer.note(&piece);
                    ended |= matches!(piece, Piece::RowsEnd(_));
                }
                assert!(ended && at == told.len());
                assert_eq!(answer.column(), Some(LockColumn(fixed)));
                assert_eq!(answer.returned(LockTells::One, form), Returned::Not);
                let not_null = answer.returned(LockTells::NotNull, form);
                assert_eq!(not_null == Returned::Not, is_null);
            }
        }
    }
}
