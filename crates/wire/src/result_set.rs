//! Small text result sets: read whole where Myriad asks the backend something itself.

use crate::response::Piece;
use crate::{Malformed, Reader};

/// Collects the rows of an answer to one of our own statements. Bounded by what we ask for. Text in a character set of
/// several bytes for each character, as `character_set_results` may be one, is had in UTF-8.
#[derive(Clone, Debug, Default)]
pub struct TextResultSet {
    columns: usize,
    /// The values of all rows, one after the other.
    values: Vec<Option<Vec<u8>>>,
    row: Vec<u8>,
    /// The column definition that is under way.
    definition: Vec<u8>,
    /// What columns are said to be.
    definitions: Vec<Definition>,
}

/// What a column is said to be, as far as it matters here.
#[derive(Clone, Copy, Debug, Default)]
struct Definition {
    /// The number of the collation; 0 if nothing was said of it.
    collation: u16,
    is_number: bool,
    /// One digit wide.
    is_switch: bool,
}

/// Bytes at the end of a column definition that hold its fixed part. Source: "Column Definition" in the
/// MySQL manual.
const FIXED_PART: usize = 12;

impl TextResultSet {
    /// Takes in the next piece of the answer.
    pub fn piece(&mut self, piece: &Piece<'_>) -> Result<(), Malformed> {
        match piece {
            Piece::ColumnCount(_) => {
                let count = Reader::new(piece.payload()).lenenc_int("column count")?;
                self.columns = usize::try_from(count).unwrap_or(usize::MAX);
            }
            Piece::Column(bytes) => {
                self.complete_definition();
                self.definition.extend_from_slice(bytes);
            }
            Piece::Row(bytes) => {
                self.complete_definition();
                self.complete_row()?;
                self.row.extend_from_slice(bytes);
            }
            Piece::Rest(bytes) if !self.row.is_empty() => self.row.extend_from_slice(bytes),
            Piece::Rest(bytes) if !self.definition.is_empty() => {
                self.definition.extend_from_slice(bytes);
            }
            Piece::ColumnsEnd(_) => self.complete_definition(),
            Piece::RowsEnd(_) => {
                self.complete_definition();
                self.complete_row()?;
            }
            _ => {}
        }
        Ok(())
    }

    /// The rows, each with as many values as there are columns.
    pub fn rows(&self) -> impl Iterator<Item = &[Option<Vec<u8>>]> {
        self.values.chunks_exact(self.columns.max(1))
    }

    /// The value in the first row's column `index`, if there is one and it is not NULL.
    pub fn first(&self, index: usize) -> Option<&[u8]> {
        self.rows().next()?.get(index)?.as_deref()
    }

    /// The number of the collation that the first column is said to have; `None` if nothing was said of it.
    pub fn collation(&self) -> Option<u16> {
        let first = self.definitions.first()?.collation;
        (first != 0).then_some(first)
    }

    /// True if a column is said to be a BIGINT of one digit: so servers tell a variable that is ON or OFF.
    pub fn is_switch(&self, column: usize) -> bool {
        let definition = self.definitions.get(column);
        definition.is_some_and(|definition| definition.is_switch)
    }

    fn complete_definition(&mut self) {
        if self.definition.is_empty() {
            return;
        }
        let fixed: Option<&[u8; FIXED_PART]> = self.definition.last_chunk();
        let definition = fixed.map(|fixed| Definition {
            collation: u16::from_le_bytes([fixed[0], fixed[1]]),
            // DECIMAL, the integers and floats, YEAR.
            is_number: matches!(fixed[6], 0..=5 | 8 | 9 | 13 | 246),
            is_switch: fixed[6] == 8 && fixed[2..6] == [1, 0, 0, 0],
        });
        self.definitions.push(definition.unwrap_or_default());
        self.definition.clear();
    }

    fn complete_row(&mut self) -> Result<(), Malformed> {
        if self.row.is_empty() {
            return Ok(());
        }
        let mut reader = Reader::new(&self.row[crate::HEADER_LEN..]);
        for column in 0..self.columns {
            let definition = self.definitions.get(column).copied().unwrap_or_default();
            let value = reader.text_column("row")?;
            self.values
                .push(value.map(|value| narrow(value, definition)));
        }
        self.row.clear();
        Ok(())
    }
}

/// A value of a column, in UTF-8 if its collation is one of a character set of several bytes for each character. Source of
/// the numbers: `information_schema.COLLATIONS` of MySQL 9.7 and MariaDB 10.11.
fn narrow(value: &[u8], column: Definition) -> Vec<u8> {
    if column.is_number {
        // MariaDB says the digits in such a character set, too, and that they are bytes.
        return value.iter().copied().filter(|byte| *byte != 0).collect();
    }
    let units = |unit: fn([u8; 2]) -> u16| {
        let pairs = value
            .chunks_exact(2)
            .map(move |pair| unit([pair[0], pair[1]]));
        let letters = char::decode_utf16(pairs);
        letters.map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER))
    };
    let text: String = match column.collation {
        35 | 54 | 55 | 90 | 101..=124 | 128..=151 | 159 => units(u16::from_be_bytes).collect(),
        56 | 62 => units(u16::from_le_bytes).collect(),
        60 | 61 | 160..=183 => {
            let letters = value.chunks_exact(4);
            let letters =
                letters.map(|four| u32::from_be_bytes([four[0], four[1], four[2], four[3]]));
            letters
                .map(|letter| char::from_u32(letter).unwrap_or(char::REPLACEMENT_CHARACTER))
                .collect()
        }
        _ => return value.to_vec(),
    };
    text.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_had_in_utf8() {
        for (value, collation) in [
            (&b"a\xc3\xa4"[..], 45),
            (b"\0a\0\xe4", 35),
            (b"\0a\0\xe4", 54),
            (b"a\0\xe4\0", 56),
            (b"\0\0\0a\0\0\0\xe4", 60),
        ] {
            let column = Definition {
                collation,
                ..Definition::default()
            };
            let text = "a\u{e4}".as_bytes();
            assert_eq!(narrow(value, column), text, "{collation}");
        }
        // Bytes and numbers are said to have 63.
        for (is_number, expected) in [(false, &b"\x007"[..]), (true, b"7")] {
            let column = Definition {
                collation: 63,
                is_number,
                ..Definition::default()
            };
            assert_eq!(narrow(b"\x007", column), expected);
        }
    }
}
