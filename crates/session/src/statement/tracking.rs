//! Which SET of what the session tracker tells can be carried: one that sets nothing else but variables that are
//! carried, too, alone in its text or among others of its kind (MariaDB's driver for ODBC begins so).

use super::dialect::Dialect;
use super::expression::{self, Calls, Until};
use super::findings::Findings;
use super::keyword::Keyword;
use super::reader::Reader;
use super::token::Token;
use super::variables::{self, Scope};

/// True of a text that sets `session_track_schema`, `session_track_state_change` or `session_track_system_variables`, and
/// besides nothing but variables that are carried, too.
#[must_use]
pub fn sets_tracked(text: &[u8], dialect: &Dialect) -> bool {
    let mut reader = Reader::new(text, dialect);
    let mut tracks = false;
    loop {
        match one(&mut reader) {
            Some(tracked) => tracks |= tracked,
            None => return false,
        }
        if !reader.resume() {
            break;
        }
    }
    tracks && !reader.in_doubt()
}

/// One SET, to its end: whether it sets what is tracked. `None` if it does something else.
fn one(reader: &mut Reader<'_>) -> Option<bool> {
    if !reader.accept(Keyword::Set) {
        return None;
    }
    let mut tracks = false;
    loop {
        tracks |= assignment(reader)?;
        if !reader.accept_mark(b',') {
            break;
        }
    }
    reader.at_end().then_some(tracks)
}

/// One assignment: whether it is of what is tracked. `None` if it cannot be carried.
fn assignment(reader: &mut Reader<'_>) -> Option<bool> {
    let scope = Scope::of(reader.peek_keyword());
    if scope.is_some() {
        reader.next();
    }
    let tracks = match reader.peek_keyword() {
        Keyword::Names | Keyword::Character | Keyword::Charset => false,
        _ if matches!(reader.peek(), Token::UserVariable(_)) => {
            reader.next();
            sign(reader)?;
            false
        }
        _ => {
            let (written, name) = name(reader)?;
            if scope == Some(Scope::Global) || written == Scope::Global {
                return None;
            }
            sign(reader)?;
            variables::in_tracking(name)?
        }
    };
    expression::scan(reader, &mut Findings::default(), Until::Comma, Calls::All);
    Some(tracks)
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
    fn what_can_be_carried_beside_it() {
        const LIST: &str = "session_track_system_variables = CONCAT(@@global.session_track_system_variables,',tx_isolation')";
        let with_list = |before: &str, behind: &str| format!("{before}{LIST}{behind}");
        for (text, expected) in [
            (with_list("SET ", ""), true),
            (
                with_list(
                    "set sql_mode=CONCAT(@@sql_mode,',STRICT_TRANS_TABLES'),",
                    ",NAMES utf8mb4",
                ),
                true,
            ),
            (
                "SET autocommit=1, sql_mode = concat(@@sql_mode,',STRICT_TRANS_TABLES'), session_track_schema=1".into(),
                true,
            ),
            (
                "SET @@SESSION.Session_Track_State_Change := 1, @@Time_Zone = 'SYSTEM', character_set_results = NULL".into(),
                true,
            ),
            ("SET SESSION session_track_schema = ON".into(), true),
            // What is not carried, or not the session's.
            ("SET session_track_transaction_info = 'STATE'".into(), false),
            ("SET session_track_gtids = OWN_GTID".into(), false),
            (
                "SET session_track_gtids = OWN_GTID, session_track_schema = 0".into(),
                true,
            ),
            ("SET GLOBAL session_track_schema = 1".into(), false),
            ("SET @@global.session_track_schema = 1".into(), false),
            (with_list("SET @a = 1, ", ", @`b` := @a"), true),
            (with_list("SET @a, ", ""), false),
            (with_list("SET timestamp = 1, ", ""), false),
            (with_list("SET sql_log_bin = 0, ", ""), false),
            (with_list("SET a.key_buffer_size = 1, ", ""), false),
            (with_list("SET collation_database = latin1_bin, ", ""), false),
            (with_list("SET ", ", TRANSACTION READ ONLY"), false),
            (with_list("SET ", "; SELECT 1"), false),
            (with_list("SET ", ", sql_mode = 'open"), false),
            ("SET sql_mode = ''".into(), false),
            ("SELECT @@session_track_schema".into(), false),
            (
                "SET session_track_schema= ON;SET session_track_system_variables='autocommit,tx_isolation'".into(),
                true,
            ),
            (
                "SET time_zone = '+01:00'; SET session_track_schema = 1; SET NAMES utf8mb4;".into(),
                true,
            ),
            ("SET session_track_schema = 1; SET PASSWORD = 'x'".into(), false),
            ("SET session_track_schema = 1; SET ROLE NONE".into(), false),
            ("SET session_track_schema = 1; SET TRANSACTION READ ONLY".into(), false),
            ("SET session_track_schema = 1; SELECT 1".into(), false),
        ] {
            let carried = sets_tracked(text.as_bytes(), &Dialect::new(Flavor::MariaDb, 101_119));
            assert_eq!(carried, expected, "{text}");
        }
    }
}
