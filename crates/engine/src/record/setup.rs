//! What a new or reset backend is asked, and how its answer is read.

use session::{Charset, ResultsCollation};
use wire::TextResultSet;

use crate::record::facts::Facts;

/// Has the tracker tell of all that it can: the same but for what is never anything else.
pub const TRACK_ALL: &[u8] = b"SET session_track_schema=1,session_track_state_change=1,\
    session_track_system_variables='*'";

/// What sessions begin with, in the order of [`Fact`]. With a limit of its own, for a session may want to see no rows
/// (`sql_select_limit`).
macro_rules! facts {
    ($role:literal) => {
        concat!(
            "SELECT @@character_set_client,@@character_set_results,@@collation_connection,@@sql_mode,\
            @@global.sql_mode,@@global.autocommit,@@global.log_bin,@@global.sql_auto_is_null,\
            HEX(@@global.init_connect),@@global.wait_timeout,@@global.interactive_timeout,\
            @@global.session_track_system_variables,@@global.session_track_schema,\
            @@global.session_track_state_change,\
            CASE WHEN 0 THEN '' /*M!110201 ELSE @@global.character_set_collations*/ END",
            $role,
            " LIMIT 1"
        )
        .as_bytes()
    };
}

pub(crate) const FACTS: &[u8] = facts!("");

/// The question to servers that have roles.
pub(crate) const FACTS_AND_ROLE: &[u8] = facts!(",CURRENT_ROLE()");

/// The variable that says how the server reads texts.
pub(crate) const SQL_MODE: &[u8] = b"sql_mode";

/// The columns of the answer. The first three are those that [`charset`] reads, and what the session tracker tells begins
/// with the list of variables.
pub(crate) enum Fact {
    SqlMode = 3,
    GlobalSqlMode,
    Autocommit,
    LogBin,
    AutoIsNull,
    InitConnect,
    WaitTimeout,
    InteractiveTimeout,
    Tracking,
    ChosenCollations = 14,
    Role,
}

impl Fact {
    pub(crate) fn of(self, rows: &TextResultSet) -> Option<&[u8]> {
        rows.first(self as usize)
    }
}

/// The character sets in the first three columns, of a session that had these before.
pub(crate) fn charset(
    rows: &TextResultSet,
    before: Option<&Charset>,
    facts: Option<&Facts>,
) -> Option<Charset> {
    let mut charset = Charset {
        client: rows.first(0)?.into(),
        results: rows.first(1).map(Into::into),
        results_collation: None,
        collation: rows.first(2)?.into(),
    };
    let takes = |number| facts.is_some_and(|facts| facts.takes_collation(number));
    let told = |number| ResultsCollation::told((number, takes(number)), &charset, before);
    charset.results_collation = rows.collation().and_then(told);
    Some(charset)
}
