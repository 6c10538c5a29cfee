//! Whether a plain read is of base tables only: asked of the backend that ran it. A view can call a function that writes, and a
//! read in a lane may have to be sent twice (rule 6).

use events::Timestamp;
use wire::TextResultSet;

use crate::digests::{Digest, Digests};

/// A question about the tables of a read.
pub struct ReadTables {
    /// The digest of the read.
    pub digest: Digest,
    /// What was known of tables when it was asked.
    pub epoch: u32,
}

impl Digests {
    /// A backend said how many views there are among the names.
    pub fn views_told(&mut self, read: &ReadTables, rows: Option<&TextResultSet>, now: Timestamp) {
        let base = rows.is_some_and(|rows| rows.first(0) == Some(b"0"));
        self.learn_tables(read.digest, (base, read.epoch), now);
    }
}
