//! Bringing a backend from the state it is in to the state of a session.

mod character_sets;

use self::character_sets::put_charset;
pub use self::character_sets::{misreads, set_client_charset};
use crate::coupled::Coupled;
use crate::state::SessionState;
use crate::variables::Variables;

/// What must be sent before a session's statement can run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restore {
    /// Words of a `SET` would be taken for what their bytes say: [`NARROW`] comes first.
    pub narrows: bool,
    /// One `SET` statement, or empty.
    pub set: Vec<u8>,
    /// The role to take on, if it is another one: before the schema, which it may open.
    pub role: Option<Role>,
    /// The role to take on behind the schema, if that took another one.
    pub role_then: Option<Role>,
    /// The schema to select with COM_INIT_DB, if it is another one: in UTF-8, as servers tell it.
    pub schema: Option<Box<[u8]>>,
    /// The `character_set_client` that is in force there, if it would read the schema's name as another one.
    pub misread_in: Option<Box<[u8]>>,
    /// Statements about the next transaction, which come last: setting `autocommit` may end one.
    pub next: Vec<Box<[u8]>>,
    /// True if the server may refuse some of it (rule 5): then nothing that may write can follow
    /// in the same write.
    pub can_fail: bool,
    /// True if it may refuse what is not the session's: to give up what another one has left.
    pub gives_up: bool,
}

/// A role to take on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// The one that the backend had when it was opened.
    OfLogin,
    /// What stands behind SET ROLE.
    Named(Box<[u8]>),
}

impl Role {
    /// The role of a session.
    pub(crate) fn of(role: Option<&[u8]>) -> Self {
        role.map_or(Self::OfLogin, |role| Self::Named(role.into()))
    }
}

impl Restore {
    /// True if there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.set.is_empty() && self.role.is_none() && self.schema.is_none() && self.next.is_empty()
    }
}

/// What has the words of a `SET` read as they are, whatever the session before has set.
pub const NARROW: &[u8] = b"SET NAMES utf8mb4";

/// Gives up what only the next transaction was to have, whatever `completion_type` says. Of a transaction that is open, it
/// is no more the next one's.
const NO_NEXT: &[u8] = b"ROLLBACK AND NO CHAIN NO RELEASE";

/// What brings a backend in state `from` to state `to`.
///
/// The caller has asked [`SessionState::can_become`] before.
pub fn plan(from: &SessionState, to: &SessionState) -> Restore {
    let mut restore = Restore::default();
    let wide = from.charset.as_ref().filter(|charset| charset.is_wide());
    restore.narrows = wide.is_some() && from.variables != to.variables;
    if let Some(charset) = to.charset.as_ref().or(wide)
        && (from.charset.as_ref() != Some(charset) || restore.narrows)
    {
        put_charset(&mut restore.set, charset);
    }
    if from.variables != to.variables {
        put_variables(&mut restore, &from.variables, &to.variables);
    }

    if from.schema != to.schema {
        restore.schema = to.schema.as_ref().map(|name| name[..].into());
        restore.can_fail |= restore.schema.is_some();
        let charset = to.charset.as_ref().or(from.charset.as_ref());
        let client = charset.map(|charset| &charset.client);
        restore.misread_in = client
            .filter(|client| restore.schema.iter().any(|name| misreads(client, name)))
            .cloned();
    }
    // A schema may take a role, whoever else has both.
    if from.seldom != to.seldom || to.role_for_schema().is_some() {
        put_roles(&mut restore, from, to);
    }
    put_next(&mut restore, from, to);
    restore
}

/// Also where both have the same: what is set for all transactions of a session ends that on either server.
fn put_next(restore: &mut Restore, from: &SessionState, to: &SessionState) {
    let (before, next) = (from.next_transaction(), to.next_transaction());
    let is_asked_for = before.is_some() || next.is_some();
    if is_asked_for && (before != next || sets_transaction(&restore.set)) {
        let given_up = before.filter(|before| !says_as_much(next, before));
        let given_up = given_up.map(|_| NO_NEXT);
        let statements = next
            .into_iter()
            .flat_map(|next| next.split(|&byte| byte == b';'));
        let statements = statements.map(<[u8]>::trim_ascii);
        let statements = given_up.into_iter().chain(statements);
        let statements = statements.filter(|statement| !statement.is_empty());
        restore.next.extend(statements.map(Into::into));
    }
}

/// True of a SET of a session's isolation level or access mode.
fn sets_transaction(set: &[u8]) -> bool {
    let names: [&[u8]; 2] = [b"@@session.tx_", b"@@session.transaction_"];
    let has = |name: &[u8]| set.windows(name.len()).any(|part| part == name);
    names.into_iter().any(has)
}

/// True if what a next transaction was to have is told anew: then nothing must be given up, and a savepoint that came
/// first stays.
fn says_as_much(next: Option<&[u8]>, before: &[u8]) -> bool {
    let says = |text: &[u8], word: &[u8]| text.windows(word.len()).any(|part| part == word);
    let characteristics: [&[u8]; 2] = [b"TRANSACTION ISOLATION", b"TRANSACTION READ"];
    let told = |word: &[u8]| !says(before, word) || next.is_some_and(|next| says(next, word));
    characteristics.into_iter().all(told)
}

/// A schema that is not selected yet may take another role than the session's.
fn put_roles(restore: &mut Restore, from: &SessionState, to: &SessionState) {
    let own = Role::of(to.role());
    let for_schema = to.role_for_schema().filter(|_| restore.schema.is_some());
    let first = for_schema.unwrap_or(&own);
    if *first != Role::of(from.role()) {
        restore.role = Some(first.clone());
        restore.can_fail |= to.role() != Some(b"NONE");
    }
    restore.role_then = (*first != own).then_some(own);
}

fn put_variables(restore: &mut Restore, from: &Variables, to: &Variables) {
    for (name, _) in from.iter().filter(|(name, _)| to.get(name).is_none()) {
        put_default(&mut restore.set, name);
        restore.can_fail |= can_be_refused(name);
        restore.gives_up |= can_be_refused(name);
    }
    let differs = |name: &[u8]| from.get(name) != to.get(name);
    // Setting one of those that belong together may have changed another.
    let is_wanted = |name: &[u8]| {
        let mut coupled = Coupled::of(name).into_iter().flat_map(Coupled::names);
        differs(name) || coupled.any(differs)
    };
    for late in [false, true] {
        for (name, value) in to.iter().filter(|(name, _)| is_wanted(name)) {
            if Coupled::is_late(name) == late {
                put_assignment(&mut restore.set, name, value);
                restore.can_fail |= can_be_refused(name);
            }
        }
    }
}

/// What a new session begins with. For two switches that it keeps the other way round, MySQL takes
/// DEFAULT for off, whatever the global value says; DEFAULT of `autocommit` is the global value of now, and who has
/// begun without it has set it.
fn put_default(set: &mut Vec<u8>, name: &[u8]) {
    match name {
        b"autocommit" => put_raw(set, name, b"1"),
        b"foreign_key_checks" | b"unique_checks" => {
            put_raw(set, name, &[b"@@global.", name].concat());
        }
        _ => put_raw(set, name, b"DEFAULT"),
    }
}

fn put_assignment(set: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    if value.is_empty() && is_null_if_empty(name) {
        return put_raw(set, name, b"NULL");
    }
    if is_number(value) {
        return put_raw(set, name, value);
    }
    put_raw(set, name, b"'");
    for &byte in value {
        // Doubling a quote is understood with and without NO_BACKSLASH_ESCAPES. Values with a
        // backslash never come here: see `is_restorable`.
        if byte == b'\'' {
            set.push(b'\'');
        }
        set.push(byte);
    }
    set.push(b'\'');
}

fn put_raw(set: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    set.extend_from_slice(if set.is_empty() {
        b"SET @@session."
    } else {
        b",@@session."
    });
    set.extend_from_slice(name);
    set.push(b'=');
    set.extend_from_slice(value);
}

/// True for variables of which the tracker tells NULL as an empty value, which they do not take.
fn is_null_if_empty(name: &[u8]) -> bool {
    const NULLABLE: [&[u8]; 6] = [
        b"default_tmp_storage_engine",
        b"enforce_storage_engine",
        b"external_table_secondary_storage_engine",
        b"external_table_storage_engine",
        b"innodb_ft_user_stopword_table",
        b"innodb_tmpdir",
    ];
    NULLABLE.binary_search(&name).is_ok()
}

/// True if a value can be written into a `SET` so that every server and every
/// `character_set_client` reads it the same: ASCII without backslashes.
pub fn is_restorable(value: &[u8]) -> bool {
    value
        .iter()
        .all(|&byte| byte.is_ascii() && byte != b'\\' && byte != 0)
}

fn is_number(value: &[u8]) -> bool {
    let digits = value.strip_prefix(b"-").unwrap_or(value);
    let mut parts = digits.splitn(2, |&byte| byte == b'.');
    let all_digits = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    parts.next().is_some_and(all_digits) && parts.next().is_none_or(all_digits)
}

/// The one variable whose value the server refused to set, if it makes no difference any more: there is no such
/// variable, or it is one by which nothing is decided once it may not be set. `words` are those of the error.
#[must_use]
pub fn meaningless<'a>(state: &'a SessionState, code: u16, words: &[u8]) -> Option<&'a [u8]> {
    const UNKNOWN: u16 = 1193;
    const WRONG_VALUE: u16 = 1231;
    const QUERY_CACHE_DISABLED: u16 = 1925;
    const THREADS: [&[u8]; 2] = [b"max_delayed_threads", b"max_insert_delayed_threads"];
    let within = |name: &&[u8]| words.split(|&byte| byte == b'\'').any(|word| word == *name);
    let named = || state.variables.iter().map(|(name, _)| name).find(within);
    match code {
        UNKNOWN => named(),
        // More threads than the server would let anybody have.
        WRONG_VALUE => named().filter(|name| THREADS.contains(name)),
        QUERY_CACHE_DISABLED => {
            let mut names = state.variables.iter().map(|(name, _)| name);
            names.find(|name| *name == b"query_cache_type")
        }
        _ => None,
    }
}

/// Variables that any account may set for its session to any value that the server itself
/// reported. All others may need a privilege.
#[must_use]
pub fn can_be_refused(name: &[u8]) -> bool {
    const FREE: [&[u8]; 20] = [
        b"autocommit",
        b"character_set_server",
        b"collation_server",
        b"foreign_key_checks",
        b"group_concat_max_len",
        b"innodb_lock_wait_timeout",
        b"interactive_timeout",
        b"lock_wait_timeout",
        b"max_execution_time",
        b"max_statement_time",
        b"net_read_timeout",
        b"net_write_timeout",
        b"sql_mode",
        b"sql_safe_updates",
        b"sql_select_limit",
        b"transaction_isolation",
        b"transaction_read_only",
        b"tx_isolation",
        b"unique_checks",
        b"wait_timeout",
    ];
    FREE.binary_search(&name).is_err()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Interner;

    pub(super) fn state(interner: &mut Interner, variables: &[(&str, &str)]) -> SessionState {
        let mut state = SessionState::new(45, interner);
        for (name, value) in variables {
            state.set_variable(name.as_bytes(), value.as_bytes(), interner);
        }
        state
    }

    #[test]
    fn the_difference_and_nothing_else() {
        let mut interner = Interner::default();
        let from = state(
            &mut interner,
            &[("autocommit", "OFF"), ("sql_mode", "ANSI")],
        );
        let to = state(
            &mut interner,
            &[("sql_mode", "it's"), ("max_statement_time", "2.500000")],
        );
        let restore = plan(&from, &to);
        assert_eq!(
            String::from_utf8_lossy(&restore.set),
            "SET @@session.autocommit=1,@@session.max_statement_time=2.500000,\
             @@session.sql_mode='it''s'"
        );
        assert!(!restore.can_fail);
        assert!(plan(&to, &to.clone()).is_empty());
    }

    #[test]
    fn what_makes_no_difference_any_more() {
        let mut interner = Interner::default();
        let names = [
            ("a_plugin_s", "1"),
            ("max_delayed_threads", "20"),
            ("query_cache_type", "DEMAND"),
        ];
        let state = state(&mut interner, &names);
        for (code, words, expected) in [
            (
                1193,
                "Unknown system variable 'a_plugin_s'",
                Some("a_plugin_s"),
            ),
            (1193, "Unknown system variable 'somebody_s'", None),
            (1227, "Access denied; you need 'a_plugin_s'", None),
            (
                1231,
                "Variable 'max_delayed_threads' can't be set to the value of '20'",
                Some("max_delayed_threads"),
            ),
            (
                1231,
                "Variable 'a_plugin_s' can't be set to the value of '20'",
                None,
            ),
            (
                1925,
                "Query cache is globally disabled",
                Some("query_cache_type"),
            ),
        ] {
            let found = meaningless(&state, code, words.as_bytes());
            assert_eq!(found, expected.map(str::as_bytes), "{code} {words}");
        }
    }

    #[test]
    fn what_may_be_null_is_not_set_to_an_empty_value() {
        let mut interner = Interner::default();
        let from = state(&mut interner, &[]);
        let to = state(
            &mut interner,
            &[
                ("enforce_storage_engine", ""),
                ("external_table_storage_engine", ""),
                ("sql_mode", ""),
            ],
        );
        assert_eq!(
            String::from_utf8_lossy(&plan(&from, &to).set),
            "SET @@session.enforce_storage_engine=NULL,@@session.external_table_storage_engine=NULL,@@session.sql_mode=''"
        );
    }

    #[test]
    fn variables_that_belong_together_are_set_in_their_order() {
        let mut interner = Interner::default();
        let both: &[_] = &[("max_join_size", "2"), ("sql_big_selects", "ON")];
        let old: &[_] = &[("old_mode", ""), ("old", "ON")];
        let one = "SET @@session.sql_big_selects=DEFAULT,@@session.max_join_size=2";
        let set = "SET @@session.max_join_size=2,@@session.sql_big_selects='ON'";
        let set_old = "SET @@session.old_mode='',@@session.old='ON'";
        for (from, to, expected) in [
            (&[][..], both, set),
            (&both[..1], both, set),
            (both, &both[..1], one),
            (
                both,
                &both[1..],
                "SET @@session.max_join_size=DEFAULT,@@session.sql_big_selects='ON'",
            ),
            (&[], old, set_old),
        ] {
            let (from, to) = (state(&mut interner, from), state(&mut interner, to));
            let restore = plan(&from, &to);
            assert_eq!(String::from_utf8_lossy(&restore.set), expected);
        }
    }

    #[test]
    fn switches_whose_default_mysql_gets_wrong_are_set_to_the_global_value() {
        let mut interner = Interner::default();
        let from = state(
            &mut interner,
            &[("foreign_key_checks", "OFF"), ("unique_checks", "OFF")],
        );
        let to = state(&mut interner, &[]);
        let restore = plan(&from, &to);
        assert_eq!(
            String::from_utf8_lossy(&restore.set),
            "SET @@session.foreign_key_checks=@@global.foreign_key_checks,\
             @@session.unique_checks=@@global.unique_checks"
        );
        assert!(!restore.can_fail);
    }

    #[test]
    fn a_schema_or_a_guarded_variable_can_fail() {
        let mut interner = Interner::default();
        let from = state(&mut interner, &[]);
        let mut to = from.clone();
        to.set_schema(b"shop", &mut interner);
        let restore = plan(&from, &to);
        assert_eq!(restore.schema.as_deref(), Some(&b"shop"[..]));
        assert!(restore.can_fail && restore.set.is_empty());
        let guarded = state(&mut interner, &[("sql_log_off", "ON")]);
        assert!(plan(&from, &guarded).can_fail);
    }

    #[test]
    fn a_role_can_be_refused_and_none_cannot() {
        let mut interner = Interner::default();
        let of_login = state(&mut interner, &[]);
        let (mut clerk, mut nobody) = (of_login.clone(), of_login.clone());
        clerk.set_role(Some(b"`clerk`"));
        nobody.set_role(Some(b"NONE"));
        let to_clerk = plan(&nobody, &clerk);
        assert_eq!(to_clerk.role, Some(Role::Named((*b"`clerk`").into())));
        assert!(to_clerk.can_fail && !to_clerk.is_empty());
        assert!(!plan(&clerk, &nobody).can_fail);
        assert_eq!(plan(&clerk, &of_login).role, Some(Role::OfLogin));
        assert!(plan(&clerk, &clerk.clone()).is_empty());
    }

    #[test]
    fn the_next_transaction_is_prepared_for_last() {
        let mut interner = Interner::default();
        let plain = state(&mut interner, &[]);
        let mut once = plain.clone();
        once.set_next_transaction(
            b"SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; SET TRANSACTION READ ONLY;",
        );
        let texts = |from: &SessionState, to: &SessionState| {
            let restore = plan(from, to);
            assert!(!restore.can_fail);
            restore.next.concat()
        };
        assert_eq!(
            texts(&plain, &once),
            b"SET TRANSACTION ISOLATION LEVEL SERIALIZABLESET TRANSACTION READ ONLY"
        );
        assert_eq!(texts(&once, &plain), NO_NEXT);
        let mut other = plain.clone();
        other.set_next_transaction(b"SET TRANSACTION READ WRITE;");
        assert_eq!(
            texts(&once, &other),
            [NO_NEXT, b"SET TRANSACTION READ WRITE"].concat()
        );
        let mut writes = once.clone();
        writes.let_next_write();
        assert_eq!(
            texts(&once, &writes),
            b"SET TRANSACTION ISOLATION LEVEL SERIALIZABLESET TRANSACTION READ WRITE"
        );
        let mut reads = once.clone();
        reads.set_variable(b"tx_read_only", b"1", &mut interner);
        assert_eq!(plan(&once, &reads).next.len(), 2);
        assert!(plan(&once, &once.clone()).next.is_empty());
        let mut level = plain.clone();
        level.set_next_transaction(b"SET TRANSACTION ISOLATION LEVEL READ COMMITTED;");
        let told = b"SET TRANSACTION ISOLATION LEVEL READ COMMITTED";
        assert_eq!(texts(&other, &level), [NO_NEXT, told].concat());
    }

    #[test]
    fn numbers_stay_bare() {
        for (value, number) in [
            ("1", true),
            ("-1.50", true),
            ("", false),
            ("1.", false),
            ("1e3", false),
            ("ON", false),
        ] {
            assert_eq!(is_number(value.as_bytes()), number, "{value}");
        }
    }

    #[test]
    fn a_schema_is_selected_under_the_role_that_opens_it() {
        let mut interner = Interner::default();
        let mut to = SessionState::new(45, &interner);
        to.set_schema(b"shop", &mut interner);
        to.set_role(Some(b"`a`"));
        let named = |role: &[u8]| Some(Role::Named(role.into()));
        let mut from = SessionState::new(45, &interner);
        let restore = plan(&from, &to);
        assert_eq!((restore.role, restore.role_then), (named(b"`a`"), None));
        assert!(to.needs_former_role());
        let restore = plan(&from, &to);
        assert_eq!((restore.role, restore.role_then), (None, named(b"`a`")));
        // Another session has the same roles.
        from.take_role_and_schema(&to);
        from.schema = Some(interner.schema(b"other"));
        let restore = plan(&from, &to);
        let expected = (Some(Role::OfLogin), named(b"`a`"));
        assert_eq!((restore.role, restore.role_then), expected);
        assert!(restore.can_fail && restore.schema.is_some());
        assert!(plan(&to, &to).is_empty());
    }
}
