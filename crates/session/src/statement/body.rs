//! Bodies of stored procedures: whether all that one may leave in a session is carried, or seen when it is
//! answered. Owns what a body must not have for that; in doubt it leaves something behind.

use super::dialect::{Dialect, Flavor};
use super::expression::{self, Calls, Until};
use super::findings::Findings;
use super::identifier;
use super::keyword::Keyword;
use super::kind::{Kind, Traits};
use super::lexer::Lexer;
use super::reader::Reader;
use super::token::Token;
use super::{variables, write};

/// What is known of a body that leaves nothing behind unseen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Body {
    /// It mentions user variables.
    pub uses_variables: bool,
    /// One of its statements uses tables, as far as words tell.
    pub uses_tables: bool,
    /// One of its statements may count rows for `FOUND_ROWS()`.
    pub counts_rows: bool,
    /// One does, unless the CALL fails: a SELECT that nothing leads around.
    pub always_counts: bool,
}

/// Words that begin what is not carried, or hide what they run. In order.
const REFUSED: [&[u8]; 44] = [
    b"ALTER",
    b"ANALYZE",
    b"BACKUP",
    b"BINLOG",
    b"CACHE",
    b"CALL",
    b"CHAIN",
    b"CHANGE",
    b"CHECK",
    b"CREATE",
    b"DEALLOCATE",
    b"DROP",
    b"EXECUTE",
    b"FLUSH",
    b"GLOBAL",
    b"GRANT",
    b"HANDLER",
    b"HELP",
    b"IMMEDIATE",
    b"IMPORT",
    b"INSTALL",
    b"KILL",
    b"LOAD",
    b"LOCK",
    b"OPTIMIZE",
    b"PERSIST",
    b"PERSIST_ONLY",
    b"PREPARE",
    b"PURGE",
    b"RELEASE",
    b"RENAME",
    b"REPAIR",
    b"RESET",
    b"RESTART",
    b"REVOKE",
    b"SHOW",
    b"SHUTDOWN",
    b"STATEMENT",
    b"STOP",
    b"TRUNCATE",
    b"UNINSTALL",
    b"UNLOCK",
    b"USE",
    b"XA",
];

/// Words that do not name a variable behind SET.
const SETS: [&[u8]; 9] = [
    b"CHARACTER",
    b"CHARSET",
    b"DEFAULT",
    b"NAMES",
    b"PASSWORD",
    b"RESOURCE",
    b"ROLE",
    b"STATEMENT",
    b"TRANSACTION",
];

/// Words of statements that use tables. In order.
const USE_TABLES: [&[u8]; 7] = [
    b"DELETE", b"EXPLAIN", b"FROM", b"INSERT", b"REPLACE", b"TABLE", b"UPDATE",
];

/// Words that lead around statements. In order.
const BRANCH: [&[u8]; 11] = [
    b"CASE", b"FOR", b"GOTO", b"HANDLER", b"IF", b"ITERATE", b"LEAVE", b"LOOP", b"REPEAT",
    b"RETURN", b"WHILE",
];

/// Words of statements that count rows for `FOUND_ROWS()`. In order.
const COUNT_ROWS: [&[u8]; 5] = [b"DESC", b"DESCRIBE", b"EXPLAIN", b"SELECT", b"TABLE"];

/// On MySQL these do, too. In order.
const COUNT_ROWS_ON_MYSQL: [&[u8]; 3] = [b"DELETE", b"DO", b"UPDATE"];

/// Words behind which a statement may begin.
const STARTS: [Keyword; 6] = [
    Keyword::Begin,
    Keyword::Then,
    Keyword::Else,
    Keyword::Loop,
    Keyword::Repeat,
    Keyword::Do,
];

/// What settings of the session are lost, or told otherwise than by the session tracker.
const UNSEEN: Traits = Traits::SETS_CHARSET
    .union(Traits::SETS_AUTOCOMMIT)
    .union(Traits::SETS_GLOBAL)
    .union(Traits::SETS_ROLE)
    .union(Traits::SETS_UNSCOPED)
    .union(Traits::SESSION_TRACKING)
    .union(Traits::RELEASES_USER_LOCK)
    .union(Traits::DRAWS_SEQUENCE)
    .union(Traits::TELLS_SEQUENCE)
    .union(Traits::UNKNOWN_CALL);

/// Looks at the body of a procedure. `None` if it may leave something behind that is not carried.
#[must_use]
pub fn procedure_body(text: &[u8], dialect: &Dialect) -> Option<Body> {
    let mut found = Findings::default();
    let words = only_known_words(text, dialect, &mut found)?;
    let mut reader = Reader::new(text, dialect);
    loop {
        expression::scan(&mut reader, &mut found, Until::Insertion, Calls::All);
        if reader.accept(Keyword::Insert) || reader.accept(Keyword::Replace) {
            // Otherwise it is the function of that name.
            if !reader.peek_mark(b'(') {
                write::target(&mut reader);
            }
        } else if !reader.resume() {
            break;
        }
    }
    let doubt = reader.in_doubt();
    let statement = found.statement(Kind::Do);
    let seen = statement.pins.is_empty() && !statement.traits.intersects(UNSEEN);
    (seen && !doubt).then_some(Body {
        uses_variables: statement.traits.contains(Traits::USES_USER_VARIABLES),
        ..words
    })
}

/// Looks at each word, wherever it stands: whether one of them is about tables, or counts rows. What is assigned may be
/// a system variable.
fn only_known_words(text: &[u8], dialect: &Dialect, found: &mut Findings) -> Option<Body> {
    let mut body = Body::default();
    let mut branches = false;
    let is_mysql = dialect.flavor == Flavor::MySql;
    let mut lexer = Lexer::new(text, dialect);
    let mut at_start = true;
    let mut token = lexer.next();
    while token != Token::End {
        let next = lexer.next();
        match token {
            Token::SystemVariable => return None,
            Token::Word(word) => {
                let upper = word.text.to_ascii_uppercase();
                let is_call = next == Token::Mark(b'(');
                let is_handler = word.keyword == Keyword::Handler && next.is(Keyword::For);
                let refused = REFUSED.binary_search(&&*upper).is_ok();
                (!refused || is_call || is_handler).then_some(())?;
                let sets = word.keyword == Keyword::Set && is_one_of(next, &SETS);
                body.uses_tables |= !is_call && is_one_of(token, &USE_TABLES);
                body.counts_rows |= is_one_of(token, &COUNT_ROWS)
                    || is_mysql && is_one_of(token, &COUNT_ROWS_ON_MYSQL)
                    || upper == b"VALUES" && at_start;
                body.always_counts |= upper == b"SELECT" && at_start;
                branches |= is_one_of(token, &BRANCH);
                let starts = upper == b"START" && !next.is(Keyword::Transaction);
                (!sets && !starts).then_some(())?;
            }
            _ => {}
        }
        let assigned = matches!(next, Token::Assign | Token::Mark(b'='));
        if let (true, Some(written)) = (assigned, token.identifier()) {
            variables::assign(identifier::plain(written)?, found);
        }
        at_start = token == Token::Mark(b';') || STARTS.contains(&token.keyword());
        token = next;
    }
    body.always_counts &= !branches;
    (!lexer.in_doubt()).then_some(body)
}

fn is_one_of(token: Token<'_>, words: &[&[u8]]) -> bool {
    let Token::Word(word) = token else {
        return false;
    };
    words
        .binary_search(&&*word.text.to_ascii_uppercase())
        .is_ok()
}

/// The procedure that a text calls which is one CALL: its schema, if it is written, and its name. `None` if they
/// are not of ASCII letters, digits, `_` and `$`.
#[must_use]
pub fn called<'a>(text: &'a [u8], dialect: &Dialect) -> Option<(Option<&'a [u8]>, &'a [u8])> {
    let mut reader = Reader::new(text, dialect);
    reader.accept(Keyword::Call).then_some(())?;
    let mut name = || {
        let name = identifier::plain(reader.next().identifier()?)?;
        let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_$".contains(byte);
        let more = reader.accept_mark(b'.');
        (!name.is_empty() && name.iter().all(plain)).then_some((name, more))
    };
    let (first, qualified) = name()?;
    if !qualified {
        return Some((None, first));
    }
    let (second, more) = name()?;
    (!more).then_some((Some(first), second))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::Flavor;

    fn body(text: &str) -> Option<bool> {
        let dialect = Dialect::new(Flavor::MariaDb, 101_119);
        procedure_body(text.as_bytes(), &dialect).map(|body| body.uses_variables)
    }

    #[test]
    fn words_are_in_order() {
        assert!(REFUSED.is_sorted() && SETS.is_sorted() && USE_TABLES.is_sorted());
        assert!(COUNT_ROWS.is_sorted() && COUNT_ROWS_ON_MYSQL.is_sorted() && BRANCH.is_sorted());
    }

    #[test]
    fn what_leaves_nothing_behind() {
        for (text, uses) in [
            ("SELECT 1", false),
            ("INSERT INTO t (a, b) VALUES (x, y)", false),
            (
                "BEGIN DECLARE n VARCHAR(20) DEFAULT ''; DECLARE c CURSOR FOR SELECT a FROM t; \
                 DECLARE EXIT HANDLER FOR NOT FOUND BEGIN ROLLBACK; END; START TRANSACTION; OPEN c; \
                 l: LOOP FETCH c INTO n; IF (n IS NULL) THEN LEAVE l; \
                 ELSEIF n IN ('a', 'b') THEN REPLACE INTO d.t (a) VALUES (REPLACE(n, 'x', 'y')); \
                 ELSE UPDATE t SET a = LOWER(n) WHERE b = LAST_INSERT_ID(); END IF; END LOOP; \
                 SET n = IF(n > 1, 2, 3); CLOSE c; COMMIT; SELECT COUNT(*) INTO n FROM t; END",
                false,
            ),
            (
                "BEGIN SET @a = 1, sql_mode = 'ANSI'; SELECT a INTO @b FROM t; END",
                true,
            ),
            ("SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no'", false),
        ] {
            assert_eq!(body(text), Some(uses), "{text}");
        }
    }

    #[test]
    fn which_bodies_count_rows() {
        for (text, mariadb, mysql) in [
            (
                "BEGIN SET o = i * 2; INSERT INTO t VALUES (1); END",
                false,
                false,
            ),
            ("BEGIN SELECT 1; END", true, true),
            ("IF a THEN VALUES (1); END IF", true, true),
            ("BEGIN UPDATE t SET a = 1; END", false, true),
            ("WHILE a DO SET b = 1; END WHILE", false, true),
        ] {
            for (flavor, counts) in [(Flavor::MariaDb, mariadb), (Flavor::MySql, mysql)] {
                let dialect = Dialect::new(flavor, 101_119);
                let body = procedure_body(text.as_bytes(), &dialect).expect(text);
                assert_eq!(body.counts_rows, counts, "{text} {flavor:?}");
            }
        }
    }

    #[test]
    fn which_bodies_count_rows_whatever_happens() {
        let dialect = Dialect::new(Flavor::MariaDb, 101_119);
        for (text, always) in [
            ("SELECT 1", true),
            ("BEGIN INSERT INTO t VALUES (1); SELECT a FROM t; END", true),
            (
                "BEGIN INSERT INTO t SELECT 1; SET a = (SELECT 1); END",
                false,
            ),
            ("BEGIN DECLARE c CURSOR FOR SELECT 1; SELECT 2; END", false),
            ("BEGIN IF a THEN SELECT 1; END IF; END", false),
            ("BEGIN UPDATE t SET a = 1; END", false),
        ] {
            let body = procedure_body(text.as_bytes(), &dialect).expect(text);
            assert_eq!(body.always_counts, always, "{text}");
        }
    }

    #[test]
    fn what_may_leave_something_behind() {
        for text in [
            "CREATE TEMPORARY TABLE t (a INT)",
            "BEGIN SELECT 1; DO GET_LOCK('a', 1); END",
            "SELECT own(1)",
            "SELECT d.own(1)",
            "CALL other()",
            "BEGIN IF CASE WHEN a THEN (SELECT 1) END THEN EXECUTE s; END IF; END",
            "PREPARE s FROM 'SELECT 1'",
            "EXECUTE IMMEDIATE 'SELECT 1'",
            "SET timestamp = 5",
            "BEGIN IF a THEN SET insert_id = 5; END IF; END",
            "SET NAMES latin1",
            "SET character_set_results = latin1",
            "SET @@sql_mode = ''",
            "SET GLOBAL max_connections = 5",
            "SET STATEMENT max_statement_time = 1 FOR SELECT 1",
            "SET ROLE r",
            "SET autocommit = 0",
            "SET session_track_schema = 0",
            "HANDLER t OPEN",
            "COMMIT RELEASE",
            "COMMIT AND CHAIN",
            "SELECT NEXTVAL(s)",
            "LOCK TABLES t READ",
            "SET @`a b` = 1",
            "SELECT 'open",
        ] {
            assert_eq!(body(text), None, "{text}");
        }
    }

    #[test]
    fn who_is_called() {
        let dialect = Dialect::new(Flavor::MariaDb, 101_119);
        let called = |text: &'static str| called(text.as_bytes(), &dialect);
        assert_eq!(called("CALL p(1)"), Some((None, &b"p"[..])));
        assert_eq!(called("call `d` . p"), Some((Some(&b"d"[..]), &b"p"[..])));
        for text in ["CALL `a b`()", "CALL a.b.c()", "CALL", "SELECT 1"] {
            assert_eq!(called(text), None, "{text}");
        }
    }
}
