//! Which SET of what the session tracker tells can be carried: one that sets nothing else but variables that are
//! carried, too, alone in its text or among others of its kind (MariaDB's driver for ODBC begins so). The tracker does not tell of those, since it has just been given another list; so they are named here.

use super::dialect::Dialect;
use super::expression::{self, Calls, Until};
use super::findings::Findings;
use super::keyword::Keyword;
use super::reader::Reader;
use super::token::Token;
use super::variables::{self, InTracking, Scope};

/// The other variables of the session that a SET of `session_track_schema`, `session_track_state_change` and
/// `session_track_system_variables` assigns, in small letters and without what is read back anyway: character sets, and
/// user variables. `None` if it is something else, or does more.
pub fn sets_tracked(text: &[u8], dialect: &Dialect) -> Option<Vec<Vec<u8>>> {
    let mut reader = Reader::new(text, dialect);
    let mut found = Found::default();
    loop {
        one(&mut reader, &mut found)?;
        if !reader.resume() {
            break;
        }
    }
    (found.tracks && !reader.in_doubt()).then_some(found.others)
}

/// What was found of a text.
#[derive(Default)]
struct Found {
    /// It sets what is tracked.
    tracks: bool,
    /// The other variables that it sets.
    others: Vec<Vec<u8>>,
}

/// One SET, to its end.
fn one(reader: &mut Reader<'_>, found: &mut Found) -> Option<()> {
    if !reader.accept(Keyword::Set) {
        return None;
    }
    loop {
        match assignment(reader)? {
            Assigned::Tracked => found.tracks = true,
            Assigned::ReadBack => {}
            Assigned::Other(name) => found.others.push(name),
        }
        if !reader.accept_mark(b',') {
            break;
        }
    }
    reader.at_end().then_some(())
}

enum Assigned {
    Tracked,
    ReadBack,
    Other(Vec<u8>),
}

/// One assignment.
fn assignment(reader: &mut Reader<'_>) -> Option<Assigned> {
    let scope = Scope::of(reader.peek_keyword());
    if scope.is_some() {
        reader.next();
    }
    let assigned = match reader.peek_keyword() {
        Keyword::Names | Keyword::Character | Keyword::Charset => Assigned::ReadBack,
        _ if matches!(reader.peek(), Token::UserVariable(_)) => {
            reader.next();
            sign(reader)?;
            Assigned::ReadBack
        }
        _ => {
            let (written, name) = name(reader)?;
            if scope == Some(Scope::Global) || written == Scope::Global {
                return None;
            }
            let assigned = match variables::in_tracking(name)? {
                InTracking::Tracked => Assigned::Tracked,
                InTracking::ReadBack => Assigned::ReadBack,
                InTracking::Other => Assigned::Other(name.to_ascii_lowercase()),
            };
            sign(reader)?;
            assigned
        }
    };
    expression::scan(reader, &mut Findings::default(), Until::Comma, Calls::All);
    Some(assigned)
}

/// Takes the sign of an assignment.
fn sign(reader: &mut Reader<'_>) -> Option<()> {
    matches!(reader.next(), Token::Mark(b'=') | Token::Assign).then_some(())
}

/// The variable that is assigned, if its name is of one part.
fn name<'a>(reader: &mut Reader<'a>) -> Option<(Scope, &'a [u8])> {
    if reader.peek() == Token::SystemVariable {
        reader.next();
        return variables::name(reader);
    }
    // SET PASSWORD has the same sign.
    if reader.peek().is(Keyword::Password) {
        return None;
    }
    let name = reader.next().identifier()?;
    Some((Scope::Unscoped, super::identifier::plain(name)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::Flavor;

    #[test]
    fn what_else_is_set_is_named() {
        const LIST: &str = "session_track_system_variables = CONCAT(@@global.session_track_system_variables,',tx_isolation')";
        let with_list = |before: &str, behind: &str| format!("{before}{LIST}{behind}");
        for (text, expected) in [
            (with_list("SET ", ""), Some(&[][..])),
            (
                with_list(
                    "set sql_mode=CONCAT(@@sql_mode,',STRICT_TRANS_TABLES'),",
                    ",NAMES utf8mb4",
                ),
                Some(&["sql_mode"]),
            ),
            (
                "SET autocommit=1, sql_mode = concat(@@sql_mode,',STRICT_TRANS_TABLES'), session_track_schema=1".into(),
                Some(&["autocommit", "sql_mode"]),
            ),
            (
                "SET @@SESSION.Session_Track_State_Change := 1, @@Time_Zone = 'SYSTEM', character_set_results = NULL".into(),
                Some(&["time_zone"]),
            ),
            ("SET SESSION session_track_schema = ON".into(), Some(&[])),
            // What is not carried, or not the session's.
            ("SET session_track_transaction_info = 'STATE'".into(), None),
            ("SET session_track_gtids = OWN_GTID".into(), None),
            (
                "SET session_track_gtids = OWN_GTID, session_track_schema = 0".into(),
                Some(&["session_track_gtids"]),
            ),
            ("SET GLOBAL session_track_schema = 1".into(), None),
            ("SET @@global.session_track_schema = 1".into(), None),
            (with_list("SET @a = 1, ", ", @`b` := @a"), Some(&[])),
            (with_list("SET @a, ", ""), None),
            (with_list("SET timestamp = 1, ", ""), None),
            (with_list("SET sql_log_bin = 0, ", ""), None),
            (with_list("SET a.key_buffer_size = 1, ", ""), None),
            (with_list("SET collation_database = latin1_bin, ", ""), None),
            (with_list("SET ", ", TRANSACTION READ ONLY"), None),
            (with_list("SET ", "; SELECT 1"), None),
            (with_list("SET ", ", sql_mode = 'open"), None),
            ("SET sql_mode = ''".into(), None),
            ("SELECT @@session_track_schema".into(), None),
            (
                "SET session_track_schema= ON;SET session_track_system_variables='autocommit,tx_isolation'".into(),
                Some(&[]),
            ),
            (
                "SET time_zone = '+01:00'; SET session_track_schema = 1; SET NAMES utf8mb4;".into(),
                Some(&["time_zone"]),
            ),
            ("SET session_track_schema = 1; SET PASSWORD = 'x'".into(), None),
            ("SET session_track_schema = 1; SET ROLE NONE".into(), None),
            ("SET session_track_schema = 1; SET TRANSACTION READ ONLY".into(), None),
            ("SET session_track_schema = 1; SELECT 1".into(), None),
        ] {
            let names = sets_tracked(text.as_bytes(), &Dialect::new(Flavor::MariaDb, 101_119));
            let expected = expected.map(|names| {
                names.iter().map(|name| name.as_bytes().to_vec()).collect::<Vec<_>>()
            });
            assert_eq!(names, expected, "{text}");
        }
    }
}
