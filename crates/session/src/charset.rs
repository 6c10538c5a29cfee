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
