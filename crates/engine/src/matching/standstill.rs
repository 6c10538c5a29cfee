//! Notices a standstill.

use events::Timestamp;

use crate::record::records::Records;
use crate::record::standstill::News;

impl Records {
    pub(crate) fn look_for_standstill(&mut self, now: Timestamp) {
        let backends = self.shared.ledger.total();
        match self.shared.standstills.look(backends, now) {
            Some(News::Begun(standstill)) => {
                self.counters.standstills += 1;
                tracing::warn!("standstill: {standstill}");
            }
            Some(News::Over) => tracing::info!("the standstill is over"),
            Some(News::GoesOn) | None => {}
        }
    }
}
