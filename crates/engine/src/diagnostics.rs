//! What a session can ask about the rows of its last statement (rule 10): counted from the answer itself, and
//! `FOUND_ROWS()` read back where rows were counted that were never sent. Conditions are in `conditions`.

pub(crate) mod capture;

use events::Io;
use membership::Key;
use session::statement::{Flavor, Kind, PinReason, Statement, Traits};
use wire::{OkPacket, Piece, PrepareOk, ServerStatus, TextResultSet, code};

use crate::backend::{Backend, ClientCommand, Purpose, RestorePart};
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
    pub(crate) fn piece(&mut self, piece: &Piece<'_>, (kind, flavor): (Kind, Flavor)) {
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
            Piece::Row(_) => *self.sent.get_or_insert_default() += 1,
            // MariaDB counts the rows that came before an ERR, MySQL does not.
            Piece::Err(_) if flavor == Flavor::MariaDb => self.found = self.sent.or(self.found),
            Piece::PrepareOk(_) => {
                let told = PrepareOk::parse(piece.payload());
                self.warnings = told.map_or(0, |told| told.warnings);
                self.warned = self.warnings > 0;
            }
            Piece::Text(_) => self.text = true,
            _ => {}
        }
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

/// True if rows were being sent when the statement failed.
fn broken_off(command: &ClientCommand, ending: &Ending) -> bool {
    let sent = command.counts.sent.is_some() && !keeps_found_rows(command);
    sent && matches!(ending, Ending::Err(_))
}

/// True if a statement may count rows, and may not.
pub(crate) fn may_leave_found_rows(statement: &Statement) -> bool {
    matches!(statement.kind, Kind::Call | Kind::Prepared | Kind::Multiple)
        && statement.traits.contains(Traits::COUNTS_UNSENT_ROWS)
        && !statement
            .traits
            .intersects(Traits::NEEDS_CONDITIONS | Traits::BODY_COUNTS)
}

impl Backend {
    /// Asks for what FOUND_ROWS() is, if that is known here alone and something of our own is about to change it.
    /// True if so.
    pub(crate) fn ask_for_found_rows(&mut self, outbox: &mut Vec<u8>) -> bool {
        if !std::mem::take(&mut self.counted_rows) {
            return false;
        }
        self.put_query(outbox, b"SELECT FOUND_ROWS() LIMIT 1");
        self.expect(Purpose::ReadFoundRows(TextResultSet::default()));
        true
    }

    /// Notes whether only this backend knows what FOUND_ROWS() is after an answer.
    pub(crate) fn note_found_rows(
        &mut self,
        command: &ClientCommand,
        ending: &Ending,
        (flavor, limits_rows): (Flavor, bool),
    ) {
        // What is explained would count them.
        let keeps = command.traits.contains(Traits::KEEPS_FOUND_ROWS);
        let unsent = command.traits.contains(Traits::COUNTS_UNSENT_ROWS) && !keeps;
        let counted = *ending == Ending::Ok || command.counts.found.is_some();
        // Of several statements, those whose rows count may have been others than the last.
        let several = command.traits.contains(Traits::COUNTS_ROWS);
        let mixed = keeps && several && command.counts.found.is_some();
        // The rows of a subquery are counted, too, unless another count follows; so is the first of several that are
        // selected into variables.
        let too_many = [code::SUBQUERY_ROWS, code::TOO_MANY_ROWS].map(Some);
        let too_many = flavor == Flavor::MariaDb && too_many.contains(&ending.code());
        let told = command.counts.found.is_some() && !keeps_found_rows(command);
        // A row that fails leaves the number of those before it.
        // Of a UNION, those of the part that it is in.
        let of_a_row = ending
            .code()
            .is_some_and(|code| code::OF_A_ROW.contains(&code));
        let broken =
            flavor == Flavor::MariaDb && (unsent && of_a_row || broken_off(command, ending));
        // MariaDB counts all rows of a UNION and of VALUES, of which this lets some be sent only.
        let limited = told && flavor == Flavor::MariaDb && {
            let set = self.session.variables.get(b"sql_select_limit");
            limits_rows || set.is_some() || command.traits.contains(Traits::FOR_STATEMENT)
        };
        let unsent = unsent || limited;
        // None of its rows was sent yet.
        let opened = command.executes() && self.status.contains(ServerStatus::CURSOR_EXISTS);
        if opened || unsent && counted && !command.fetches() || mixed || too_many && !told || broken
        {
            self.counted_rows = true;
        } else if told {
            self.counted_rows = false;
        }
        self.counted_own = told;
    }

    /// Before a CALL, or the EXECUTE of a text that is not known well, which may count rows or not: then FOUND_ROWS()
    /// must be what it is for the session.
    pub(crate) fn put_found_rows(
        &mut self,
        outbox: &mut Vec<u8>,
        (client, statement): (&Client, &Statement),
        flavor: Flavor,
    ) {
        let may_leave = may_leave_found_rows(statement);
        let is_known = self.counted_rows || self.counted_own;
        // It would be among what the session has traced.
        let is_traced = client.pins.contains(PinReason::Profiling);
        if may_leave && !is_known && !is_traced && client.capture.found_few(flavor) {
            self.put_query(outbox, client.capture.found_again(flavor).as_bytes());
            self.expect(Purpose::Restore(RestorePart::FoundRows));
        }
    }
}

impl Engine {
    /// True if sessions begin with a `sql_select_limit`.
    pub(crate) fn limits_rows(&self) -> bool {
        self.facts.as_ref().is_some_and(|facts| facts.limits_rows)
    }

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

    /// The backend told the number.
    pub(crate) fn learn_found_rows(&mut self, key: Key, rows: &TextResultSet) {
        let client = self.pool.get(key).and_then(|backend| backend.client);
        let digits = rows
            .first(0)
            .and_then(|value| std::str::from_utf8(value).ok());
        let found = digits.and_then(|digits| digits.parse().ok());
        if let (Some(client), Some(found)) = (
            client.and_then(|client| self.clients.get_mut(client)),
            found,
        ) {
            client.capture.found_rows = Some(found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pieces: &[Piece<'_>], flavor: Flavor) -> Option<u64> {
        let mut counts = Counts::default();
        pieces
            .iter()
            .for_each(|piece| counts.piece(piece, (Kind::Call, flavor)));
        counts.found
    }

    #[test]
    fn rows_are_counted_by_mariadb_before_an_err_too_and_parameters_by_none() {
        let [begin, row, end] = [
            Piece::ColumnCount(b""),
            Piece::Row(b""),
            Piece::RowsEnd(b""),
        ];
        let err = Piece::Err(b"");
        let parameters = Piece::RowsEnd(b"\x07\0\0\x05\xfe\0\0\x08\x10\0\0");
        for (pieces, mariadb, mysql) in [
            (&[begin, row, row, err][..], Some(2), None),
            (&[begin, err], Some(0), None),
            (&[err], None, None),
            (&[begin, row, end], Some(1), Some(1)),
            (&[begin, row, end, err], Some(1), Some(1)),
            (&[begin, row, end, begin, err], Some(0), Some(1)),
            (
                &[begin, row, row, end, begin, row, parameters],
                Some(2),
                Some(2),
            ),
        ] {
            assert_eq!(found(pieces, Flavor::MariaDb), mariadb, "{pieces:?}");
            assert_eq!(found(pieces, Flavor::MySql), mysql, "{pieces:?}");
        }
    }
}
