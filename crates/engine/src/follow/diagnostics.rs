//! Row counts of a session: counted from answers, and asked of its backend where only that knows.

use carry::diagnostics::capture::Capture;
use carry::ending::Ending;
use events::Io;
use membership::Key;
use session::statement::{Kind, Traits};
use wire::{ServerStatus, TextResultSet};

use crate::record::backend::{Backend, ClientCommand, RestorePart, Step};
use crate::record::carried::{Carried, Kept};
use crate::record::client::Client;
use crate::record::records::Records;
use crate::record::shared::Mail;
use crate::record::turn::Turn;

/// Reads from a derived table, which empties the list of conditions on both
/// servers. Statements without a table leave it on MariaDB.
const CLEAR: &[u8] = b"SELECT 1 FROM (SELECT 1) AS cleared";

/// `ROW_COUNT()`, and `FOUND_ROWS()` where rows were counted that were never sent.
pub(crate) static ROW_COUNTS: Carried = Carried {
    answered: |pair, command, ending| {
        pair.backend.note_found_rows(command, ending);
        command.note_counts(&mut pair.client.capture, *ending != Ending::Ok);
    },
    ask: |pair, outbox, _| pair.backend.ask_for_found_rows(outbox),
    leave: |pair| pair.backend.counted_rows,
    told: |pair, _, reply| {
        if let Ok(rows) = reply.rows {
            pair.client.learn_found_rows(rows);
        }
    },
    ..Carried::NOTHING
};

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
        let question = b"SELECT FOUND_ROWS() LIMIT 1";
        self.ask_about(outbox, &ROW_COUNTS, Kept::Nothing, question);
        true
    }

    /// Notes whether only this backend knows what FOUND_ROWS() is after an answer.
    fn note_found_rows(&mut self, command: &ClientCommand, ending: &Ending) {
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

    /// Makes sure that a question about the last statement is not answered with somebody else's.
    pub(crate) fn clear_conditions(&mut self, outbox: &mut Vec<u8>) {
        // What is read to empty the list is counted, too.
        self.ask_for_found_rows(outbox);
        self.put_query(outbox, CLEAR);
        self.expect(Step::Restore(RestorePart::Warnings));
    }
}

impl Records {
    /// Asks for what FOUND_ROWS() is, before something of our own changes it. False if that is known.
    pub(crate) fn read_found_rows<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
    ) -> bool {
        let Some(backend) = self.pool.get_mut(key) else {
            return false;
        };
        if !backend.counted_rows {
            return false;
        }
        self.counters.read_backs += 1;
        backend.ask_for_found_rows(turn.io.outbox(backend.handle))
    }
}

impl Client {
    /// The backend told `FOUND_ROWS()`.
    fn learn_found_rows(&mut self, rows: &TextResultSet) {
        let digits = rows.first(0).and_then(|value| str::from_utf8(value).ok());
        let found = digits.and_then(|digits| digits.parse().ok());
        self.capture.found_rows = found.or(self.capture.found_rows);
    }
}

impl ClientCommand {
    /// Notes what the answer said of rows.
    pub(crate) fn note_counts(&self, capture: &mut Capture, failed: bool) {
        let counts = self.counts;
        // GET DIAGNOSTICS leaves the number, unless it gives a condition itself.
        let gets =
            self.kind == Kind::Diagnostics && self.traits.contains(Traits::READS_DIAGNOSTICS);
        let gets_nothing = gets && counts.warned;
        let leaves = self.prepares() || gets || counts.text;
        if failed || gets_nothing || !leaves {
            capture.row_count = match failed || gets_nothing || counts.result_set {
                true => -1,
                false => counts.affected as i64,
            };
        }
        if let (Some(found), false) = (counts.found, keeps_found_rows(self)) {
            capture.found_rows = Some(found);
        }
    }
}
