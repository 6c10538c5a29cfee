//! Finds backends by what they do.

use membership::Key;

use crate::record::backend::Backend;
use crate::record::records::Records;

impl Records {
    pub(crate) fn backends_that(&self, wanted: impl Fn(&Backend) -> bool) -> Vec<Key> {
        let all = (0..self.pool.places()).filter_map(|place| self.pool.at(place));
        let found = all.filter(|(_, backend)| wanted(backend));
        found.map(|(key, _)| key).collect()
    }
}
