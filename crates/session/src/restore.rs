//! Bringing a backend from the state it is in to the state of a session.

mod character_sets;

use self::character_sets::put_charset;
pub use self::character_sets::{misreads, set_client_charset};
use crate::coupled::Coupled;
use crate::state::SessionState;
use crate::statement::is_among;
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
    if from.role() != to.role() {
        restore.role = Some(Role::of(to.role()));
        restore.can_fail |= to.role() != Some(b"NONE");
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
    const NULLABLE: &str = "default_tmp_storage_engine enforce_storage_engine external_table_secondary_storage_engine \
        external_table_storage_engine innodb_ft_user_stopword_table innodb_tmpdir";
    is_among(name, NULLABLE)
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

/// Variables that any account may set for its session to any value that the server itself
/// reported. All others may need a privilege.
#[must_use]
pub fn can_be_refused(name: &[u8]) -> bool {
    const FREE: &str = "autocommit character_set_collations character_set_server collation_server \
        foreign_key_checks group_concat_max_len innodb_lock_wait_timeout interactive_timeout \
        lock_wait_timeout max_execution_time max_statement_time net_read_timeout net_write_timeout \
        sql_mode sql_safe_updates sql_select_limit transaction_isolation transaction_read_only \
        tx_isolation unique_checks wait_timeout";
    !is_among(name, FREE)
}

#[cfg(test)]
mod tests;
