//! Why a session may not be detached from its backend, as far as a text can tell. Owns the names;
//! how long a reason holds is the session's to know.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

macro_rules! pin_reasons {
    ($($(#[$doc:meta])* $variant:ident $name:literal,)*) => {
        /// One reason to pin a session.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum PinReason { $($(#[$doc])* $variant,)* }

        impl PinReason {
            /// Every reason, in the order of declaration.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The label of this reason in metrics and `SHOW` columns.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

pin_reasons! {
    /// Reads or writes a user variable (`@x`).
    UserVariable "user_variable",
    /// `CREATE TEMPORARY TABLE`.
    TemporaryTable "temporary_table",
    /// `LOCK TABLES`.
    LockTables "lock_tables",
    /// `FLUSH TABLES … WITH READ LOCK` or `FOR EXPORT`.
    GlobalReadLock "global_read_lock",
    /// `BACKUP …`, `LOCK INSTANCE`.
    BackupLock "backup_lock",
    /// `GET_LOCK()`.
    UserLock "user_lock",
    /// `HANDLER …`.
    Handler "handler",
    /// `XA …`.
    Xa "xa",
    /// Without autocommit, a transaction that the status flags do not tell of: it has a savepoint so far, has written to
    /// tables without transactions, or a routine may have done so.
    Transaction "transaction",
    /// A prepared statement that asks its backend for what only that one knows, until it is closed.
    Prepared "prepared_statement",
    /// An open cursor, until all of its rows were fetched.
    Cursor "cursor",
    /// `PREPARE`, `EXECUTE`.
    TextPrepared "text_prepared",
    /// A role whose name cannot be written so that every backend reads it the same.
    Role "role",
    /// `CALL`, compound statements and other text whose inside is hidden.
    Call "call",
    /// A variable that steers how one event is replicated, or says who one is to replicas.
    ReplicationVariable "replication_variable",
    /// A variable that feeds expressions: `timestamp`, `insert_id`, `rand_seed1` and others.
    ExpressionVariable "expression_variable",
    /// The text switches session tracking that the front door depends on.
    SessionTracking "session_tracking",
    /// Several statements, one of which is not understood.
    MultipleStatements "multiple_statements",
    /// Calls a function that is not a known built-in.
    UnknownFunction "unknown_function",
    /// `SET @@x = …` without a scope: MariaDB's session tracker does not report it.
    UntrackedVariable "untracked_variable",
    /// Names a table or view whose trigger or query leaves something behind that no answer tells of.
    StoredObject "stored_object",
    /// An id was generated, and `sql_auto_is_null` has `IS NULL` look for it (MariaDB).
    AutoIsNull "auto_is_null",
    /// A variable of debug builds.
    Debug "debug",
    /// `SET profiling`, `SET optimizer_trace`.
    Profiling "profiling",
    /// `FLUSH STATUS`: the counters of the connection begin anew, for the session to look at.
    SessionStatus "session_status",
    /// `SET RESOURCE GROUP`.
    ResourceGroup "resource_group",
    /// The text is not understood.
    Unknown "unknown",
}

/// A set of [`PinReason`]s.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct PinReasons(u32);

impl PinReasons {
    /// The empty set: nothing pins.
    pub const NONE: Self = Self(0);

    /// Whether no reason is in the set.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether `reason` is in the set.
    #[must_use]
    pub const fn contains(self, reason: PinReason) -> bool {
        self.0 & (1 << reason as u8) != 0
    }

    /// Adds `reason`.
    pub const fn insert(&mut self, reason: PinReason) {
        self.0 |= 1 << reason as u8;
    }

    /// Takes `reason` out.
    pub const fn remove(&mut self, reason: PinReason) {
        self.0 &= !(1 << reason as u8);
    }

    /// The reasons in the set, in the order of [`PinReason::ALL`].
    pub fn iter(self) -> impl Iterator<Item = PinReason> {
        PinReason::ALL
            .iter()
            .copied()
            .filter(move |&reason| self.contains(reason))
    }
}

impl fmt::Debug for PinReasons {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl From<PinReason> for PinReasons {
    fn from(reason: PinReason) -> Self {
        Self(1 << reason as u8)
    }
}

impl BitOr for PinReasons {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for PinReasons {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl FromIterator<PinReason> for PinReasons {
    fn from_iter<I: IntoIterator<Item = PinReason>>(reasons: I) -> Self {
        reasons
            .into_iter()
            .fold(Self::NONE, |set, reason| set | reason.into())
    }
}
