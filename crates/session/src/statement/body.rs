//! Bodies of stored routines: whether all that one may leave in a session is carried, or seen when it is
//! answered. Owns what a body must not have for that; in doubt it leaves something behind.

use super::calls::CalledList;
use super::dialect::{Dialect, Flavor};
use super::expression::{self, Calls, Until};
use super::findings::Findings;
use super::identifier;
use super::keyword::Keyword;
use super::kind::{Kind, Traits};
use super::lexer::Lexer;
use super::pins::PinReason;
use super::reader::Reader;
use super::token::Token;
use super::variables::{self, Variable};
use super::{routine, write};

/// What is known of a body that leaves nothing behind unseen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Body {
    /// It mentions user variables.
    pub uses_variables: bool,
    /// It sets system variables of the session.
    pub sets_variables: bool,
    /// One of its statements uses tables, as far as words tell.
    pub uses_tables: bool,
    /// One of its statements may count rows for `FOUND_ROWS()`.
    pub counts_rows: bool,
}

impl Body {
    /// With what another does that it calls, whose rows are counted unless that is a function.
    pub fn calls(&mut self, other: &Self, is_function: bool) {
        self.uses_variables |= other.uses_variables;
        self.sets_variables |= other.sets_variables;
        self.uses_tables |= other.uses_tables;
        self.counts_rows |= other.counts_rows && !is_function;
    }
}

/// Words that begin what is not carried, or hide what they run.
const REFUSED: &str = "alter analyze backup binlog cache chain change check create deallocate drop execute flush global \
    grant handler help immediate import install kill load lock optimize persist persist_only prepare purge release \
    rename repair reset restart revoke show shutdown statement stop truncate uninstall unlock use xa";

/// Words that do not name a variable behind SET.
const SETS: &str = "character charset default names password resource role statement transaction";

/// Words of statements that use tables.
const USE_TABLES: &str = "delete explain from insert replace table update";

/// Words of statements that count rows for `FOUND_ROWS()`.
const COUNT_ROWS: &str = "desc describe explain select table";

/// On MySQL these do, too.
const COUNT_ROWS_ON_MYSQL: &str = "delete do update";

/// Words behind which a statement may begin, as it may behind a semicolon or a label's colon.
const STARTS: &str = "begin then else loop repeat do";

/// What settings of the session are lost, or told otherwise than by the session tracker.
const UNSEEN: Traits = Traits::SETS_CHARSET
    .union(Traits::SETS_GLOBAL)
    .union(Traits::SETS_ROLE)
    .union(Traits::SETS_UNSCOPED)
    .union(Traits::SESSION_TRACKING)
    .union(Traits::RELEASES_USER_LOCK)
    .union(Traits::DRAWS_SEQUENCE)
    .union(Traits::TELLS_SEQUENCE);

/// Looks at the body of a routine with these parameters, and says which others it calls. `None` if it may itself leave something behind that is
/// not carried: of what a function sets, the server tells nothing if its statement fails.
#[must_use]
pub fn routine_body<'a>(
    text: &'a [u8],
    (parameters, is_function): (&[&'a [u8]], bool),
    dialect: &Dialect,
) -> Option<(Body, CalledList<'a>)> {
    let mut found = Findings::default();
    let targets = Targets {
        declared: parameters.to_vec(),
        ..Targets::default()
    };
    let words = only_known_words(text, dialect, &mut found, targets)?;
    let mut reader = Reader::noting(text, dialect);
    loop {
        expression::scan(&mut reader, &mut found, Until::Target, Calls::All);
        if reader.accept(Keyword::Call) {
            routine::procedure(&mut reader);
        } else if reader.accept(Keyword::Insert) || reader.accept(Keyword::Replace) {
            // Otherwise it is the function of that name.
            if !reader.peek_mark(b'(') {
                write::target(&mut reader);
            }
        } else if !reader.resume() {
            break;
        }
    }
    let calls = reader.into_calls()?;
    let statement = found.statement(Kind::Do);
    let mut pins = statement.pins;
    pins.remove(PinReason::UnknownFunction);
    let seen = pins.is_empty() && !statement.traits.intersects(UNSEEN);
    let does = |traits| statement.traits.intersects(traits);
    let lost = is_function && (words.sets_variables || does(Traits::SETS_LAST_INSERT_ID));
    (seen && !lost).then_some(())?;
    let body = Body {
        uses_variables: does(Traits::USES_USER_VARIABLES),
        ..words
    };
    Some((body, calls))
}

/// Looks at each word, wherever it stands: whether one of them is about tables, or counts rows. What is assigned may be
/// a system variable.
fn only_known_words<'a>(
    text: &'a [u8],
    dialect: &Dialect,
    found: &mut Findings,
    mut targets: Targets<'a>,
) -> Option<Body> {
    let mut body = Body::default();
    let is_mysql = dialect.flavor == Flavor::MySql;
    let mut lexer = Lexer::new(text, dialect);
    let mut at_start = true;
    let mut token = lexer.next();
    while token != Token::End {
        let next = lexer.next();
        targets.pass(token, at_start);
        let is_call = next == Token::Mark(b'(');
        let is_refused = token.is_among(REFUSED)
            && !is_call
            && !(token.is(Keyword::Handler) && next.is(Keyword::For))
            || token == Token::SystemVariable
            || token.is(Keyword::Set) && next.is_among(SETS)
            || token.is(Keyword::Start) && !next.is(Keyword::Transaction);
        (!is_refused).then_some(())?;
        body.uses_tables |= !is_call && token.is_among(USE_TABLES);
        body.counts_rows |= token.is_among(COUNT_ROWS)
            || is_mysql && token.is_among(COUNT_ROWS_ON_MYSQL)
            || at_start && token.is(Keyword::Values);
        let assigned = matches!(next, Token::Assign | Token::Mark(b'='));
        if let (true, Some(written)) = (assigned, token.identifier()) {
            let name = identifier::plain(written)?;
            let kind = Variable::of(name);
            (kind != Variable::Autocommit).then_some(())?;
            variables::assign(name, kind, found);
        }
        at_start = matches!(token, Token::Mark(b';' | b':')) || token.is_among(STARTS);
        token = next;
    }
    body.sets_variables = targets.others;
    (!lexer.in_doubt()).then_some(body)
}

/// What the SETs of a body assign: its parameters, variables that it has declared, or others, which are the session's.
#[derive(Default)]
struct Targets<'a> {
    declared: Vec<&'a [u8]>,
    others: bool,
    place: TargetPlace,
    depth: u32,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum TargetPlace {
    #[default]
    Elsewhere,
    /// Where a name behind DECLARE comes.
    Declares,
    /// Right behind it.
    Declared,
    /// Where the target of a SET comes.
    Target,
    /// Behind that, in its value.
    Value,
}

impl<'a> Targets<'a> {
    fn pass(&mut self, token: Token<'a>, at_start: bool) {
        let name = token.identifier().and_then(identifier::plain);
        self.place = match (self.place, token) {
            (_, Token::Mark(b';')) => TargetPlace::Elsewhere,
            (_, token) if at_start && token.is(Keyword::Declare) => TargetPlace::Declares,
            (_, token) if at_start && token.is(Keyword::Set) => {
                self.depth = 0;
                TargetPlace::Target
            }
            (TargetPlace::Declares, _) => {
                self.declared.extend(name);
                TargetPlace::Declared
            }
            (TargetPlace::Declared, Token::Mark(b',')) => TargetPlace::Declares,
            (TargetPlace::Declared, _) => TargetPlace::Elsewhere,
            (TargetPlace::Target, token) => {
                let is_own = |name: &[u8]| {
                    let mut declared = self.declared.iter();
                    declared.any(|declared| declared.eq_ignore_ascii_case(name))
                };
                let is_user = matches!(token, Token::UserVariable(_));
                self.others |= !is_user && !name.is_some_and(is_own);
                TargetPlace::Value
            }
            (TargetPlace::Value, Token::Mark(b',')) if self.depth == 0 => TargetPlace::Target,
            (place, _) => place,
        };
        match token {
            Token::Mark(b'(') => self.depth += 1,
            Token::Mark(b')') => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::Called;
    use crate::statement::Flavor;

    fn body(text: &str) -> Option<bool> {
        let dialect = Dialect::new(Flavor::MariaDb, 101_119);
        routine_body(text.as_bytes(), (&[], false), &dialect).map(|(body, _)| body.uses_variables)
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
                let (body, _) = routine_body(text.as_bytes(), (&[], false), &dialect).expect(text);
                assert_eq!(body.counts_rows, counts, "{text} {flavor:?}");
            }
        }
    }

    #[test]
    fn what_may_leave_something_behind() {
        for text in [
            "CREATE TEMPORARY TABLE t (a INT)",
            "BEGIN SELECT 1; DO GET_LOCK('a', 1); END",
            "CALL d.pk.other()",
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
    fn what_a_body_calls() {
        let dialect = Dialect::new(Flavor::MariaDb, 101_119);
        let text = b"BEGIN IF own(n) THEN CALL d.other(n, f(1)); ELSE INSERT INTO t (a) VALUES (2); END IF; CALL last; END";
        let (_, calls) = routine_body(text, (&[], false), &dialect).unwrap();
        let named = |called: &Called<'_>| (called.name.to_vec(), called.is_function);
        let names: Vec<_> = calls.iter().map(named).collect();
        let expected = [
            ("own", true),
            ("other", false),
            ("f", true),
            ("last", false),
        ];
        assert_eq!(
            names,
            expected.map(|(name, is)| (name.as_bytes().to_vec(), is))
        );
        assert_eq!(calls[1].schema, Some(&b"d"[..]));
    }

    #[test]
    fn of_a_function_less_is_told() {
        let dialect = Dialect::new(Flavor::MariaDb, 101_119);
        for (text, of_procedure, of_function) in [
            ("RETURN 1", true, true),
            (
                "BEGIN INSERT INTO t (a) VALUES (1); RETURN LAST_INSERT_ID(); END",
                true,
                true,
            ),
            ("RETURN LAST_INSERT_ID(5)", true, false),
            ("BEGIN SET sql_mode = ''; RETURN 1; END", true, false),
            (
                "BEGIN SET SESSION sql_mode = ''; RETURN 1; END",
                true,
                false,
            ),
            (
                "BEGIN DECLARE a, `b` INT DEFAULT 1; SET A = f(1, 2), b := 2, @c = 3; UPDATE t SET d = a; RETURN b; END",
                true,
                true,
            ),
            (
                "BEGIN DECLARE a INT; l: LOOP SET a = 2, sql_mode = ''; LEAVE l; END LOOP; RETURN a; END",
                true,
                false,
            ),
        ] {
            let is_known = |is_function| {
                routine_body(text.as_bytes(), (&[b"given"], is_function), &dialect).is_some()
            };
            assert_eq!(
                (is_known(false), is_known(true)),
                (of_procedure, of_function),
                "{text}"
            );
        }
    }
}
