//! Which system variables of the session the SET statements of a text assign. Owns how a list of assignments is read; what a variable means is in `variables`.

use super::classify;
use super::dialect::{Dialect, Flavor};
use super::identifier;
use super::keyword::Keyword;
use super::reader::Reader;
use super::token::Token;
use super::variables::{self, Scope};
use crate::variables::{is_carried, is_charset_variable};

/// A text that sets more variables than this is not followed.
const SET_MAX: usize = 256;

/// What the SET statements of a text set of its session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionSets {
    /// The variables, each once; `None` if there are too many.
    pub sets: Option<Vec<SessionSet>>,
    /// The text has other statements, too.
    pub has_others: bool,
}

/// A variable of the session that a text sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSet {
    /// The name, in lower case.
    pub name: Box<[u8]>,
    /// Which statement of the text sets it, counted from 0.
    pub statement: u32,
}

/// The variables of the session that the SET statements of a text set, as far as they are carried by the value that the
/// server tells: without user variables and character sets, which are read back anyway, and without what only the next
/// transaction is to have.
#[must_use]
pub fn sets_session(text: &[u8], dialect: &Dialect) -> SessionSets {
    let mut sets: Vec<SessionSet> = Vec::new();
    let has_others = each(text, dialect, &mut |statement, assigned| {
        let Assigned {
            scope,
            written,
            bare,
            name,
        } = assigned;
        // On MariaDB a scope need not hold for the names behind it.
        let is_global = match dialect.flavor {
            Flavor::MySql => scope == Scope::Global,
            Flavor::MariaDb => written == Scope::Global,
        };
        let name = name.to_ascii_lowercase();
        let once = !bare && written == Scope::Unscoped && variables::is_of_next_transaction(&name);
        let follows = is_carried(&name) && !is_charset_variable(&name);
        let is_new = |set: &SessionSet| *set.name != *name;
        if !is_global && !once && follows && sets.len() <= SET_MAX && sets.iter().all(is_new) {
            sets.push(SessionSet {
                name: name.into(),
                statement,
            });
        }
    });
    SessionSets {
        sets: (sets.len() <= SET_MAX).then_some(sets),
        has_others,
    }
}

/// The left side of an assignment.
struct Assigned<'a> {
    /// The scope that is written with it, or with one before it in the same list.
    scope: Scope,
    /// The scope that is written with it.
    written: Scope,
    /// Written without `@@`.
    bare: bool,
    /// A plain name of one part.
    name: &'a [u8],
}

/// Goes through the assignments of all SET statements of a text. True if it has other statements.
fn each<'a>(text: &'a [u8], dialect: &Dialect, take: &mut impl FnMut(u32, Assigned<'a>)) -> bool {
    let mut reader = Reader::new(text, dialect);
    let (mut statement, mut has_others) = (0, false);
    loop {
        if reader.accept(Keyword::Set) {
            list(&mut reader, &mut |assigned| take(statement, assigned));
            reader.skip_statement();
        } else {
            // Also what has semicolons in it.
            classify::single(&mut reader);
            has_others = true;
        }
        statement += 1;
        if !reader.resume() {
            return has_others;
        }
    }
}

/// The keyword before a name counts for the names behind it, too, as long as there is no other ("SET Syntax for Variable
/// Assignment" in the MySQL manual).
fn list<'a>(reader: &mut Reader<'a>, take: &mut impl FnMut(Assigned<'a>)) {
    if reader.peek_keyword() == Keyword::Statement {
        // They are put back.
        return;
    }
    let mut last = Scope::Unscoped;
    loop {
        if assignment(reader, &mut last, take).is_none() || !skip_value(reader) {
            return;
        }
    }
}

fn assignment<'a>(
    reader: &mut Reader<'a>,
    last: &mut Scope,
    take: &mut impl FnMut(Assigned<'a>),
) -> Option<()> {
    let keyword = Scope::of(reader.peek_keyword());
    if let Some(keyword) = keyword {
        reader.next();
        *last = keyword;
    }
    let (scope, written, bare, name) = match reader.next() {
        Token::SystemVariable => {
            let (scope, name) = variables::name(reader)?;
            (scope, scope, false, name)
        }
        Token::UserVariable(_) => return Some(()),
        token if token.is(Keyword::Transaction) || token.is(Keyword::Password) => return Some(()),
        token => {
            let written = keyword.unwrap_or(Scope::Unscoped);
            let name = identifier::plain(token.identifier()?)?;
            (*last, written, true, name)
        }
    };
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let is_set = matches!(reader.peek(), Token::Mark(b'=') | Token::Assign);
    // Of what has parts, there is nothing of a session.
    if is_set && name.iter().all(plain) {
        take(Assigned {
            scope,
            written,
            bare,
            name,
        });
    }
    Some(())
}

/// Reads on to behind the comma before the next assignment; `false` if there is none.
fn skip_value(reader: &mut Reader<'_>) -> bool {
    let mut nesting = 0_u32;
    while !reader.at_end() {
        match reader.next() {
            Token::Mark(b'(') => nesting += 1,
            Token::Mark(b')') => nesting = nesting.saturating_sub(1),
            Token::Mark(b',') if nesting == 0 => return true,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_session() {
        let told = |text: &str, flavor| {
            let dialect = Dialect::new(flavor, 101_119);
            let sets = sets_session(text.as_bytes(), &dialect).sets;
            let sets = sets.expect(text).into_iter();
            let shown = |set: SessionSet| {
                format!("{}{}", set.statement, String::from_utf8_lossy(&set.name))
            };
            sets.map(shown).collect::<Vec<_>>().join(" ")
        };
        for (text, expected) in [
            ("SET Foreign_Key_Checks = 0", "0foreign_key_checks"),
            (
                "SET SESSION a = f(1, 2), @@b := 2, LOCAL c = 1, @@session.d = @@e, @@local.`f` = (SELECT 1, 2)",
                "0a 0b 0c 0d 0f",
            ),
            (
                "SET @x = 1, a = 1, @y := @z, NAMES utf8mb4, b = 2, CHARACTER SET latin1, c = 1",
                "0a 0b 0c",
            ),
            ("SET a = 1, a = 2", "0a"),
            ("SET a = 1; SELECT 1; SET b = 2, a = 3;", "0a 2b"),
            (
                "CREATE PROCEDURE p() BEGIN SET x = 1; SET y = 2; END; SET a = 1",
                "1a",
            ),
            ("/*!40101 SET a = 1 */", "0a"),
            (
                "SET GLOBAL a = 1, SESSION b = 2, @@global.c = 3, PERSIST d = 4",
                "0b",
            ),
            // What has a value for itself, or is read back.
            (
                "SET timestamp = 1, character_set_client = latin1, collation_connection = latin1_bin, session_track_schema = 1",
                "",
            ),
            (
                "SET @@tx_isolation = 'SERIALIZABLE', @@transaction_read_only = 1",
                "",
            ),
            (
                "SET tx_isolation = 'SERIALIZABLE', @@session.tx_read_only = 1",
                "0tx_isolation 0tx_read_only",
            ),
            ("SET STATEMENT a = 1, b = 2 FOR SELECT 1", ""),
            ("SET TRANSACTION READ ONLY", ""),
            ("SET PASSWORD = 'x', a = 1", "0a"),
            ("SET one.key_buffer_size = 1", ""),
            ("SET ROLE NONE", ""),
            ("SELECT @@a", ""),
            ("SET", ""),
        ] {
            assert_eq!(told(text, Flavor::MariaDb), expected, "{text}");
            assert_eq!(told(text, Flavor::MySql), expected, "{text}");
        }
        let text = "SET GLOBAL a = 1, b = 2, @@c = 3";
        assert_eq!(told(text, Flavor::MariaDb), "0b 0c");
        assert_eq!(told(text, Flavor::MySql), "0c");
    }

    #[test]
    fn too_many_are_not_followed() {
        let text = |count: u32| {
            let names = (0..count).map(|n| format!("v{n} = 1"));
            format!("SET {}", names.collect::<Vec<_>>().join(","))
        };
        let dialect = Dialect::new(Flavor::MySql, 90_700);
        let count = |text: String| {
            let sets = sets_session(text.as_bytes(), &dialect).sets;
            sets.map(|sets| sets.len())
        };
        assert_eq!((count(text(256)), count(text(257))), (Some(SET_MAX), None));
    }

    #[test]
    fn what_else_a_text_has() {
        let dialect = Dialect::new(Flavor::MariaDb, 110_809);
        for (text, others) in [
            ("SET a = 1; SET @b = 2;", false),
            ("SET a = 1; SELECT 1", true),
            ("INSERT INTO t VALUES (1)", true),
        ] {
            let found = sets_session(text.as_bytes(), &dialect).has_others;
            assert_eq!(found, others, "{text}");
        }
    }
}
