//! How many statements are prepared on all backends.

use crate::record::backend::BACKEND_STATES;
use crate::record::records::Records;

impl Records {
    /// How many statements are prepared on all backends.
    pub(crate) fn prepared_on_backends(&self) -> u64 {
        let keys = self.pool.key_ids();
        let backends = keys.flat_map(|key| BACKEND_STATES.map(|state| self.pool.iter(key, state)));
        let counts = backends
            .flatten()
            .map(|(_, backend)| backend.statements.count());
        counts.sum::<usize>() as u64
    }
}
