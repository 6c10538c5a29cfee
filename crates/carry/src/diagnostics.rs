//! Row counts of a statement, counted from its answer (rule 10). Conditions are in `conditions`.

pub mod capture;

use session::statement::Kind;
use wire::{OkPacket, Piece, PrepareOk, ServerStatus};

/// What an answer says of its statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Rows that were changed.
    pub affected: u64,
    /// Rows that were sent so far in the result set at hand, if there is one.
    pub sent: Option<u64>,
    /// Rows of the last result set that counts, if there was one.
    pub found: Option<u64>,
    /// The last of the answers was a result set.
    pub result_set: bool,
    /// Warnings, of the last of the answers.
    pub warnings: u16,
    /// One of the answers said that there were warnings.
    pub warned: bool,
    /// The answer is a text, which says nothing of rows.
    pub text: bool,
}

impl Counts {
    /// Takes note of a piece of the answer to such a statement.
    pub fn piece(&mut self, piece: &Piece<'_>, kind: Kind) {
        match piece {
            Piece::Ok(_) => self.ended(false),
            Piece::RowsEnd(_) if kind == Kind::Call && tells_parameters(piece) => {
                self.result_set = true;
            }
            Piece::RowsEnd(_) => self.ended(true),
            Piece::ColumnCount(_) => {
                *self = Self {
                    found: self.found,
                    warned: self.warned,
                    sent: Some(0),
                    ..Self::default()
                }
            }
            Piece::Row(_) => self.rows(1),
            Piece::PrepareOk(_) => {
                let told = PrepareOk::parse(piece.payload());
                self.warnings = told.map_or(0, |told| told.warnings);
                self.warned = self.warnings > 0;
            }
            Piece::Text(_) => self.text = true,
            _ => {}
        }
    }

    /// Counts further rows.
    pub fn rows(&mut self, count: u64) {
        *self.sent.get_or_insert_default() += count;
    }

    /// An answer is complete, with rows or without; those to further statements may follow.
    fn ended(&mut self, with_rows: bool) {
        self.result_set = with_rows;
        if with_rows {
            self.found = Some(self.sent.unwrap_or_default());
        }
    }
}

/// True of the end of a result set that tells parameters of a CALL: it is none that `FOUND_ROWS()` tells of.
fn tells_parameters(end: &Piece<'_>) -> bool {
    let end = OkPacket::parse(end.payload());
    end.is_ok_and(|end| end.status.contains(ServerStatus::PS_OUT_PARAMS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_counted_of_complete_result_sets_but_for_parameters() {
        let [begin, row, end] = [
            Piece::ColumnCount(b""),
            Piece::Row(b""),
            Piece::RowsEnd(b""),
        ];
        let err = Piece::Err(b"");
        let parameters = Piece::RowsEnd(b"\x07\0\0\x05\xfe\0\0\x08\x10\0\0");
        for (pieces, found) in [
            (&[begin, row, row, err][..], None),
            (&[err], None),
            (&[begin, row, end], Some(1)),
            (&[begin, row, end, begin, err], Some(1)),
            (&[begin, row, row, end, begin, row, parameters], Some(2)),
        ] {
            let mut counts = Counts::default();
            pieces
                .iter()
                .for_each(|piece| counts.piece(piece, Kind::Call));
            assert_eq!(counts.found, found, "{pieces:?}");
        }
    }
}
