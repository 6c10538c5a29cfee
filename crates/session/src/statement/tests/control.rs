//! Transactions, locks, routines, upkeep; and several statements in one text.

use super::{
    ASSIGNS, COMMITS, COUNTING, HIDDEN, KEEPS, MARIADB, MYSQL, NONE, PURE, SEVERAL, USES, WRITES,
    check, check_in, pins_of,
};
use crate::statement::{Kind, PinReason, Traits};

#[test]
fn transactions() {
    let bare = Traits::BARE_BEGIN;
    let released = Traits::RELEASES_CONNECTION;
    check(&[
        ("begin", Kind::Begin, bare, &[]),
        ("/* x */ BEGIN WORK ; ", Kind::Begin, bare, &[]),
        ("start transaction -- x", Kind::Begin, bare, &[]),
        ("start transaction read only", Kind::Begin, bare, &[]),
        ("start transaction read write", Kind::Begin, bare, &[]),
        (
            "start transaction with consistent snapshot",
            Kind::Begin,
            NONE,
            &[],
        ),
        (
            "start transaction read only, with consistent snapshot",
            Kind::Begin,
            NONE,
            &[],
        ),
        ("begin; -- x", Kind::Begin, Traits::MULTIPLE, &[]),
        ("commit", Kind::Commit, NONE, &[]),
        (
            "commit work and no chain no release",
            Kind::Commit,
            Traits::KEEPS_CONNECTION,
            &[],
        ),
        ("commit and chain", Kind::Commit, NONE, &[]),
        ("rollback work release", Kind::Rollback, released, &[]),
        ("rollback", Kind::Rollback, NONE, &[]),
        ("rollback work to savepoint x", Kind::Savepoint, NONE, &[]),
        ("rollback to x", Kind::Savepoint, NONE, &[]),
        ("savepoint x", Kind::Savepoint, Traits::SETS_SAVEPOINT, &[]),
        ("release savepoint x", Kind::Savepoint, NONE, &[]),
        (
            "xa start 'x'",
            Kind::Xa,
            WRITES | Traits::OWN_CONDITIONS,
            &[PinReason::Xa],
        ),
        (
            "xa commit 'x' one phase",
            Kind::Xa,
            WRITES | Traits::XA_ENDS,
            &[],
        ),
        ("xa rollback 'x'", Kind::Xa, WRITES | Traits::XA_ENDS, &[]),
        ("xa recover", Kind::Xa, WRITES, &[]),
    ]);
}

#[test]
fn locks() {
    let releases = COMMITS | Traits::RELEASES_TABLE_LOCKS;
    check(&[
        (
            "lock tables t read",
            Kind::Lock,
            COMMITS,
            &[PinReason::LockTables],
        ),
        (
            "lock table t write",
            Kind::Lock,
            COMMITS,
            &[PinReason::LockTables],
        ),
        (
            "lock instance for backup",
            Kind::Lock,
            WRITES,
            &[PinReason::BackupLock],
        ),
        ("unlock tables", Kind::Lock, releases, &[]),
        ("unlock instance", Kind::Lock, WRITES, &[]),
        (
            "flush tables with read lock",
            Kind::Admin,
            COMMITS,
            &[PinReason::GlobalReadLock],
        ),
        (
            "flush local tables t, u for export",
            Kind::Admin,
            COMMITS,
            &[PinReason::GlobalReadLock],
        ),
        ("flush tables", Kind::Admin, COMMITS, &[]),
        (
            "backup stage start",
            Kind::Admin,
            COMMITS,
            &[PinReason::BackupLock],
        ),
        ("backup stage end", Kind::Admin, COMMITS, &[]),
        (
            "backup lock t",
            Kind::Admin,
            COMMITS,
            &[PinReason::BackupLock],
        ),
        ("backup unlock", Kind::Admin, COMMITS, &[]),
        ("handler t open", Kind::Handler, NONE, &[PinReason::Handler]),
        (
            "do get_lock('a',1)",
            Kind::Do,
            WRITES,
            &[PinReason::UserLock],
        ),
        (
            "do release_all_locks()",
            Kind::Do,
            WRITES | Traits::RELEASES_USER_LOCK,
            &[],
        ),
    ]);
}

#[test]
fn hidden_text() {
    let runs = HIDDEN;
    check(&[
        ("call p(1)", Kind::Call, HIDDEN, &[PinReason::Call]),
        (
            "call d.p(@x)",
            Kind::Call,
            HIDDEN | ASSIGNS,
            &[PinReason::Call],
        ),
        (
            "begin not atomic select 1; end",
            Kind::Call,
            runs,
            &[PinReason::Call],
        ),
        (
            "if 1 then select 1; end if",
            Kind::Call,
            runs,
            &[PinReason::Call],
        ),
        (
            "prepare s from 'x'",
            Kind::Prepared,
            WRITES,
            &[PinReason::TextPrepared],
        ),
        (
            "execute s",
            Kind::Prepared,
            runs,
            &[PinReason::TextPrepared, PinReason::Call],
        ),
        (
            "execute immediate 'x'",
            Kind::Prepared,
            runs,
            &[PinReason::Call],
        ),
        ("deallocate prepare s", Kind::Prepared, WRITES, &[]),
        ("drop prepare s", Kind::Prepared, WRITES, &[]),
        (
            "get diagnostics @n = number",
            Kind::Diagnostics,
            Traits::READS_DIAGNOSTICS | ASSIGNS,
            &[],
        ),
        (
            "resignal",
            Kind::Diagnostics,
            Traits::READS_DIAGNOSTICS,
            &[],
        ),
        ("signal sqlstate '45000'", Kind::Diagnostics, NONE, &[]),
    ]);
    assert!(pins_of(b"if 1 then select 1; end if", &MYSQL).contains(PinReason::Unknown));
}

#[test]
fn upkeep() {
    check(&[
        ("use d", Kind::Use, NONE, &[]),
        ("kill query 5", Kind::Kill, NONE, &[]),
        ("optimize table t", Kind::Admin, COMMITS, &[]),
        ("analyze local table t", Kind::Admin, COMMITS, &[]),
        ("load index into cache t", Kind::Admin, COMMITS, &[]),
        ("start slave", Kind::Admin, COMMITS, &[]),
        ("checksum table t", Kind::Admin, WRITES, &[]),
        (
            "binlog 'x'",
            Kind::Admin,
            WRITES,
            &[PinReason::ReplicationVariable],
        ),
        ("frobnicate", Kind::Unknown, HIDDEN, &[PinReason::Unknown]),
        ("1", Kind::Unknown, HIDDEN, &[PinReason::Unknown]),
        ("'select'", Kind::Unknown, HIDDEN, &[PinReason::Unknown]),
        ("`select` 1", Kind::Unknown, HIDDEN, &[PinReason::Unknown]),
    ]);
}

#[test]
fn several_statements() {
    check(&[
        ("select 1; select 2", Kind::Multiple, COUNTING, &[]),
        ("select 1; use d", Kind::Multiple, COUNTING, &[]),
        ("begin; begin", Kind::Multiple, SEVERAL, &[]),
        (
            "select 1; check table t",
            Kind::Multiple,
            COUNTING | KEEPS | Traits::IMPLICIT_COMMIT,
            &[],
        ),
        (
            "show create table t; delete from t",
            Kind::Multiple,
            SEVERAL | KEEPS,
            &[],
        ),
        ("select 1; select @x", Kind::Multiple, COUNTING | USES, &[]),
        (
            "lock tables t read; unlock tables",
            Kind::Multiple,
            SEVERAL | Traits::IMPLICIT_COMMIT,
            &[PinReason::LockTables],
        ),
        (
            "select 1; frobnicate",
            Kind::Multiple,
            COUNTING | HIDDEN,
            &[PinReason::MultipleStatements, PinReason::Unknown],
        ),
        (
            "select 1; select 'x",
            Kind::Unknown,
            COUNTING | HIDDEN,
            &[PinReason::Unknown],
        ),
        ("", Kind::Empty, NONE, &[]),
        (" ;; ", Kind::Empty, NONE, &[]),
        ("-- x", Kind::Empty, NONE, &[]),
        ("select ';'", Kind::Select, PURE, &[]),
    ]);
    check_in(&MARIADB, &[("select 1 /* ; */", Kind::Select, PURE, &[])]);
}

#[test]
fn what_is_flushed_is_told_from_tables_of_that_name() {
    let flushes = COMMITS | Traits::FLUSHES_HOSTS;
    let counters = [PinReason::SessionStatus];
    check(&[
        ("flush local status", Kind::Admin, COMMITS, &counters),
        ("flush tables status", Kind::Admin, COMMITS, &[]),
        ("flush hosts", Kind::Admin, flushes, &[]),
        ("FLUSH LOCAL QUERY CACHE, HOSTS;", Kind::Admin, flushes, &[]),
        ("flush tables hosts", Kind::Admin, COMMITS, &[]),
        ("flush privileges", Kind::Admin, COMMITS, &[]),
        (
            "flush no_write_to_binlog user_variables",
            Kind::Admin,
            COMMITS | Traits::FLUSHES_USER_VARIABLES,
            &[],
        ),
    ]);
}
