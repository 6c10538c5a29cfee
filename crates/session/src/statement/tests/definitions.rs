//! Objects, accounts and stored programs.

use super::{
    COMMITS, COUNTING, MARIADB, MYSQL, UNKNOWN_CALL, UNSENT, USES, WRITES, check, check_in,
};
use crate::statement::{Kind, PinReason, Traits};

const STORED: Traits = COMMITS.union(Traits::DEFINES_STORED);
const PROGRAM: Traits = STORED.union(Traits::DEFINES_PROGRAM);

#[test]
fn rows_that_fill_a_table_are_counted_by_mariadb_only() {
    let fills = |traits| {
        let text = "create table t as select sql_calc_found_rows a from u limit 1";
        (
            text,
            Kind::Ddl,
            COMMITS | Traits::GENERATES_ID | traits,
            &[][..],
        )
    };
    check_in(&MARIADB, &[fills(UNSENT)]);
    check_in(&MYSQL, &[fills(Traits::empty())]);
}

#[test]
fn objects() {
    let drops = COMMITS | Traits::DROPS_TEMPORARY;
    check(&[
        (
            "create table t (a varchar(10), b int default (f(1)), key x (a))",
            Kind::Ddl,
            COMMITS,
            &[],
        ),
        (
            "create table t as select f(1)",
            Kind::Ddl,
            COMMITS | UNKNOWN_CALL | UNSENT,
            &[PinReason::UnknownFunction],
        ),
        (
            "create temporary table t (a int)",
            Kind::Ddl,
            WRITES,
            &[PinReason::TemporaryTable],
        ),
        (
            "create or replace temporary table t select 1",
            Kind::Ddl,
            WRITES | UNSENT | Traits::GENERATES_ID,
            &[PinReason::TemporaryTable],
        ),
        ("create table t (temporary int)", Kind::Ddl, COMMITS, &[]),
        (
            "create definer=a@b view v as select f(1)",
            Kind::Ddl,
            STORED,
            &[],
        ),
        (
            "create definer=user@localhost view v as select 1",
            Kind::Ddl,
            STORED,
            &[],
        ),
        ("create unique index i on t (a)", Kind::Ddl, COMMITS, &[]),
        ("alter table t add column x int", Kind::Ddl, COMMITS, &[]),
        ("truncate t", Kind::Ddl, COMMITS, &[]),
        ("rename table a to b", Kind::Ddl, COMMITS, &[]),
        ("drop table t", Kind::Ddl, drops, &[]),
        (
            "drop temporary table t",
            Kind::Ddl,
            WRITES | Traits::DROPS_TEMPORARY,
            &[],
        ),
        ("drop view v", Kind::Ddl, STORED, &[]),
        ("drop trigger if exists x", Kind::Ddl, STORED, &[]),
        ("alter view v as select 1", Kind::Ddl, STORED, &[]),
    ]);
}

#[test]
fn schemas() {
    let schema = COMMITS | Traits::DEFINES_SCHEMA;
    check(&[
        ("create database d", Kind::Ddl, schema, &[]),
        ("create or replace schema d", Kind::Ddl, schema, &[]),
        ("alter database d collate x", Kind::Ddl, schema, &[]),
        ("drop database d", Kind::Ddl, schema, &[]),
        ("drop schema if exists d", Kind::Ddl, schema, &[]),
    ]);
}

#[test]
fn accounts() {
    for text in [
        "create user 'a'@'%' identified by 'x'",
        "create or replace role r",
        "drop user a@b",
        "rename user a@b to c@d",
        "grant select on *.* to a@b with grant option",
        "revoke all on d.* from a@b",
    ] {
        check(&[(text, Kind::Account, COMMITS, &[])]);
    }
}

#[test]
fn a_body_belongs_to_its_definition() {
    for text in [
        "create procedure p() begin select @x; if a then select 2; end if; end",
        "create definer=a@b procedure p() begin case a when 1 then set x=1; end case; end;",
        "create procedure p() begin x: loop leave x; end loop x; while 1 do set a=1; end while; end",
        "create procedure p() begin repeat set a=if(b,1,2); until 1 end repeat; end",
        "create or replace function f() returns int return case when 1 then 2 else 3 end",
        "create event e on schedule every 1 day ends now() do begin select 1; select 2; end",
        "create procedure p() begin declare exit handler for sqlexception begin end; select 1; end",
        "create package body p as procedure q as begin select 1; end; end",
        "create function f returns string soname 'x'",
        "create or replace procedure p() select replace(a, b, c)",
        "alter event e do begin select 1; select 2; end",
    ] {
        check(&[(text, Kind::Ddl, PROGRAM, &[])]);
    }
    for text in [
        "create trigger x before update on t for each row begin set new.a=1; end",
        "create trigger x before update on t for each row if 1 then set new.a=1; end if",
    ] {
        check(&[(text, Kind::Ddl, STORED, &[])]);
    }
}

#[test]
fn a_definition_does_some_of_what_its_body_has() {
    let inserts = [
        "create procedure p() insert into t values (1)",
        "create or replace procedure p() begin select 1; replace t values (1); end",
    ];
    for text in inserts {
        check(&[(text, Kind::Ddl, PROGRAM | Traits::BODY_INSERTS, &[])]);
    }
    let handles = "create procedure p() begin declare exit handler for 1 begin end; end";
    check(&[(handles, Kind::Ddl, PROGRAM, &[])]);
    let adds = PROGRAM | Traits::OWN_CONDITIONS;
    check_in(&MYSQL, &[(handles, Kind::Ddl, adds, &[])]);
    let followed = format!("{handles}; select 1");
    let counts = COUNTING | STORED;
    check_in(&MYSQL, &[(&followed, Kind::Multiple, counts, &[])]);
}

#[test]
fn what_follows_a_body_is_seen() {
    check(&[
        (
            "create procedure p() begin select 1; end; select get_lock('a',1)",
            Kind::Multiple,
            COUNTING | STORED,
            &[PinReason::UserLock],
        ),
        (
            "create procedure p() select 1; select @x",
            Kind::Multiple,
            COUNTING | STORED | USES,
            &[],
        ),
        (
            "create procedure p() begin select 1;",
            Kind::Ddl,
            PROGRAM,
            &[PinReason::MultipleStatements],
        ),
        (
            "create procedure p() if 1 then select 1; end if; select get_lock('a',1)",
            Kind::Multiple,
            COUNTING | STORED,
            &[PinReason::UserLock],
        ),
        (
            "create procedure p() select (1) from t for update; select @x",
            Kind::Multiple,
            COUNTING | STORED | USES,
            &[],
        ),
    ]);
}

#[test]
fn a_body_need_not_begin_with_begin() {
    for text in [
        "create procedure if not exists p(a int, b int) if a then select 1; else select 2; end if",
        "create procedure p() while f() do select 1; end while",
        "create procedure p() comment 'x' repeat select 1; until 1 end repeat",
        "create procedure p() sql security invoker l: loop select if(a, 1, 2); leave l; end loop",
        "create procedure p() modifies sql data case a when 1 then select 1; end case",
        "create function p(a int) returns int deterministic if (a) then return 1; end if",
        "create definer = a@b procedure p() for i in 1 .. 2 do select 1; end for",
    ] {
        check(&[(text, Kind::Ddl, PROGRAM, &[])]);
    }
}
