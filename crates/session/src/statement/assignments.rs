//! Which variables the SET statements of a text assign. Owns how an assignment is read; `variables` knows what a variable
//! means.

use std::ops::Range;

use super::classify;
use super::dialect::{Dialect, Flavor};
use super::identifier;
use super::keyword::Keyword;
use super::reader::Reader;
use super::token::Token;
use super::variables::{self, Scope, Variable};

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
    let mut reader = Sets::new(text, dialect);
    while let Some(Assigned { scope, target, .. }) = reader.next() {
        let Target::Variable { name, at } = target else {
            continue;
        };
        // MySQL has a scope hold for the names behind it, too, as long as there is no other ("SET Syntax for Variable
        // Assignment" in its manual). On MariaDB it need not.
        let is_global = match dialect.flavor {
            Flavor::MySql if !at => reader.scope == Scope::Global,
            _ => scope == Scope::Global,
        };
        let kind = Variable::of(name);
        let once = at && scope == Scope::Unscoped && kind == Variable::Transaction;
        let plain = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let follows = kind.is_carried() && name.iter().all(plain);
        let is_new = |set: &SessionSet| !set.name.eq_ignore_ascii_case(name);
        if !is_global && !once && follows && sets.len() <= SET_MAX && sets.iter().all(is_new) {
            sets.push(SessionSet {
                name: name.to_ascii_lowercase().into(),
                statement: reader.statement,
            });
        }
    }
    SessionSets {
        sets: (sets.len() <= SET_MAX).then_some(sets),
        has_others: reader.has_others,
    }
}

/// True of a text that sets `session_track_schema`, `session_track_state_change` or `session_track_system_variables`, and
/// besides nothing but variables that are carried, too: MariaDB's driver for ODBC begins so.
#[must_use]
pub fn sets_tracked(text: &[u8], dialect: &Dialect) -> bool {
    let mut reader = Sets::new(text, dialect);
    let mut tracks = false;
    while let Some(Assigned { scope, target, .. }) = reader.next() {
        match target {
            Target::User(_) | Target::Names => {}
            Target::Variable { name, .. } if scope != Scope::Global => {
                match variables::in_tracking(name) {
                    Some(tracked) => tracks |= tracked,
                    None => return false,
                }
            }
            Target::Variable { .. } | Target::Transaction => return false,
        }
    }
    tracks && !reader.has_others && !reader.is_odd && !reader.in_doubt()
}

/// One assignment of a SET, without its value.
pub(super) struct Assigned<'a> {
    /// The scope that is written with it.
    pub(super) scope: Scope,
    pub(super) target: Target<'a>,
    /// Where in the text its `@@` or first word ends.
    pub(super) behind: usize,
}

pub(super) enum Target<'a> {
    /// The characteristics of transactions.
    Transaction,
    /// NAMES and CHARACTER SET, which have no sign.
    Names,
    /// A user variable as written.
    User(&'a [u8]),
    /// A system variable, which is none of a session if its name has parts.
    Variable {
        name: &'a [u8],
        /// Written with `@@`.
        at: bool,
    },
}

/// Takes an assignment up to its sign. `None` if there is none.
pub(super) fn assigned<'a>(reader: &mut Reader<'a>) -> Option<Assigned<'a>> {
    let keyword = Scope::of(reader.peek_keyword());
    if keyword.is_some() {
        reader.next();
    }
    let mut scope = keyword.unwrap_or(Scope::Unscoped);
    let Range { start, end: behind } = reader.place();
    let token = reader.next();
    let target = match token {
        Token::UserVariable(name) => Target::User(name),
        Token::SystemVariable => {
            let (written, name) = variables::name(reader)?;
            scope = written;
            Target::Variable { name, at: true }
        }
        _ => match token.keyword() {
            Keyword::Transaction => Target::Transaction,
            Keyword::Names | Keyword::Character | Keyword::Charset => Target::Names,
            _ => {
                token.identifier()?;
                while reader.accept_mark(b'.') {
                    reader.next().identifier()?;
                }
                let name = identifier::plain(reader.text(start..reader.behind()))?;
                Target::Variable { name, at: false }
            }
        },
    };
    let has_sign = matches!(target, Target::User(_) | Target::Variable { .. });
    if has_sign && !matches!(reader.next(), Token::Mark(b'=') | Token::Assign) {
        return None;
    }
    Some(Assigned {
        scope,
        target,
        behind,
    })
}

/// A cursor over the assignments of all SET statements of a text. Those of SET STATEMENT are put back, and left out.
pub(super) struct Sets<'a> {
    reader: Reader<'a>,
    in_list: bool,
    /// The last keyword for a scope in this statement.
    scope: Scope,
    /// The number of the statement, counted from 0.
    statement: u32,
    /// There was a statement that is no SET.
    has_others: bool,
    /// There was a SET that does something else.
    is_odd: bool,
}

impl<'a> Sets<'a> {
    pub(super) fn new(text: &'a [u8], dialect: &Dialect) -> Self {
        let mut sets = Self {
            reader: Reader::new(text, dialect),
            in_list: false,
            scope: Scope::Unscoped,
            statement: 0,
            has_others: false,
            is_odd: false,
        };
        sets.begin();
        sets
    }

    /// At the beginning of a statement.
    fn begin(&mut self) {
        self.scope = Scope::Unscoped;
        let is_set = self.reader.accept(Keyword::Set);
        self.in_list = is_set && self.reader.peek_keyword() != Keyword::Statement;
        self.is_odd |= is_set && !self.in_list;
        if !is_set {
            // Also what has semicolons in it.
            classify::single(&mut self.reader);
            self.has_others = true;
        }
    }

    pub(super) fn next(&mut self) -> Option<Assigned<'a>> {
        loop {
            if self.in_list {
                if let Some(assigned) = assigned(&mut self.reader) {
                    if !matches!(assigned.target, Target::Variable { at: true, .. })
                        && assigned.scope != Scope::Unscoped
                    {
                        self.scope = assigned.scope;
                    }
                    self.in_list = self.reader.skip_to_comma();
                    return Some(assigned);
                }
                self.is_odd = true;
            }
            self.reader.skip_statement();
            if !self.reader.resume() {
                return None;
            }
            self.statement += 1;
            self.begin();
        }
    }

    pub(super) const fn in_doubt(&self) -> bool {
        self.reader.in_doubt()
    }
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
