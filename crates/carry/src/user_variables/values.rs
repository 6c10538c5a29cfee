//! What user variables have become: read back from the backend on which the session's statements may have
//! assigned them.

use session::{ColumnType, Told, UserValue, UserVariables};
use wire::{Piece, TextResultSet, WalkError};

/// Bytes at the end of a column definition that hold its fixed part. Source: "Column Definition" in
/// the MySQL manual.
const FIXED_PART: usize = 12;

/// A question about user variables, and its answer so far.
#[derive(Debug)]
pub struct ReadUserVariables {
    /// Names of variables, in the order of the columns.
    pub names: Vec<Box<[u8]>>,
    /// The end of the column definition at hand.
    pub definition: Vec<u8>,
    /// `None` for a variable that nobody has set.
    pub columns: Vec<Option<ColumnType>>,
    /// The rows that have come.
    pub rows: TextResultSet,
}

impl ReadUserVariables {
    /// Takes in a piece of the answer.
    pub fn piece(&mut self, piece: &Piece<'_>) -> Result<(), WalkError> {
        match piece {
            Piece::Column(bytes) => {
                self.complete_column();
                self.definition.extend_from_slice(bytes);
            }
            Piece::Rest(bytes) if !self.definition.is_empty() => {
                self.definition.extend_from_slice(bytes);
            }
            Piece::ColumnsEnd(_) => self.complete_column(),
            _ => {}
        }
        Ok(self.rows.piece(piece)?)
    }

    fn complete_column(&mut self) {
        if let Some(fixed) = self.definition.last_chunk() {
            self.columns.push(column_type(fixed));
        }
        self.definition.clear();
    }

    /// What `user` becomes with these values. `None` if one of them cannot be carried, nor can any of them if the session
    /// does without column definitions (`resultset_metadata`), which have their types.
    pub fn values(&self, mut user: UserVariables) -> Option<UserVariables> {
        let row = self.rows.rows().next()?;
        if self.columns.len() != row.len() {
            return None;
        }
        let told = self.columns.chunks_exact(4).zip(row.chunks_exact(4));
        for (name, (columns, values)) in self.names.iter().zip(told) {
            let [value, hex, charset, collation] = values else {
                return None;
            };
            let text = |value: &'_ Option<Vec<u8>>| value.clone().unwrap_or_default();
            let column = *columns.first()?;
            if column.is_none() && value.is_none() {
                // There was no row to set it from.
                continue;
            }
            let value = UserValue::told(&Told {
                column: column?,
                value: value.as_deref(),
                hex: &text(hex),
                charset: &text(charset),
                collation: &text(collation),
            })?;
            user.set(name, value);
        }
        (user.bytes() <= UserVariables::BYTES_MAX).then_some(user)
    }
}

/// The type of a variable; `None` if nobody has set it, which is shorter on MySQL than a text, and one byte longer on
/// MariaDB.
fn column_type(fixed: &[u8; FIXED_PART]) -> Option<ColumnType> {
    const DOUBLE: u8 = 5;
    const LONGLONG: u8 = 8;
    const NEWDECIMAL: u8 = 246;
    const VAR_STRING: u8 = 253;
    const UNSIGNED: u8 = 32;
    const LENGTH_UNSET: u32 = 1 << 24;
    let [_, _, a, b, c, d, kind, flags, ..] = *fixed;
    Some(match kind {
        VAR_STRING => return None,
        _ if u32::from_le_bytes([a, b, c, d]) == LENGTH_UNSET => return None,
        LONGLONG if flags & UNSIGNED != 0 => ColumnType::Unsigned,
        LONGLONG => ColumnType::Integer,
        DOUBLE => ColumnType::Double,
        NEWDECIMAL => ColumnType::Decimal,
        _ => ColumnType::Text,
    })
}
