//! Figures and lines for reports.

mod look;
mod memory;

use session::statement::PinReason;

use crate::record::client::State;
use crate::record::records::Records;

impl Records {
    /// Only attached sessions are pinned, so this looks at no more of them than there are slots.
    pub(crate) fn pinned(&self) -> [u64; 32] {
        let mut pinned = [0; 32];
        let attached = [State::Held, State::Active];
        let attached = attached
            .into_iter()
            .flat_map(|state| self.clients.iter(state));
        for reason in attached.flat_map(|(_, client)| client.pins.iter()) {
            pinned[reason as usize & 31] += 1;
        }
        pinned
    }
}

const _: () = assert!(PinReason::ALL.len() <= 32);
