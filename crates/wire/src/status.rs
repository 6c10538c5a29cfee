//! Server status flags, as OK and EOF packets carry them.

use bitflags::bitflags;

bitflags! {
    /// `SERVER_STATUS_*`. Source: MySQL manual, "SERVER_STATUS_flags_enum".
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct ServerStatus: u16 {
        /// A transaction is open.
        const IN_TRANS = 1;
        /// autocommit is on.
        const AUTOCOMMIT = 1 << 1;
        /// Another response follows in this answer.
        const MORE_RESULTS_EXISTS = 1 << 3;
        /// The statement used a bad index.
        const NO_GOOD_INDEX_USED = 1 << 4;
        /// The statement used no index.
        const NO_INDEX_USED = 1 << 5;
        /// A read-only cursor is open.
        const CURSOR_EXISTS = 1 << 6;
        /// The last row of a cursor was sent.
        const LAST_ROW_SENT = 1 << 7;
        /// A schema was dropped.
        const DB_DROPPED = 1 << 8;
        /// sql_mode has NO_BACKSLASH_ESCAPES.
        const NO_BACKSLASH_ESCAPES = 1 << 9;
        /// A prepared statement's metadata changed.
        const METADATA_CHANGED = 1 << 10;
        /// The statement was slow.
        const QUERY_WAS_SLOW = 1 << 11;
        /// These are OUT parameters.
        const PS_OUT_PARAMS = 1 << 12;
        /// The open transaction is read only.
        const IN_TRANS_READONLY = 1 << 13;
        /// A session-track block follows.
        const SESSION_STATE_CHANGED = 1 << 14;
        /// MariaDB: ANSI_QUOTES is on.
        const ANSI_QUOTES = 1 << 15;
    }
}

impl ServerStatus {
    /// The flags that tell of one statement only; the others last until the next OK packet.
    pub const OF_STATEMENT: Self = Self::MORE_RESULTS_EXISTS
        .union(Self::NO_GOOD_INDEX_USED)
        .union(Self::NO_INDEX_USED)
        .union(Self::CURSOR_EXISTS)
        .union(Self::LAST_ROW_SENT)
        .union(Self::DB_DROPPED)
        .union(Self::METADATA_CHANGED)
        .union(Self::QUERY_WAS_SLOW)
        .union(Self::PS_OUT_PARAMS)
        .union(Self::SESSION_STATE_CHANGED);

    /// The flags that tell of `sql_mode`.
    pub const OF_SQL_MODE: Self = Self::NO_BACKSLASH_ESCAPES.union(Self::ANSI_QUOTES);
}
