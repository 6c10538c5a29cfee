//! SET in all its forms.

use super::{ASSIGNS, HIDDEN, MARIADB, MYSQL, NONE, UNKNOWN_CALL, USES, WRITES, check, check_in};
use crate::statement::{Kind, PinReason, Traits, classify};

const SETS: Traits = Traits::SETS_VARIABLE;
const CHARSET: Traits = Traits::SETS_VARIABLE.union(Traits::SETS_CHARSET);
const GLOBAL: Traits = Traits::SETS_GLOBAL.union(WRITES);

#[test]
fn variables_of_the_session() {
    check(&[
        ("set sql_mode='ANSI'", Kind::Set, SETS, &[]),
        (
            "set session sql_mode='ANSI', local a := default",
            Kind::Set,
            SETS,
            &[],
        ),
        ("set @@session.sql_mode='ANSI'", Kind::Set, SETS, &[]),
        ("set autocommit=0", Kind::Set, SETS, &[]),
        ("set @@session.AUTOCOMMIT=0", Kind::Set, SETS, &[]),
        (
            "set names utf8mb4 collate utf8mb4_bin",
            Kind::Set,
            CHARSET,
            &[],
        ),
        ("set character set utf8", Kind::Set, CHARSET, &[]),
        ("set charset default", Kind::Set, CHARSET, &[]),
        ("set a=1, names utf8", Kind::Set, CHARSET, &[]),
        ("set `character_set_results`=null", Kind::Set, CHARSET, &[]),
        ("set collation_connection=utf8_bin", Kind::Set, CHARSET, &[]),
        (
            "set session_track_schema=1",
            Kind::Set,
            SETS | Traits::SESSION_TRACKING,
            &[PinReason::SessionTracking],
        ),
    ]);
}

#[test]
fn global_variables() {
    check(&[
        ("set global a=1", Kind::Set, GLOBAL, &[]),
        ("set @@global.a=1", Kind::Set, GLOBAL, &[]),
        ("set global autocommit=0", Kind::Set, GLOBAL, &[]),
        ("set persist a=1, persist_only b=2", Kind::Set, GLOBAL, &[]),
        ("set global a=1, b=2", Kind::Set, GLOBAL | SETS, &[]),
        ("set global transaction read only", Kind::Set, GLOBAL, &[]),
    ]);
}

#[test]
fn assignments_that_pin() {
    check(&[
        ("set @a=1, @b:=(select 1, 2)", Kind::Set, ASSIGNS, &[]),
        ("set a=@b", Kind::Set, SETS | USES, &[]),
        (
            "set @`a b`=1",
            Kind::Set,
            ASSIGNS,
            &[PinReason::UserVariable],
        ),
        (
            "set insert_id=5",
            Kind::Set,
            SETS,
            &[PinReason::ExpressionVariable],
        ),
        (
            "set timestamp=default",
            Kind::Set,
            SETS,
            &[PinReason::ExpressionVariable],
        ),
        (
            "set last_insert_id=5",
            Kind::Set,
            SETS | Traits::SETS_LAST_INSERT_ID,
            &[PinReason::ExpressionVariable],
        ),
        ("set sql_log_bin=0", Kind::Set, SETS, &[]),
        ("set session gtid_domain_id=1", Kind::Set, SETS, &[]),
        (
            "set session gtid_seq_no=1",
            Kind::Set,
            SETS,
            &[PinReason::ReplicationVariable],
        ),
        ("set profiling=1", Kind::Set, SETS, &[PinReason::Profiling]),
        (
            "set optimizer_trace='enabled=on'",
            Kind::Set,
            SETS,
            &[PinReason::Profiling],
        ),
        ("set debug_dbug='x'", Kind::Set, SETS, &[PinReason::Debug]),
        ("set role r", Kind::Set, Traits::SETS_ROLE, &[]),
        (
            "set resource group r",
            Kind::Set,
            NONE,
            &[PinReason::ResourceGroup],
        ),
        (
            "set a=f(1)",
            Kind::Set,
            SETS | UNKNOWN_CALL,
            &[PinReason::UnknownFunction],
        ),
        (
            "set a=get_lock('x',1), b=2",
            Kind::Set,
            SETS,
            &[PinReason::UserLock],
        ),
    ]);
}

#[test]
fn the_next_transaction_only() {
    check_in(
        &MYSQL,
        &[
            ("set transaction read only", Kind::Set, NONE, &[]),
            (
                "set @@transaction_isolation='SERIALIZABLE'",
                Kind::Set,
                SETS,
                &[],
            ),
            (
                "set transaction_isolation='SERIALIZABLE'",
                Kind::Set,
                SETS,
                &[],
            ),
            (
                "set @@session.transaction_isolation='SERIALIZABLE'",
                Kind::Set,
                SETS,
                &[],
            ),
            ("set session transaction read only", Kind::Set, SETS, &[]),
            ("set @@sql_mode=''", Kind::Set, SETS, &[]),
        ],
    );
    let pins = classify(b"set @@tx_isolation='SERIALIZABLE'", &MARIADB).pins;
    assert!(pins.is_empty());
}

#[test]
fn the_default_of_a_guarded_variable_can_be_set_by_everybody() {
    for (text, pins) in [
        ("set sql_log_bin=default", true),
        ("set a=1, session sql_log_bin := DEFAULT", true),
        ("set sql_log_bin=1", false),
        ("set sql_mode=default", false),
        ("set global sql_log_bin=default", true),
    ] {
        let found = classify(text.as_bytes(), &MARIADB).pins;
        assert_eq!(
            found.contains(PinReason::ReplicationVariable),
            pins,
            "{text}"
        );
    }
}

#[test]
fn a_variable_that_names_a_table_pins() {
    let found = classify(b"set innodb_ft_user_stopword_table='a/b'", &MARIADB);
    assert!(found.pins.contains(PinReason::UntrackedVariable));
    let found = classify(b"select @@innodb_ft_user_stopword_table", &MARIADB);
    assert!(found.pins.is_empty());
}

#[test]
fn what_holds_for_a_statement_pins_only_where_more_is_set() {
    const ONE: Traits = Traits::FOR_STATEMENT;
    let untracked = &[PinReason::UntrackedVariable][..];
    for (text, traits, pins) in [
        (
            "set statement a=1, b=f(1)+2 for select 1",
            ONE,
            &[PinReason::UnknownFunction][..],
        ),
        ("set statement sql_mode='' for select 1", ONE, &[]),
        (
            "set statement sql_mode='' for insert into t values (1)",
            ONE,
            &[],
        ),
        ("set statement sql_mode='' for set a=1", ONE, untracked),
        (
            "set statement sql_mode='', session_track_state_change=1 for select 1",
            ONE,
            &[PinReason::SessionTracking],
        ),
        (
            "set statement optimizer_trace='enabled=on' for select 1",
            ONE,
            &[PinReason::Profiling],
        ),
        (
            "set statement sql_mode='' for select 1; select 2",
            ONE,
            untracked,
        ),
        ("select 1; set sql_mode=''", Traits::empty(), &[]),
    ] {
        let found = classify(text.as_bytes(), &MARIADB);
        assert_eq!(found.traits & ONE, traits, "{text}");
        assert_eq!(found.pins, pins.iter().copied().collect(), "{text}");
    }
}

#[test]
fn mariadb_tracks_no_unscoped_assignment() {
    check(&[
        (
            "set @@sql_mode=''",
            Kind::Set,
            SETS | Traits::SETS_UNSCOPED,
            &[],
        ),
        ("set @@global.a=''", Kind::Set, GLOBAL, &[]),
    ]);
}

#[test]
fn accounts_are_no_variables() {
    let commits = WRITES | Traits::IMPLICIT_COMMIT;
    check(&[
        (
            "set password = 'x'",
            Kind::Account,
            commits | Traits::SETS_PASSWORD,
            &[],
        ),
        (
            "set password for a@b = 'x'",
            Kind::Account,
            commits | Traits::SETS_PASSWORD,
            &[],
        ),
        ("set default role r for a@b", Kind::Account, commits, &[]),
        (
            "alter user a@b identified by 'x' password expire never",
            Kind::Account,
            commits | Traits::SETS_PASSWORD,
            &[],
        ),
        (
            "alter user a@b identified by 'x' default role r",
            Kind::Account,
            commits,
            &[],
        ),
        ("alter user a@b account lock", Kind::Account, commits, &[]),
    ]);
}

#[test]
fn set_statement_is_its_inner_statement() {
    const ONCE: Traits = Traits::FOR_STATEMENT;
    check(&[
        (
            "set statement max_statement_time=1 for select 1",
            Kind::Select,
            ONCE,
            &[],
        ),
        (
            "set statement a=1, b=(2) for update t set a=1",
            Kind::Update,
            WRITES | ONCE,
            &[],
        ),
        (
            "set statement a=1 for select get_lock('a',1)",
            Kind::Select,
            ONCE,
            &[PinReason::UserLock],
        ),
        ("set statement a=1 for begin", Kind::Begin, ONCE, &[]),
        (
            "set statement a=1 for",
            Kind::Unknown,
            HIDDEN | ONCE,
            &[PinReason::Unknown],
        ),
        (
            "set statement a=1",
            Kind::Unknown,
            HIDDEN,
            &[PinReason::Unknown],
        ),
    ]);
}

#[test]
fn what_is_no_assignment_is_unknown() {
    for text in [
        "set",
        "set a",
        "set a=1,",
        "set 'a'=1",
        "set @@=1",
        "set a.=1",
    ] {
        let statement = classify(text.as_bytes(), &MARIADB);
        assert_eq!(statement.kind, Kind::Unknown, "{text}");
        assert!(statement.pins.contains(PinReason::Unknown), "{text}");
    }
}
