//! The character sets of a connection.

/// What `SET NAMES` sets. Source: MySQL manual, "Connection Character Sets and Collations".
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Charset {
    /// `character_set_client`.
    pub client: Box<[u8]>,
    /// `character_set_results`; `None` is NULL: no conversion.
    pub results: Option<Box<[u8]>>,
    /// `collation_connection`; it implies `character_set_connection`.
    pub collation: Box<[u8]>,
}

impl Charset {
    /// True if the collation is one of the client's character set.
    pub(crate) fn is_of_client(&self) -> bool {
        let rest = self.collation.strip_prefix(&*self.client);
        rest.is_some_and(|rest| rest.is_empty() || rest[0] == b'_')
    }
}
