//! What decides how a backend reads a text: character set, quoting modes, flavor and version.
//! Owns no lexing.

use super::charset::Trail;

/// Which family of servers the backend belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flavor {
    /// MariaDB.
    MariaDb,
    /// MySQL and its close relatives (Percona Server).
    MySql,
}

/// Everything outside the text itself that changes how the backend reads it. ORACLE mode is not
/// among it: a session in that mode is pinned before its texts are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dialect {
    /// How `character_set_client` treats bytes.
    pub charset: Trail,
    /// `NO_BACKSLASH_ESCAPES` is in `sql_mode`.
    pub no_backslash_escapes: bool,
    /// `ANSI_QUOTES` is in `sql_mode`.
    pub ansi_quotes: bool,
    /// `IGNORE_SPACE` is in `sql_mode`, or the client's capability flag asks for it.
    pub ignore_space: bool,
    /// The server's family.
    pub flavor: Flavor,
    /// The server's version as one number: 101119 is 10.11.19, 90700 is 9.7.0.
    pub version: u32,
}

impl Dialect {
    /// The dialect of a fresh session: default modes and an ASCII-transparent character set.
    #[must_use]
    pub const fn new(flavor: Flavor, version: u32) -> Self {
        Self {
            charset: Trail::Plain,
            no_backslash_escapes: false,
            ansi_quotes: false,
            ignore_space: false,
            flavor,
            version,
        }
    }
}
