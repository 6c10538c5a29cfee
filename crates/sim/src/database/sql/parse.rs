//! From the text of a statement to what it is. Owns no statement.

use session::ASK_FOR_COLLATIONS;

use super::{Asked, Assignment, Sql};
use crate::catalog::CALLED;

/// The statement and, if it is a client's, the comment that tells whose.
pub(crate) fn parse(text: &str) -> Option<(Sql, Option<&str>)> {
    let (body, tag) = match text.split_once(" /* ") {
        Some((body, comment)) => (body, Some(comment.strip_suffix(" */")?)),
        None => (text, None),
    };
    Some((statement(body)?, tag))
}

/// The table that is a view; it might call functions that write.
pub(crate) const VIEW: &str = "kv_view";

/// What counts rows without sending them.
pub(crate) const COUNT: &str = "SQL_CALC_FOUND_ROWS v FROM kv WHERE k BETWEEN ";

/// How the front door asks what an account may do.
pub(crate) const COUNT_PRIVILEGES: &str =
    "COUNT(*),CURRENT_USER() FROM information_schema.USER_PRIVILEGES WHERE ";

/// How the front door asks whether tables are views.
pub(crate) const COUNT_VIEWS: &str =
    "COUNT(*) FROM information_schema.TABLES WHERE TABLE_TYPE='VIEW' AND TABLE_NAME IN ('";

/// How the front door asks what triggers and views leave behind.
pub(crate) const LIST_STORED: &str = "WITH RECURSIVE ";

/// What stands between the statements of one text.
pub(crate) const BETWEEN: &str = "; ";

fn statement(body: &str) -> Option<Sql> {
    if let Some(signal) = body.strip_prefix("SIGNAL SQLSTATE ") {
        let (_, rest) = signal.split_once(" SET MYSQL_ERRNO=")?;
        let (code, _) = rest.split_once(",MESSAGE_TEXT=")?;
        return Some(Sql::Signal(code.parse().ok()?));
    }
    if let Some(named) = body.strip_prefix("PREPARE ") {
        return prepare(named);
    }
    if body.contains(BETWEEN) {
        let parts: Option<Vec<_>> = body.split(BETWEEN).map(statement).collect();
        return parts.map(Sql::Multiple);
    }
    if let Some(id) = body.strip_prefix("KILL QUERY ") {
        return Some(Sql::KillQuery(id.parse().ok()?));
    }
    if let Some(asked) = Asked::ALL.into_iter().find(|asked| asked.text() == body) {
        return Some(Sql::CountConditions(asked));
    }
    if body.as_bytes() == ASK_FOR_COLLATIONS {
        return Some(Sql::ListCollations);
    }
    Some(match body {
        "INSERT INTO auto(v) VALUES(5)" => Sql::Insert,
        "CREATE TEMPORARY TABLE tmp1 (k int)" => Sql::CreateTemporary,
        "DROP TEMPORARY TABLE tmp1" => Sql::DropTemporary,
        "INSERT INTO leaves VALUES(1)" => Sql::Leave,
        "BEGIN" | "START TRANSACTION" => Sql::Begin,
        "COMMIT" => Sql::Commit,
        "ROLLBACK" | "ROLLBACK AND NO CHAIN NO RELEASE" => Sql::Rollback,
        "SELEC 1" => Sql::Nonsense,
        "SHOW WARNINGS" => Sql::ShowWarnings,
        "SHOW ERRORS" => Sql::ShowErrors,
        "LOCK TABLES kv READ" => Sql::LockTables,
        "UNLOCK TABLES" => Sql::UnlockTables,
        "DO 1" => Sql::Do,
        _ => {
            if let Some(rest) = body.strip_prefix("SELECT ") {
                return select(rest);
            }
            if body.starts_with(LIST_STORED) {
                return Some(Sql::ListStored);
            }
            if let Some(rest) = body.strip_prefix("SET ") {
                return set(rest);
            }
            if let Some(name) = body.strip_prefix("USE ") {
                return Some(Sql::Use(name.to_owned()));
            }
            return write(body);
        }
    })
}

fn prepare(named: &str) -> Option<Sql> {
    let (name, written) = named.split_once(" FROM '")?;
    let text = written.strip_suffix('\'')?.replace("''", "'");
    Some(Sql::PrepareText(bare(name), Box::new(statement(&text)?)))
}

fn write(body: &str) -> Option<Sql> {
    if let Some(name) = body.strip_prefix("EXECUTE ") {
        return Some(Sql::ExecuteText(bare(name)));
    }
    if let Some(name) = body.strip_prefix("DEALLOCATE PREPARE ") {
        return Some(Sql::DeallocateText(bare(name)));
    }
    if let Some(rows) = body.strip_prefix("SHOW WARNINGS LIMIT ") {
        return Some(Sql::ShowLimited(rows.parse().ok()?));
    }
    if let Some(rows) = between(body, "LOAD DATA LOCAL INFILE '", "' INTO TABLE kv") {
        return Some(Sql::LoadLocal(rows.parse().ok()?));
    }
    if let Some(value) = between(body, "INSERT INTO tmp1 VALUES(", ")") {
        return Some(Sql::InsertTemporary(value.parse().ok()?));
    }
    let (value, key) = body
        .strip_prefix("UPDATE kv SET v=")?
        .split_once(" WHERE k=")?;
    let key = key.parse().ok()?;
    Some(match value {
        "v+1" => Sql::Bump(key),
        value => Sql::WriteKey(key, value.parse().ok()?),
    })
}

fn select(rest: &str) -> Option<Sql> {
    // What the front door asks for itself has one row.
    let of_door = ["LAST_INSERT_ID()", "FOUND_ROWS()", "@@", "COUNT(*)"];
    let of_door = of_door.iter().any(|begin| rest.starts_with(begin));
    let bare = rest.strip_suffix(" LIMIT 1").filter(|_| of_door);
    let rest = bare.unwrap_or(rest);
    Some(match rest {
        "LAST_INSERT_ID()" => Sql::LastInsertId,
        "DATABASE()" => Sql::Schema,
        "* FROM tmp1" => Sql::ReadTemporary,
        "?" => Sql::Echo,
        "RELEASE_ALL_LOCKS()" => Sql::ReleaseAllLocks,
        "1 FROM (SELECT 1) AS cleared" => Sql::Clear,
        "v FROM broken" => Sql::BrokenRows,
        "v FROM nosuch" => Sql::NoTable,
        "CAST('1x' AS SIGNED)" => Sql::Warn,
        "CAST('1' AS SIGNED)" => Sql::Harmless,
        "ROW_COUNT()" => Sql::RowCount,
        "FOUND_ROWS()" => Sql::FoundRows,
        _ => return select_with(rest),
    })
}

/// So many rows that say nothing: as many as they are limited to, and at least one is selected.
fn found(rest: &str) -> Option<Sql> {
    let (ones, limit) = rest.split_once(" LIMIT ")?;
    let limit: u64 = limit.parse().ok()?;
    let ones = ones.split(" UNION ALL SELECT ");
    let are_ones = ones.clone().all(|one| one == "1") && ones.count() as u64 == limit.max(1);
    are_ones.then_some(Sql::Found(limit))
}

fn select_with(rest: &str) -> Option<Sql> {
    if let Some(found) = found(rest) {
        return Some(found);
    }
    if let Some(key) = rest.strip_prefix("v FROM kv WHERE k=") {
        return Some(Sql::ReadKey(key.parse().ok()?));
    }
    if let Some(range) = rest.strip_prefix("k,v FROM kv_view WHERE k BETWEEN ") {
        let (from, to) = range.split_once(" AND ")?;
        return Some(Sql::ReadRange(from.parse().ok()?, to.parse().ok()?));
    }
    if let Some(range) = between(rest, COUNT, " LIMIT 1") {
        let (from, to) = range.split_once(" AND ")?;
        return Some(Sql::Count(from.parse().ok()?, to.parse().ok()?));
    }
    if rest.starts_with("CAST(LAST_INSERT_ID() AS SIGNED) AS `") {
        return Some(Sql::ToldCount);
    }
    if rest.starts_with(COUNT_PRIVILEGES) {
        return Some(Sql::CountPrivileges);
    }
    if rest
        .starts_with("LOWER(VARIABLE_NAME),SESSION_VALUE FROM information_schema.SYSTEM_VARIABLES")
    {
        return Some(Sql::ListVariables);
    }
    if rest.starts_with("@@last_insert_id AS `") {
        return Some(Sql::ToldUnsigned);
    }
    if let Some(names) = between(rest, COUNT_VIEWS, "')") {
        let names = names.split("','").map(str::to_owned);
        return Some(Sql::CountViews(names.collect()));
    }
    if let Some(n) = between(rest, "REPEAT('x',", ")") {
        return Some(Sql::Repeat(n.parse().ok()?));
    }
    if let Some(name) = between(rest, "GET_LOCK('", "',0)") {
        return Some(Sql::GetLock(name.to_owned()));
    }
    if let Some(name) = between(rest, "RELEASE_LOCK('", "')") {
        return Some(Sql::ReleaseLock(name.to_owned()));
    }
    if let Some(ms) = between(rest, "SLEEP(0.", ")") {
        return Some(Sql::Sleep(ms.parse().ok()?));
    }
    if let Some(text) = between(rest, "'", "'") {
        return Some(Sql::Literal(text.to_owned()));
    }
    if rest.starts_with('@') && !rest.starts_with("@@") {
        return user_variables(rest);
    }
    if rest.starts_with("@@session.") {
        let names = rest.split(',').map(|name| name.strip_prefix("@@session."));
        let names: Option<Vec<_>> = names.map(|name| Some(name?.to_owned())).collect();
        return names.map(Sql::AskVariables);
    }
    let called = |name: &&str| CALLED.iter().any(|(called, _)| called == name);
    let names = rest.split(',');
    let names = names.map(|name| name.strip_prefix("@@").or(Some(name).filter(called)));
    let names: Option<Vec<_>> = names.map(|name| Some(name?.to_owned())).collect();
    names.map(Sql::ReadVariables)
}

fn user_variables(rest: &str) -> Option<Sql> {
    if let Some((name, value)) = rest.split_once(":=") {
        return Some(Sql::AssignUser(name.to_owned(), value.parse().ok()?));
    }
    if let Some((columns, _)) = rest.split_once(" FROM DUAL WHERE ") {
        let names = columns.split(',').filter(|name| name.starts_with('@'));
        return Some(Sql::ReadUserBack(names.map(bare).collect()));
    }
    Some(Sql::ReadUser(rest.split(',').map(bare).collect()))
}

/// The name without backticks.
fn bare(name: &str) -> String {
    name.replace('`', "")
}

/// A value in quotes, in hexadecimal, or NULL of some type.
fn unquoted(value: &str) -> Option<String> {
    if value.starts_with("IF(0,") {
        return Some(crate::catalog::NULL.to_owned());
    }
    let Some(digits) = between(value, "X'", "'") else {
        return Some(between(value, "'", "'").unwrap_or(value).to_owned());
    };
    let byte = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
    let bytes: Option<Vec<_>> = (0..digits.len()).step_by(2).map(byte).collect();
    String::from_utf8(bytes?).ok()
}

/// The quoted form of `SET NAMES` that begins a restore: character sets, then other variables.
fn restored_names(rest: &str) -> Option<Sql> {
    let (charset, rest) = rest.split_once("' COLLATE '")?;
    let (collation, rest) = rest.split_once('\'')?;
    let number = crate::catalog::number(collation)?;
    let assign = |name: &str, value: &str| Assignment {
        name: name.to_owned(),
        value: Some(value.to_owned()),
    };
    let mut assignments = vec![
        assign("character_set_client", charset),
        assign("character_set_results", &number.to_string()),
        assign("collation_connection", collation),
    ];
    if let Some(rest) = rest.strip_prefix(',') {
        let Sql::Set(others) = set(rest)? else {
            return None;
        };
        assignments.extend(others);
    }
    Some(Sql::Set(assignments))
}

fn set(rest: &str) -> Option<Sql> {
    if let Some(restore) = rest.strip_prefix("NAMES '") {
        return restored_names(restore);
    }
    if let Some(names) = rest.strip_prefix("NAMES ") {
        return Some(match names.split_once(" COLLATE ") {
            Some((charset, name)) => Sql::SetNames(charset.to_owned(), Some(name.to_owned())),
            None => Sql::SetNames(names.to_owned(), None),
        });
    }
    if let Some(value) = rest.strip_prefix("GLOBAL lock_wait_timeout=") {
        return Some(Sql::SetGlobal(value.parse().ok()?));
    }
    let mut assignments = Vec::new();
    for part in outside_of_quotes(rest) {
        let (name, value) = part.split_once('=')?;
        let scopes = ["@@session.", "SESSION "];
        let bare = scopes.iter().find_map(|scope| name.strip_prefix(scope));
        let value = match value {
            "DEFAULT" => None,
            // What MySQL needs in place of DEFAULT for some variables.
            global if global.starts_with("@@global.") => None,
            "NULL" => Some(crate::catalog::NULL.to_owned()),
            _ => Some(unquoted(value)?),
        };
        assignments.push(Assignment {
            name: bare.map_or_else(|| self::bare(name), str::to_owned),
            value,
        });
    }
    Some(Sql::Set(assignments))
}

/// The parts of a list, whose values may hold commas in quotes and parentheses.
fn outside_of_quotes(list: &str) -> Vec<&str> {
    let (mut parts, mut start, mut quoted, mut depth) = (Vec::new(), 0, false, 0);
    for (at, byte) in list.bytes().enumerate() {
        match byte {
            b'\'' => quoted = !quoted,
            b'(' if !quoted => depth += 1,
            b')' if !quoted => depth -= 1,
            b',' if !quoted && depth == 0 => {
                parts.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&list[start..]);
    parts
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    text.strip_prefix(before)?.strip_suffix(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_front_door_itself_sends() {
        let (sql, tag) =
            parse("SET @@session.sql_mode='A,B',@@session.autocommit=DEFAULT").unwrap();
        let expected = [("sql_mode", Some("A,B")), ("autocommit", None)].map(|(name, value)| {
            let (name, value) = (name.to_owned(), value.map(str::to_owned));
            Assignment { name, value }
        });
        assert_eq!((sql, tag), (Sql::Set(expected.into()), None));
    }

    #[test]
    fn tags_are_cut_off() {
        let parsed = parse("UPDATE kv SET v=-5 WHERE k=7 /* c17 s3 */");
        assert_eq!(parsed, Some((Sql::WriteKey(7, -5), Some("c17 s3"))));
        assert_eq!(parse("DELETE FROM kv"), None);
    }
}
