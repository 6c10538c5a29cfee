//! The character sets of a connection.

use crate::statement::Flavor;

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

/// The character set of a collation with which no client is let in, by the number that a login names it by: no statement
/// can be read in it. Source: `information_schema.COLLATIONS` of MySQL 9.7 and MariaDB 10.11, which agree, and what they
/// answer to logins.
pub fn unreadable_charset(collation: u8, flavor: Flavor) -> Option<&'static str> {
    match collation {
        17 if flavor == Flavor::MariaDb => Some("filename"),
        35 | 90 | 128..=151 | 159 => Some("ucs2"),
        54 | 55 | 101..=124 => Some("utf16"),
        56 | 62 => Some("utf16le"),
        60 | 61 | 160..=183 => Some("utf32"),
        _ => None,
    }
}
