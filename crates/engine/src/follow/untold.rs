//! State changes that a client is told later.

use carry::ending::Ending;
use carry::track_filter::{PREFIX, VARIABLES, put_entry, put_variable};
use carry::track_lists::TrackLists;
use carry::untold::{Untold, put_variables};
use session::is_charset_variable;
use session::statement::{Flavor, Kind, Traits};
use wire::{OkPacket, Piece, Reader, StateChange};

use crate::record::carried::{Carried, Kept};
use crate::record::client::Client;

/// What SET STATEMENT has put back. The answer changes nothing, and has what is untold in its session-track block.
pub(crate) static PUT_BACK: Carried = Carried {
    // Not in every state of an XA transaction.
    must_be_answered: false,
    answered: |pair, command, ending| {
        // An ERR does not say which variables were put back.
        let failed = *ending != Ending::Ok && !command.never_ran(ending);
        let untold = Traits::FOR_STATEMENT | Traits::HINTS_VARIABLES | Traits::SETS_BEHIND;
        if failed && command.traits.intersects(untold) {
            pair.asks(&PUT_BACK);
        }
    },
    ask: |pair, outbox, _| {
        let question = b"SET SESSION session_track_schema=@@session_track_schema";
        pair.backend
            .ask_about(outbox, &PUT_BACK, Kept::Nothing, question);
        true
    },
    tracked: |pair, ok| pair.client.put_back_told(ok, &pair.known.track_lists),
    ..Carried::NOTHING
};

impl Client {
    /// True if something came with rows that it has not been told.
    fn owes_rows(&self) -> bool {
        self.untold.as_ref().is_some_and(|untold| untold.of_rows)
    }

    /// Appends what it has not been told yet, as there is an OK packet for it.
    pub(crate) fn put_untold(&mut self, block: &mut Vec<u8>) {
        if let Some(untold) = self.untold.take() {
            let schema = self.session.schema.as_deref();
            untold.put(schema.unwrap_or_default(), block);
        }
    }

    /// Appends what the client has not been told yet to an OK packet of Myriad's own.
    pub(crate) fn put_untold_alone(&mut self, flavor: Flavor, block: &mut Vec<u8>) {
        if flavor == Flavor::MySql && self.owes_rows() {
            self.put_untold(block);
        }
    }

    /// What a client is to be told stays in `block` if `piece` has a place for it. With an OK packet that has nothing of its
    /// own to tell, the client is told what came with rows before; on MariaDB that is the last one of a CALL.
    pub(crate) fn tell_in_its_place(
        &mut self,
        flavor: Flavor,
        kind: Kind,
        piece: &Piece<'_>,
        block: &mut Vec<u8>,
    ) {
        let dialect = self.dialect();
        if !dialect.session_track || dialect.deprecate_eof {
            return;
        }
        let is_call = kind == Kind::Call;
        if matches!(piece, Piece::RowsEnd(_)) {
            if block.is_empty() {
                return;
            }
            let mut block = std::mem::take(block);
            if is_call {
                block = without_charsets(&block);
            }
            self.untold = Some(Box::new(Untold {
                block,
                of_rows: true,
            }));
        } else if self.owes_rows() && (is_call || flavor == Flavor::MySql) {
            self.put_untold(block);
        }
    }

    /// The backend told what SET STATEMENT has put back: the client is told it with its next answer.
    fn put_back_told(&mut self, ok: &OkPacket<'_>, lists: &TrackLists) {
        if !self.dialect().session_track {
            return;
        }
        let mut block = Vec::new();
        for change in ok.changes() {
            match change {
                // What the front door has said for that.
                StateChange::SystemVariable { name, .. } if name.starts_with(PREFIX) => {}
                StateChange::SystemVariable { name, value } if self.tracks.names(name, lists) => {
                    put_variable(name, value, &mut block);
                }
                _ => {}
            }
        }
        if block.is_empty() {
            return;
        }
        let of_rows = self.owes_rows();
        self.put_untold(&mut block);
        self.untold = Some(Box::new(Untold { block, of_rows }));
    }
}

/// A block without the character sets: at its end, a routine puts back those that it was made with.
fn without_charsets(block: &[u8]) -> Vec<u8> {
    let (mut entries, mut rest) = (Reader::new(block), Vec::new());
    while let (Ok(kind), Ok(data)) = (entries.u8("type"), entries.lenenc_bytes("data")) {
        match kind {
            VARIABLES => put_variables(data, is_charset_variable, &mut rest),
            _ => put_entry(kind, data, &mut rest),
        }
    }
    rest
}
