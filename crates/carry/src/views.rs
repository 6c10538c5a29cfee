//! What a view can see of the session that reads it, although the text does not mention it: LAST_INSERT_ID() and
//! user variables. They are brought to the backend of a read unless its tables are known to be no views. What is not
//! known is asked when the session leaves the backend, now and then, so that nothing is brought in vain for long.

use crate::digests::Digest;

/// A read for which something was brought that only a view could see.
pub struct Unsure {
    /// The digest of the read.
    pub digest: Digest,
    /// How many views there are among the names in its text.
    pub question: Vec<u8>,
}
