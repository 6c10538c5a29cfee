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
    Alter Analyze As Backup Begin Binlog Cache Call Case Change Character Charset Check Checksum
    Clone Commit Connection Count Create Database Deallocate Declare Default Definer Delayed Delete
    Desc Describe Do Drop Else End Errors Event Except Execute Explain Export Extended Fetch Flush
    For Format From Full Function Get Global Grant Grants Handler Hard Help
    HighPriority = "high_priority" Hosts If Ignore Immediate Import In Index Insert Install Instance
    Intersect Into Join Kill Limit Load Local Lock Loop LowPriority = "low_priority" Names Next No
    Not Offset Only Optimize Or Package Partitions Password Persist PersistOnly = "persist_only"
    Prepare Previous Procedure Purge Query Read Recover Recursive Release Rename Repair Repeat
    Replace Reset Resignal Resource Restart Revoke Role Rollback Row Savepoint Schema Select
    Sequence Session Set Share Show Shutdown Signal Soft SqlCalcFoundRows = "sql_calc_found_rows"
    Stage Start Statement Stop Table Tables Temporary Then To Transaction Trigger Truncate Uninstall
    Union Unlock Update Use User Value Values Variables View Warnings While With Work Write Xa
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
