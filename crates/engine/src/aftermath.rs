//! What statements leave of what could be asked before them: which empty the list of conditions, and whose rows
//! are none that `FOUND_ROWS()` tells of. Keeps nothing itself.

use session::statement::{Flavor, Kind, Statement, Traits};

use crate::backend::ClientCommand;

/// True if the rows of an answer are none that `FOUND_ROWS()` tells of: those of RETURNING, and of upkeep.
pub(crate) fn keeps_found_rows(command: &ClientCommand) -> bool {
    let by_kind = matches!(
        command.kind,
        Kind::Insert | Kind::Replace | Kind::Delete | Kind::Admin | Kind::Handler | Kind::Xa
    );
    by_kind || command.traits.contains(Traits::KEEPS_FOUND_ROWS)
}

/// True if the list of warnings is empty after the statement, unless it gave some itself. MySQL
/// empties it for every statement that is not about the list, MariaDB for those that use tables.
pub(crate) fn clears_warnings(statement: &Statement, text: &[u8], flavor: Flavor) -> bool {
    if statement.kind == Kind::Use && text.is_empty() {
        // COM_INIT_DB: MySQL leaves the list, and even tells how long it is.
        return false;
    }
    if statement.traits.contains(Traits::READS_DIAGNOSTICS) {
        // MySQL forgets the warnings with the statement that reads their number as a variable.
        let more = Kind::Multiple;
        let reads_variable = matches!(statement.kind, Kind::Select | Kind::Do | Kind::Set);
        return flavor == Flavor::MySql && (reads_variable || statement.kind == more);
    }
    flavor == Flavor::MySql || uses_tables(statement, text)
}

/// Words one of which is in each definition that uses tables.
const DEFINE: [&[u8]; 7] = [
    b"table",
    b"tables",
    b"truncate",
    b"view",
    b"index",
    b"trigger",
    b"sequence",
];

/// These, or one of the above, are in each text of several statements, or of a compound one, that uses tables.
const READ_OR_WRITE: [&[u8]; 15] = [
    b"from",
    b"into",
    b"insert",
    b"replace",
    b"update",
    b"delete",
    b"load",
    b"call",
    b"execute",
    b"show",
    b"explain",
    b"describe",
    b"desc",
    b"analyze",
    b"handler",
];

/// True if a statement uses tables, as far as the words of its text tell.
fn uses_tables(statement: &Statement, text: &[u8]) -> bool {
    let words = || text.split(|byte| !byte.is_ascii_alphanumeric() && !b"_$".contains(byte));
    let has = |word: &[u8]| words().any(|found| found.eq_ignore_ascii_case(word));
    match statement.kind {
        Kind::Select | Kind::Do | Kind::Set => has(b"from"),
        Kind::Explain => has(b"from") || !has(b"select"),
        Kind::Show if statement.traits.contains(Traits::KEEPS_FOUND_ROWS) => {
            [&b"table"[..], b"view", b"sequence"].into_iter().any(has)
        }
        Kind::Ddl | Kind::Admin => DEFINE.into_iter().any(has),
        Kind::Lock => !statement.traits.contains(Traits::RELEASES_TABLE_LOCKS),
        Kind::Insert
        | Kind::Replace
        | Kind::Update
        | Kind::Delete
        | Kind::Load
        | Kind::Show
        | Kind::Handler
        | Kind::Unknown => true,
        Kind::Call | Kind::Multiple => DEFINE.into_iter().chain(READ_OR_WRITE).any(has),
        Kind::Empty
        | Kind::Use
        | Kind::Begin
        | Kind::Commit
        | Kind::Rollback
        | Kind::Savepoint
        | Kind::Account
        | Kind::Kill
        | Kind::Xa
        | Kind::Prepared
        | Kind::Diagnostics => false,
    }
}
