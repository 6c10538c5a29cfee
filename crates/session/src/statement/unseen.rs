//! What the server keeps and runs by itself (triggers, views, routines): whether it leaves something in the session
//! that no answer tells of. Owns what that is, and by which words it is looked for.

use super::dialect::{Dialect, Flavor};
use super::keyword::Keyword;
use super::lexer::Lexer;
use super::token::Token;

/// What runs by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// A trigger: its action.
    Trigger,
    /// A view: its query.
    View,
    /// A procedure or a function: its body.
    Routine,
    /// The body of a package (MariaDB), whose variables every session has for itself.
    Package,
}

/// What a text has, of other than packages, that [`leaves_unseen`] or [`sets_variables`] would find something in, as patterns of
/// LIKE: some have it that do none of these.
#[must_use]
pub const fn patterns(stored: Stored, flavor: Flavor) -> &'static [&'static str] {
    match (stored, flavor) {
        (Stored::View, Flavor::MariaDb) => &["%get_lock%", "%last_insert_id(%", "%lastval(%"],
        (Stored::View, Flavor::MySql) => &["%get_lock%", "%last_insert_id(%"],
        (_, Flavor::MariaDb) => &[
            "%lastval%",
            "%previous%value%",
            "%temporary%",
            "%get_lock%",
            "%@%:=%",
            "%set%@%=%",
            "%into%@%",
            "%diagnostics%@%",
            "%call%@%",
        ],
        (_, Flavor::MySql) => &[
            "%temporary%",
            "%get_lock%",
            "%set role%",
            "%set default role%",
            "%resource group%",
            "%@%:=%",
            "%set%@%=%",
            "%into%@%",
            "%diagnostics%@%",
            "%call%@%",
        ],
    }
}

/// True if what is stored leaves in its session what neither its answer nor the session tracker tells of: temporary
/// tables, locks, user variables that are assigned other than by SET, `LAST_INSERT_ID()` with an argument in a view; on
/// MySQL also roles and resource groups; variables of a package. On MariaDB also if it asks for the last value of a
/// sequence: that is the connection's. What else it calls is not followed. In doubt it does.
#[must_use]
pub fn leaves_unseen(text: &[u8], stored: Stored, dialect: &Dialect) -> bool {
    if stored == Stored::Package && has_variables(text, dialect) {
        return true;
    }
    let mut lexer = Lexer::new(text, dialect);
    let mut assigns = Assigns::Nothing;
    let mut before = Token::End;
    let mut token = lexer.next();
    // A body has semicolons, which are no end.
    while token != Token::End {
        let next = lexer.next();
        let of_flavor = match dialect.flavor {
            Flavor::MariaDb => asks_last_value(token, next),
            Flavor::MySql => leaves_on_mysql(token, next),
        };
        if of_flavor || leaves((before, token, next), stored) {
            return true;
        }
        assigns.take(token);
        if matches!((token, next), (Token::UserVariable(_), Token::Assign)) {
            return true;
        }
        if assigns.is_assigned() && matches!(next, Token::UserVariable(_)) {
            return true;
        }
        (before, token) = (token, next);
    }
    lexer.in_doubt()
}

/// True if what is stored sets variables of its session with SET, `@x` or `@@x`: the answer tells, unless it is an error. In
/// doubt it does.
#[must_use]
pub fn sets_variables(text: &[u8], dialect: &Dialect) -> bool {
    let mut lexer = Lexer::new(text, dialect);
    let mut sets = false;
    let mut token = lexer.next();
    while token != Token::End {
        let next = lexer.next();
        let may_set = token.is(Keyword::Set) || token == Token::Mark(b',');
        sets = match next {
            Token::SystemVariable if may_set => return true,
            Token::UserVariable(_) => may_set,
            Token::Assign | Token::Mark(b'=') if sets => return true,
            _ => false,
        };
        token = next;
    }
    lexer.in_doubt()
}

/// True if the body of a package declares variables, which come before its routines.
fn has_variables(text: &[u8], dialect: &Dialect) -> bool {
    const BEGINS: [&[u8]; 2] = [b"as", b"is"];
    const OTHERS: [&[u8]; 4] = [b"function", b"procedure", b"begin", b"end"];
    let mut lexer = Lexer::new(text, dialect);
    let mut next = || lexer.next();
    let begins = matches!(next(), Token::Word(word) if is_one_of(word.text, &BEGINS));
    let has_none = matches!(next(), Token::Word(word) if is_one_of(word.text, &OTHERS));
    !(begins && has_none)
}

/// Whether a user variable that comes now is assigned.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Assigns {
    Nothing,
    /// Behind INTO and its commas.
    Target,
    /// Behind one target of INTO.
    Targets,
    /// Behind DIAGNOSTICS and CALL, until the statement ends.
    Statement,
}

impl Assigns {
    fn take(&mut self, token: Token<'_>) {
        *self = match (*self, token) {
            (_, Token::Mark(b';')) => Self::Nothing,
            (_, Token::Word(word)) if word.keyword == Keyword::Into => Self::Target,
            (_, Token::Word(word)) if is_one_of(word.text, &[b"call", b"diagnostics"]) => {
                Self::Statement
            }
            (Self::Target, Token::Word(_) | Token::Name(_)) => Self::Targets,
            (Self::Targets, Token::Mark(b',' | b'.')) => Self::Target,
            (Self::Target | Self::Targets, _) => Self::Nothing,
            (state, _) => state,
        };
    }

    fn is_assigned(self) -> bool {
        matches!(self, Self::Target | Self::Statement)
    }
}

fn is_one_of(text: &[u8], words: &[&[u8]]) -> bool {
    words.iter().any(|word| text.eq_ignore_ascii_case(word))
}

fn leaves((before, token, next): (Token<'_>, Token<'_>, Token<'_>), stored: Stored) -> bool {
    let Token::Word(word) = token else {
        // `LAST_INSERT_ID()` alone reads.
        let of_call =
            matches!(before, Token::Word(word) if is_one_of(word.text, &[b"last_insert_id"]));
        let reads = next == Token::Mark(b')');
        return stored == Stored::View && of_call && token == Token::Mark(b'(') && !reads;
    };
    let calls = next == Token::Mark(b'(');
    let tables = [Keyword::Table, Keyword::Tables, Keyword::Sequence];
    calls && is_one_of(word.text, &[b"get_lock"])
        || word.keyword == Keyword::Temporary && tables.contains(&next.keyword())
}

fn asks_last_value(token: Token<'_>, next: Token<'_>) -> bool {
    let Token::Word(word) = token else {
        return false;
    };
    word.keyword == Keyword::Previous && next.is(Keyword::Value)
        || is_one_of(word.text, &[b"lastval"]) && next == Token::Mark(b'(')
}

fn leaves_on_mysql(token: Token<'_>, next: Token<'_>) -> bool {
    match (token, next) {
        (Token::Word(word), Token::Word(next)) => {
            let sets = word.keyword == Keyword::Set || word.keyword == Keyword::Default;
            sets && next.keyword == Keyword::Role
                || is_one_of(word.text, &[b"resource"]) && is_one_of(next.text, &[b"group"])
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaves(text: &str, stored: Stored, flavor: Flavor) -> bool {
        let version = match flavor {
            Flavor::MariaDb => 101_119,
            Flavor::MySql => 90_700,
        };
        let dialect = Dialect::new(flavor, version);
        let leaves = leaves_unseen(text.as_bytes(), stored, &dialect);
        assert!(
            !leaves || is_looked_for(text, stored, flavor),
            "not looked for: {text}"
        );
        leaves
    }

    #[test]
    fn a_package_keeps_its_variables_if_it_has_some() {
        for (body, expected) in [
            (
                "AS v INT := 10; FUNCTION f RETURN INT AS BEGIN RETURN v; END; END",
                true,
            ),
            (
                "IS FUNCTION f RETURN INT AS BEGIN RETURN 1; END; END",
                false,
            ),
            ("AS PROCEDURE p AS v INT; BEGIN v := 1; END; END", false),
            (
                "AS PROCEDURE p AS BEGIN CREATE TEMPORARY TABLE s (a INT); END; END",
                true,
            ),
            ("AS BEGIN SET @a = 1; END", false),
        ] {
            let dialect = Dialect::new(Flavor::MariaDb, 101_119);
            let leaves = leaves_unseen(body.as_bytes(), Stored::Package, &dialect);
            assert_eq!(leaves, expected, "{body}");
        }
    }

    /// What LIKE would say.
    fn is_looked_for(text: &str, stored: Stored, flavor: Flavor) -> bool {
        let text = text.to_lowercase();
        patterns(stored, flavor).iter().any(|pattern| {
            let mut rest = text.as_str();
            pattern.split('%').all(|part| match rest.find(part) {
                Some(at) => {
                    rest = &rest[at + part.len()..];
                    true
                }
                None => false,
            })
        })
    }

    const SERVERS: [Flavor; 2] = [Flavor::MariaDb, Flavor::MySql];

    #[test]
    fn what_any_server_leaves() {
        for text in [
            "SELECT a INTO @x FROM t",
            "BEGIN SELECT a, b INTO n, @x FROM t; END",
            "BEGIN DECLARE n INT; SET n = (@x := 5); END",
            "CALL p(1, @x)",
            "GET DIAGNOSTICS CONDITION 1 @x = MESSAGE_TEXT",
            "CREATE TEMPORARY TABLE s (a INT)",
            "BEGIN IF a THEN create or replace temporary table s select 1; END IF; END",
            "BEGIN DECLARE n INT; SELECT Get_Lock('a', 0) INTO n; END",
        ] {
            for (flavor, stored) in SERVERS
                .into_iter()
                .flat_map(|flavor| [(flavor, Stored::Trigger), (flavor, Stored::Routine)])
            {
                assert!(leaves(text, stored, flavor), "{text}");
            }
        }
        for (text, expected) in [
            ("select last_insert_id(5) AS `a`", true),
            ("select last_insert_id(`t`.`a`) AS `b` from `t`", true),
            ("select get_lock('a',1) AS `a`", true),
            ("select last_insert_id() AS `a`", false),
            ("select `t`.`get_lock` AS `temporary` from `t`", false),
        ] {
            for flavor in SERVERS {
                assert_eq!(leaves(text, Stored::View, flavor), expected, "{text}");
            }
        }
    }

    #[test]
    fn what_asks_for_last_values_leaves_something_on_mariadb() {
        for (text, stored, asks) in [
            ("SET NEW.a = LASTVAL(s)", Stored::Trigger, true),
            (
                "BEGIN INSERT INTO t VALUES (previous value for d.s); END",
                Stored::Routine,
                true,
            ),
            ("select lastval(`d`.`s`) AS `x`", Stored::View, true),
            (
                "SET NEW.a = NEXTVAL(s), NEW.b = 'LASTVAL(s)'",
                Stored::Trigger,
                false,
            ),
            ("SELECT lastval FROM t", Stored::Routine, false),
        ] {
            assert_eq!(leaves(text, stored, Flavor::MariaDb), asks, "{text}");
            assert!(!leaves(text, stored, Flavor::MySql), "{text}");
        }
    }

    #[test]
    fn what_sets_variables() {
        for (text, sets) in [
            ("SET @c = @c + 1", true),
            ("SET NEW.f3 = -(NEW.f1 DIV 5), @counter= @counter+1", true),
            ("BEGIN DECLARE n INT; SET n = 1, @@sql_mode = ''; END", true),
            ("SET @`a b` := 5", true),
            ("INSERT INTO log VALUES (NEW.a, @who)", false),
            (
                "BEGIN SET NEW.a = @x; UPDATE t SET a = 1 WHERE b = @x; END",
                false,
            ),
            ("SET NEW.a = '@x = 1'", false),
        ] {
            for flavor in SERVERS {
                let dialect = Dialect::new(flavor, 101_119);
                assert_eq!(sets_variables(text.as_bytes(), &dialect), sets, "{text}");
                let looked_for = is_looked_for(text, Stored::Trigger, flavor);
                assert!(!sets || looked_for, "{text}");
            }
        }
    }

    #[test]
    fn what_mysql_alone_leaves() {
        for text in ["SET ROLE r", "SET RESOURCE GROUP g"] {
            assert!(leaves(text, Stored::Trigger, Flavor::MySql), "{text}");
            assert!(!leaves(text, Stored::Trigger, Flavor::MariaDb), "{text}");
        }
    }

    #[test]
    fn what_leaves_nothing_or_is_told() {
        for text in [
            "SET NEW.a = LAST_INSERT_ID()",
            "BEGIN SET NEW.a = LAST_INSERT_ID(5); END",
            "INSERT INTO log (who, what) VALUES (@who, NEW.a)",
            "INSERT INTO log SELECT @who, a FROM t",
            "BEGIN CALL p(1); SET @x = 5; END",
            "BEGIN SELECT a INTO n FROM t WHERE b = @x; END",
            "SET @x = 'CREATE TEMPORARY TABLE', @y = 'GET_LOCK(1)'",
            "UPDATE t SET temporary = 1, role = 2, `get_lock` = 3",
            "SET sql_mode = ''",
            "INSERT INTO log VALUES (RELEASE_LOCK('a'))",
        ] {
            for flavor in SERVERS {
                assert!(!leaves(text, Stored::Trigger, flavor), "{text}");
            }
        }
        let open = "INSERT INTO t VALUES ('open";
        let dialect = Dialect::new(Flavor::MySql, 90_700);
        assert!(leaves_unseen(open.as_bytes(), Stored::Trigger, &dialect));
    }
}
