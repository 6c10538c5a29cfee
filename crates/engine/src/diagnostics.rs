//! What a session can ask about the rows of its last statement (rule 10): counted from the answer itself, and
//! `FOUND_ROWS()` read back where rows were counted that were never sent. Conditions are in `conditions`.

pub(crate) mod capture;

use events::Io;
use membership::Key;
use session::statement::{Kind, Traits};
use wire::{OkPacket, Piece, PrepareOk, ServerStatus, TextResultSet};

use crate::ask::OfSession;
use crate::backend::{Backend, ClientCommand};
use crate::client::Client;
use crate::commands::answers::Ending;
use crate::{Engine, Mail, Turn};

/// What an answer says of its statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
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
    pub(crate) fn piece(&mut self, piece: &Piece<'_>, kind: Kind) {
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
    pub(crate) fn rows(&mut self, count: u64) {
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

/// True if the rows of an answer are none that `FOUND_ROWS()` tells of: those of RETURNING, of upkeep, be it of partitions,
/// and what is fetched from a cursor, which counted them when it was opened.
pub(crate) fn keeps_found_rows(command: &ClientCommand) -> bool {
    let by_kind = matches!(
        command.kind,
        Kind::Insert
            | Kind::Replace
            | Kind::Delete
            | Kind::Admin
            | Kind::Ddl
            | Kind::Handler
            | Kind::Xa
    );
    by_kind || command.fetches() || command.traits.contains(Traits::KEEPS_FOUND_ROWS)
}

/// True of statements that may count no rows although they succeed. The backend's number is then another session's, so
/// it is asked for only after rows came.
fn may_count_none(kind: Kind) -> bool {
    matches!(kind, Kind::Call | Kind::Prepared | Kind::Multiple)
}

impl Backend {
    /// Asks for what FOUND_ROWS() is, if that is known here alone and something of our own is about to change it.
    /// True if so.
    pub(crate) fn ask_for_found_rows(&mut self, outbox: &mut Vec<u8>) -> bool {
        if !std::mem::take(&mut self.counted_rows) {
            return false;
        }
        self.ask_of_session(outbox, OfSession::FoundRows, b"SELECT FOUND_ROWS() LIMIT 1");
        true
    }

    /// Notes whether only this backend knows what FOUND_ROWS() is after an answer.
    pub(crate) fn note_found_rows(&mut self, command: &ClientCommand, ending: &Ending) {
        // What is explained would count them.
        let keeps = command.traits.contains(Traits::KEEPS_FOUND_ROWS);
        let unsent = command.traits.contains(Traits::COUNTS_UNSENT_ROWS) && !keeps;
        let certain = !may_count_none(command.kind);
        let counted = certain && *ending == Ending::Ok || command.counts.found.is_some();
        // Of several statements, those whose rows count may have been others than the last.
        let several = command.traits.contains(Traits::COUNTS_ROWS);
        let mixed = keeps && several && command.counts.found.is_some();
        let told = command.counts.found.is_some() && !keeps_found_rows(command);
        // None of its rows was sent yet.
        let opened = command.executes() && self.status.contains(ServerStatus::CURSOR_EXISTS);
        if opened || unsent && counted && !command.fetches() || mixed {
            self.counted_rows = true;
        } else if told {
            self.counted_rows = false;
        }
    }
}

impl Engine {
    /// Asks for what FOUND_ROWS() is, before something of our own changes it. False if that is known.
    pub(crate) fn read_found_rows<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
    ) -> bool {
        let Some(backend) = self.pool.get_mut(key) else {
            return false;
        };
        if !backend.ask_for_found_rows(turn.io.outbox(backend.handle)) {
            return false;
        }
        self.counters.read_backs += 1;
        true
    }
}

impl Client {
    /// Its backend told the number.
    pub(crate) fn learn_found_rows(&mut self, rows: &TextResultSet) {
        let digits = rows.first(0).and_then(|value| str::from_utf8(value).ok());
        let found = digits.and_then(|digits| digits.parse().ok());
        self.capture.found_rows = found.or(self.capture.found_rows);
    }
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
