//! The words that steer the classifier. Owns their spelling; what follows from one is the
//! families' business.

use super::names::Names;

macro_rules! keywords {
    ($($variant:ident $(= $name:literal)?)*) => {
        /// A word the classifier knows; every other word is [`Keyword::Other`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Keyword { Other, $($variant,)* }

        const SPELLINGS: &[&str] = &[$(spelling!($variant $($name)?),)*];
        const KEYWORDS: &[Keyword] = &[$(Keyword::$variant,)*];
    };
}

/// As the variant is called, unless it has another name.
macro_rules! spelling {
    ($variant:ident) => {
        stringify!($variant)
    };
    ($variant:ident $name:literal) => {
        $name
    };
}

keywords! {
    All Alter Analyze As Atomic Authors Backup Begin Binary Binlog By Cache Call Case Chain Change
    Character Charset Check Checksum Clone Columns Commit Connection Consistent Contributors Count
    Create Current Database Databases Deallocate Declare Default Definer Delayed Delete Desc
    Describe Diagnostics Do Drop Else End Engine Errors Event Except Execute Explain Export Extended
    Fetch Flush For Format From Full Function Get Global Grant Grants Group Handler Hard Help
    HighPriority = "high_priority" Hosts If Ignore Immediate Import In Index Insert Install Instance
    Intersect Into Isolation Join Kill Limit Lines Load Local Lock Logfile Loop
    LowPriority = "low_priority" Master Names Next No Not Of Offset On Only Optimize Or Order
    Package Partitions Password Persist PersistOnly = "persist_only" Prepare Previous Privileges
    Procedure Processlist Profiles Purge Query Quick Read Recover Recursive Relaylog Release Rename
    Repair Repeat Replace Replica Replicas Replication Reset Resignal Resource Restart Return Revoke
    Role Rollback Row Savepoint Schema Schemas Select Sequence Server Session Set Share Show
    Shutdown Signal Slave Snapshot Soft SqlCalcFoundRows = "sql_calc_found_rows" Stage Start
    Statement Stop Table Tables Tablespace Temporary Then To Transaction Trigger Truncate Undo
    Uninstall Union Unlock Until Update Use User Using Value Values Variables View Warnings When
    Where While With Work Write Xa
}

static TABLE: Names<512> = Names::new(SPELLINGS);

impl Keyword {
    /// Looks `word` up without regard to case.
    pub(super) fn of(word: &[u8]) -> Self {
        TABLE
            .find(word)
            .and_then(|place| KEYWORDS.get(place).copied())
            .unwrap_or(Self::Other)
    }
}
