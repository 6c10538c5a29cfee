//! Mail to other workers.

use events::Io;

use crate::record::records::Records;
use crate::record::shared::Mail;
use crate::record::turn::Turn;

impl Records {
    /// A slot went back to the budget: whoever waits elsewhere is told.
    pub(crate) fn slot_returned<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        if let Some((other, _)) = self.shared.ledger.neediest(self.worker, turn.now) {
            let _ended = turn.io.post(other, Mail::SlotFree);
        }
    }

    /// Tells all other workers; those that have ended need not know.
    pub(crate) fn post_to_others<I: Io<Mail>>(
        &self,
        turn: &mut Turn<'_, I>,
        mail: impl Fn() -> Mail,
    ) {
        for other in (0..self.shared.ledger.workers()).filter(|&other| other != self.worker) {
            let _ended = turn.io.post(other, mail());
        }
    }
}
