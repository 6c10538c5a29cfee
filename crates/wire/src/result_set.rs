//! Small text result sets: read whole where Myriad asks the backend something itself.

use crate::response::Piece;
use crate::{Malformed, Reader};

/// Collects the rows of an answer to one of our own statements. Bounded by what we ask for.
#[derive(Clone, Debug, Default)]
pub struct TextResultSet {
    columns: usize,
    /// The values of all rows, one after the other.
    values: Vec<Option<Vec<u8>>>,
    row: Vec<u8>,
    /// The definition of the first column; what is beyond is not kept.
    definition: Vec<u8>,
    /// How many definitions came.
    definitions: usize,
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
                self.definitions += 1;
                self.define(bytes);
            }
            Piece::Row(bytes) => {
                self.complete_row()?;
                self.row.extend_from_slice(bytes);
            }
            Piece::Rest(bytes) if !self.row.is_empty() => self.row.extend_from_slice(bytes),
            Piece::Rest(bytes) => self.define(bytes),
            Piece::RowsEnd(_) => self.complete_row()?,
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
        let fixed: &[u8; FIXED_PART] = self.definition.last_chunk()?;
        Some(u16::from_le_bytes([fixed[0], fixed[1]]))
    }

    fn define(&mut self, bytes: &[u8]) {
        if self.definitions == 1 {
            self.definition.extend_from_slice(bytes);
        }
    }

    fn complete_row(&mut self) -> Result<(), Malformed> {
        if self.row.is_empty() {
            return Ok(());
        }
        let mut reader = Reader::new(&self.row[crate::HEADER_LEN..]);
        for _ in 0..self.columns {
            self.values
                .push(reader.text_column("row")?.map(<[u8]>::to_vec));
        }
        self.row.clear();
        Ok(())
    }
}
