//! What a statement is and what it does, as plain data. Owns no decision.

use bitflags::bitflags;

use super::pins::PinReasons;

/// What a text turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Statement {
    /// The family of statements it belongs to.
    pub kind: Kind,
    /// What it reads, sets and ends.
    pub traits: Traits,
    /// Why the session may not be detached after it.
    pub pins: PinReasons,
    /// The same for statements that differ in their values only; 0 if there are several.
    pub digest: u64,
}

/// The family of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Nothing but white space, comments and semicolons.
    Empty,
    /// `SELECT`, `WITH … SELECT`, `TABLE`, `VALUES`, also in parentheses.
    Select,
    /// `SHOW`, `HELP`.
    Show,
    /// `EXPLAIN`, `DESCRIBE`, `ANALYZE` of a statement.
    Explain,
    /// `INSERT`.
    Insert,
    /// `REPLACE`.
    Replace,
    /// `UPDATE`.
    Update,
    /// `DELETE`.
    Delete,
    /// `LOAD DATA`, `LOAD XML`.
    Load,
    /// `BEGIN`, `START TRANSACTION`.
    Begin,
    /// `COMMIT`.
    Commit,
    /// `ROLLBACK`, not to a savepoint.
    Rollback,
    /// `SAVEPOINT`, `RELEASE SAVEPOINT`, `ROLLBACK TO`.
    Savepoint,
    /// `SET`, but not of passwords and default roles.
    Set,
    /// `USE`.
    Use,
    /// `CREATE`, `ALTER`, `DROP`, `RENAME`, `TRUNCATE` of objects.
    Ddl,
    /// Accounts, roles and privileges.
    Account,
    /// `CALL` and compound statements.
    Call,
    /// `DO`.
    Do,
    /// `KILL`.
    Kill,
    /// `LOCK` and `UNLOCK` of tables and of the instance.
    Lock,
    /// `HANDLER`.
    Handler,
    /// `XA`.
    Xa,
    /// `PREPARE`, `EXECUTE`, `DEALLOCATE`.
    Prepared,
    /// `GET DIAGNOSTICS`, `SIGNAL`, `RESIGNAL`.
    Diagnostics,
    /// `FLUSH`, `OPTIMIZE`, `CHECK`, replication, plugins and the like.
    Admin,
    /// More than one statement.
    Multiple,
    /// Not recognised, or the lexer is in doubt.
    Unknown,
}

bitflags! {
    /// What a statement reads, sets and ends. In doubt a flag that asks for care is set.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct Traits: u64 {
        /// A plain read as far as the text can tell: what a view calls is not in the text.
        const PURE_READ = 1;
        /// Not provably read only.
        const MAY_WRITE = 1 << 1;
        /// Reads `LAST_INSERT_ID()`, or may through a routine.
        const READS_LAST_INSERT_ID = 1 << 2;
        /// Sets what `LAST_INSERT_ID()` says, by an argument or by `SET`.
        const SETS_LAST_INSERT_ID = 1 << 3;
        /// Reads the warnings and errors of the statement before.
        const READS_DIAGNOSTICS = 1 << 4;
        /// Reads `FOUND_ROWS()` or `ROW_COUNT()`.
        const READS_ROW_COUNTS = 1 << 5;
        /// Reads the id of the connection.
        const READS_CONNECTION_ID = 1 << 6;
        /// Reads, or may list, what leads around the front door: socket, port, host name.
        const READS_ADDRESS = 1 << 7;
        /// Sets a character set or collation of the session.
        const SETS_CHARSET = 1 << 8;
        /// Sets a system variable of the session.
        const SETS_VARIABLE = 1 << 9;
        /// Sets a global or persisted variable.
        const SETS_GLOBAL = 1 << 10;
        /// Calls a function that is not a known built-in.
        const UNKNOWN_CALL = 1 << 12;
        /// May change what `LAST_INSERT_ID()` says.
        const GENERATES_ID = 1 << 13;
        /// `BEGIN` or `START TRANSACTION [READ ONLY | READ WRITE]` with nothing else.
        const BARE_BEGIN = 1 << 14;
        /// `COMMIT` or `ROLLBACK` with `RELEASE`: the server closes the connection.
        const RELEASES_CONNECTION = 1 << 15;
        /// Ends an open transaction by the way.
        const IMPLICIT_COMMIT = 1 << 16;
        /// Several statements, or one and a comment behind its semicolon: several answers.
        const MULTIPLE = 1 << 17;
        /// Sets a `session_track_*` variable.
        const SESSION_TRACKING = 1 << 19;
        /// `UNLOCK TABLES`.
        const RELEASES_TABLE_LOCKS = 1 << 20;
        /// Calls `RELEASE_LOCK()` or `RELEASE_ALL_LOCKS()`.
        const RELEASES_USER_LOCK = 1 << 21;
        /// May drop a temporary table.
        const DROPS_TEMPORARY = 1 << 22;
        /// `XA COMMIT`, `XA ROLLBACK`.
        const XA_ENDS = 1 << 23;
        /// Answers with rows, and leaves what `FOUND_ROWS()` says: `EXPLAIN`, `HELP`, some forms of `SHOW`.
        const KEEPS_FOUND_ROWS = 1 << 24;
        /// Mentions user variables (`@x`).
        const USES_USER_VARIABLES = 1 << 25;
        /// May assign some of those that it mentions.
        const ASSIGNS_USER_VARIABLES = 1 << 26;
        /// `FOUND_ROWS()` counts rows that it does not send: `SQL_CALC_FOUND_ROWS`, `OFFSET`, `INTO`, and
        /// what `INSERT … SELECT`, `CREATE TABLE … SELECT` and writes of several tables read.
        const COUNTS_UNSENT_ROWS = 1 << 27;
        /// Sets a system variable as `@@x`, without a scope.
        const SETS_UNSCOPED = 1 << 28;
        /// `EXECUTE` of a text that is known. No text says so by itself.
        const RUNS_PREPARED_TEXT = 1 << 29;
        /// `SET ROLE`.
        const SETS_ROLE = 1 << 30;
        /// `SET STATEMENT … FOR`: system variables have other values for as long as it runs.
        const FOR_STATEMENT = 1 << 31;
        /// `COMMIT` or `ROLLBACK` with `NO RELEASE`: whatever `completion_type` says, the connection stays.
        const KEEPS_CONNECTION = 1 << 32;
        /// `CALL` of a procedure whose body was looked at and leaves nothing behind unseen. No text says so by itself.
        const RUNS_KNOWN_BODY = 1 << 33;
        /// The same, and the body may assign user variables.
        const BODY_ASSIGNS = 1 << 34;
        /// `SET PASSWORD`, `ALTER USER … IDENTIFIED`: connections that are open go on as they are.
        const SETS_PASSWORD = 1 << 35;
        /// `FLUSH HOSTS`.
        const FLUSHES_HOSTS = 1 << 36;
        /// Defines a procedure, a function, an event or a package.
        const DEFINES_PROGRAM = 1 << 37;
        /// The body of what it defines has an `INSERT` or a `REPLACE`.
        const BODY_INSERTS = 1 << 38;
        /// The list of conditions must be the session's own, although nobody asks for it: this adds to it, because
        /// the body of what it defines declares a handler (MySQL), or nothing can empty it later (`XA START`).
        const OWN_CONDITIONS = 1 << 39;
        /// Of several statements, one counts rows for `FOUND_ROWS()`.
        const COUNTS_ROWS = 1 << 40;
        /// `CALL` of a procedure whose body was looked at and uses tables. No text says so by itself.
        const BODY_USES_TABLES = 1 << 41;
        /// Defines, or takes away, what the server runs by itself: triggers, views, routines.
        const DEFINES_STORED = 1 << 42;
        /// A hint gives system variables other values for as long as it runs (`SET_VAR`, MySQL), and the server says
        /// that they have changed.
        const HINTS_VARIABLES = 1 << 43;
        /// May draw values of sequences: `NEXTVAL()`, `NEXT VALUE FOR`.
        const DRAWS_SEQUENCE = 1 << 45;
        /// Asks for the value that the session has drawn last: `LASTVAL()`, `PREVIOUS VALUE FOR`.
        const TELLS_SEQUENCE = 1 << 46;
        /// What it runs besides may set variables of the session, which the server says only if it succeeds. No text says
        /// so by itself.
        const SETS_BEHIND = 1 << 47;
        /// Reads `@@last_gtid` (MariaDB).
        const READS_GTID = 1 << 48;
        /// `FLUSH USER_VARIABLES` (MariaDB): the session has none any more.
        const FLUSHES_USER_VARIABLES = 1 << 49;
        /// `SAVEPOINT`.
        const SETS_SAVEPOINT = 1 << 51;
        /// Lists the user variables of its session: `information_schema.USER_VARIABLES`, `SHOW USER_VARIABLES` (MariaDB),
        /// `performance_schema.user_variables_by_thread`.
        const LISTS_USER_VARIABLES = 1 << 52;
        /// Reads from something other than DUAL.
        const HAS_FROM = 1 << 53;
        /// `CREATE`, `ALTER` or `DROP DATABASE`: what connections have selected may have another character set.
        const DEFINES_SCHEMA = 1 << 54;
        /// Reads a `session_track_*` variable.
        const READS_TRACKING = 1 << 55;
    }
}

impl Traits {
    /// The list of conditions must be the session's: it is asked for, added to, or cannot be emptied later.
    pub const NEEDS_CONDITIONS: Self = Self::READS_DIAGNOSTICS.union(Self::OWN_CONDITIONS);

    /// The flags that say a reason to pin may be over.
    pub const RELEASES: Self = Self::RELEASES_TABLE_LOCKS
        .union(Self::RELEASES_USER_LOCK)
        .union(Self::DROPS_TEMPORARY)
        .union(Self::XA_ENDS);
}
