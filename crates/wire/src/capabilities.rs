//! Capability flags: what either side of a connection can do.
//!
//! Source: MySQL manual, "Capabilities Flags"; MariaDB knowledge base, "Connection", for the
//! extended flags and the meaning of bit 0.

use bitflags::bitflags;

bitflags! {
    /// The `CLIENT_*` flags of the initial handshake and the handshake response.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub struct Capabilities: u32 {
        /// `CLIENT_LONG_PASSWORD`; MariaDB calls it `CLIENT_MYSQL` and reads its absence as
        /// "this peer speaks the MariaDB dialect, extended flags follow".
        const LONG_PASSWORD = 1;
        /// An UPDATE reports the rows it found instead of those it changed.
        const FOUND_ROWS = 1 << 1;
        /// Longer flags in column definitions.
        const LONG_FLAG = 1 << 2;
        /// The handshake response names a schema.
        const CONNECT_WITH_DB = 1 << 3;
        /// `db.table.column` is not allowed.
        const NO_SCHEMA = 1 << 4;
        /// The zlib-compressed protocol.
        const COMPRESS = 1 << 5;
        /// Special behaviour for ODBC, unused since 3.22.
        const ODBC = 1 << 6;
        /// LOAD DATA LOCAL.
        const LOCAL_FILES = 1 << 7;
        /// Blanks are allowed before the `(` of a function call.
        const IGNORE_SPACE = 1 << 8;
        /// The protocol of 4.1 and later.
        const PROTOCOL_41 = 1 << 9;
        /// `wait_timeout` starts as `interactive_timeout`.
        const INTERACTIVE = 1 << 10;
        /// TLS after the short handshake response.
        const SSL = 1 << 11;
        /// Unused by servers; clients ignore SIGPIPE.
        const IGNORE_SIGPIPE = 1 << 12;
        /// Status flags about transactions.
        const TRANSACTIONS = 1 << 13;
        /// Old flag for the 4.1 protocol.
        const RESERVED = 1 << 14;
        /// Authentication of 4.1 (`CLIENT_RESERVED2` in newer headers).
        const SECURE_CONNECTION = 1 << 15;
        /// Several statements in one COM_QUERY.
        const MULTI_STATEMENTS = 1 << 16;
        /// Several result sets in one response.
        const MULTI_RESULTS = 1 << 17;
        /// The same for prepared statements.
        const PS_MULTI_RESULTS = 1 << 18;
        /// Authentication plugins are named.
        const PLUGIN_AUTH = 1 << 19;
        /// Connection attributes follow.
        const CONNECT_ATTRS = 1 << 20;
        /// The authentication response has a length-encoded length.
        const PLUGIN_AUTH_LENENC_DATA = 1 << 21;
        /// The client can stay connected with an expired password.
        const CAN_HANDLE_EXPIRED_PASSWORDS = 1 << 22;
        /// OK packets may carry session-track blocks.
        const SESSION_TRACK = 1 << 23;
        /// Result sets end in an OK packet, and no EOF packet follows the column definitions.
        const DEPRECATE_EOF = 1 << 24;
        /// The client can do without column definitions.
        const OPTIONAL_RESULTSET_METADATA = 1 << 25;
        /// The zstd-compressed protocol.
        const ZSTD_COMPRESSION = 1 << 26;
        /// Query attributes precede the statement text.
        const QUERY_ATTRIBUTES = 1 << 27;
        /// Several authentication factors.
        const MULTI_FACTOR_AUTHENTICATION = 1 << 28;
        /// Reserved for longer flags.
        const CAPABILITY_EXTENSION = 1 << 29;
        /// The client verifies the server's certificate.
        const SSL_VERIFY_SERVER_CERT = 1 << 30;
        /// Options survive a failed connect (client side only).
        const REMEMBER_OPTIONS = 1 << 31;
    }
}

bitflags! {
    /// MariaDB's extended flags (`MARIADB_CLIENT_*`), shifted down by 32 bits.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub struct ExtendedCapabilities: u32 {
        /// Progress reports inside of responses.
        const PROGRESS = 1;
        /// COM_MULTI, withdrawn.
        const COM_MULTI = 1 << 1;
        /// COM_STMT_BULK_EXECUTE.
        const STMT_BULK_OPERATIONS = 1 << 2;
        /// Column definitions carry extended type names.
        const EXTENDED_METADATA = 1 << 3;
        /// Column definitions of prepared statements may be left out.
        const CACHE_METADATA = 1 << 4;
        /// Unit results of bulk operations.
        const BULK_UNIT_RESULTS = 1 << 5;
    }
}
