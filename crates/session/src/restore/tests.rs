//! What a restore sends, and in which order.

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
