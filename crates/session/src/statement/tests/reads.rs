//! SELECT and kin, SHOW, EXPLAIN.

use super::{
    ASSIGNS, HIDDEN, KEEPS, MARIADB, MYSQL, NONE, PURE, UNKNOWN_CALL, UNSENT, USES, WRITES,
    beside_from, check, check_in,
};
use crate::statement::{Dialect, Kind, PinReason, Traits, classify};

fn all_pure(dialect: &Dialect, texts: &[&str]) {
    for text in texts {
        let statement = classify(text.as_bytes(), dialect);
        assert_eq!(statement.kind, Kind::Select, "{text}");
        assert_eq!(beside_from(&statement), PURE, "{text}");
        assert!(statement.pins.is_empty(), "{text}");
    }
}

#[test]
fn plain_reads() {
    all_pure(
        &MARIADB,
        &[
            "SELECT c FROM sbtest1 WHERE id=12345",
            "select COUNT(*), sum(a), Now(), uuid(), rand() from d.t use index (x) join u using (id)",
            "select 1 from t where(1)and(2)or(a)in(1,2)and b like('x') and exists(select 1)",
            "select cast(a as decimal(10,2)), convert(a, char(10)), convert(a using utf8)",
            "select row_number() over (partition by a order by b), sum(a) over w from t window w as (order by a)",
            "select match(a) against ('x' in boolean mode), group_concat(distinct a order by b separator ',')",
            "select * from json_table('[]', '$[*]' columns(a int path '$.a', b varchar(10) path '$.b')) as jt",
            "select a from t partition (p0,p1) where (a,b) in ((1,2)) limit 5",
            "select date_add(a, interval (1) day), interval(1,2,3), if(a,b,c), left(a,1), replace(a,b,c)",
            "select `abs`(1), version(), database(), current_user(), current_user",
            "select t.select, t.into, t.`update` from t",
            "select next value from t",
            "select 'get_lock(1)', \"@x\", `@x`, `get_lock` from t",
            "select @@session.sql_mode, @@version_comment limit 1",
            "with x(a) as (select 1), y (b) as (select 2) select a from x",
            "with recursive x(a) as (select 1 union all select a+1 from x) select * from x",
            "with x as (select 1) (select 2)",
            "((select 1) union (select 2))",
            "table t",
            "select 1;",
            "select 1 ; ; ",
            "select 1. from t",
            "select 1.5e-3, .5, t.1a, t . b, 0x1f from t",
        ],
    );
    all_pure(
        &MYSQL,
        &[
            "select * from (select 1) x (a), lateral (select 2) y",
            "select bin_to_uuid(a), regexp_like(a, 'x'), any_value(b)",
            "select /*+ MAX_EXECUTION_TIME(1000) */ 1",
        ],
    );
}

#[test]
fn what_is_read_from() {
    for (text, reads) in [
        ("select a from t", true),
        ("select 1 from dual", false),
        ("select (select 1 from dual), a from t", true),
        ("select 'a from t', \"b from t\", `from`, t.from", false),
        ("select 1 -- from t", false),
        (
            "select trim(both ' ' from ' a '), substring('a' from 1)",
            false,
        ),
        ("select extract(year from now())", false),
        ("select extract(year from (select a from t))", true),
        ("select trim(('a')), (select 1 from (select 2) d)", true),
        ("select concat(trim('a'), (select a from t))", true),
        ("set @a = 'b from t'", false),
        ("set @a = (select a from t)", true),
        ("do trim(leading 'a' from 'ab')", false),
        ("call p((select a from t))", true),
        ("explain select 1 from t", true),
    ] {
        for dialect in [&MARIADB, &MYSQL] {
            let statement = classify(text.as_bytes(), dialect);
            let found = statement.traits.contains(Traits::HAS_FROM);
            assert_eq!(found, reads, "{text}");
        }
    }
}

#[test]
fn hints_that_set_variables() {
    let hinted = PURE | Traits::HINTS_VARIABLES;
    for text in [
        "select /*+ SET_VAR(sort_buffer_size = 16M) */ 1",
        "select /*+ BKA(t) set_var(sql_mode = '') */ a from t",
    ] {
        let statement = classify(text.as_bytes(), &MYSQL);
        assert_eq!(beside_from(&statement), hinted, "{text}");
    }
    let none = classify(b"select /* SET_VAR(sql_mode = '') */ 1", &MYSQL);
    assert_eq!(none.traits, PURE);
}

#[test]
fn reads_that_depend_on_the_session() {
    check(&[
        (
            "select last_insert_id()",
            Kind::Select,
            Traits::READS_LAST_INSERT_ID,
            &[],
        ),
        (
            "select LAST_INSERT_ID ( )",
            Kind::Select,
            Traits::READS_LAST_INSERT_ID,
            &[],
        ),
        (
            "select last_insert_id(5)",
            Kind::Select,
            Traits::READS_LAST_INSERT_ID | Traits::SETS_LAST_INSERT_ID | Traits::GENERATES_ID,
            &[],
        ),
        (
            "select @@identity",
            Kind::Select,
            Traits::READS_LAST_INSERT_ID,
            &[],
        ),
        (
            "select @@local.`last_insert_id`",
            Kind::Select,
            Traits::READS_LAST_INSERT_ID,
            &[],
        ),
        (
            "select @@session . warning_count",
            Kind::Select,
            Traits::READS_DIAGNOSTICS,
            &[],
        ),
        (
            "select found_rows()",
            Kind::Select,
            Traits::READS_ROW_COUNTS,
            &[],
        ),
    ]);
}

#[test]
fn reads_of_counts_and_ids() {
    check(&[
        (
            "select row_count()",
            Kind::Select,
            Traits::READS_ROW_COUNTS,
            &[],
        ),
        (
            "select connection_id()",
            Kind::Select,
            Traits::READS_CONNECTION_ID,
            &[],
        ),
        (
            "select @@pseudo_thread_id",
            Kind::Select,
            Traits::READS_CONNECTION_ID,
            &[],
        ),
        ("select @@socket", Kind::Select, Traits::READS_ADDRESS, &[]),
        (
            "select @@GLOBAL.port, @@hostname",
            Kind::Select,
            Traits::READS_ADDRESS,
            &[],
        ),
        (
            "select * from information_schema.SESSION_VARIABLES",
            Kind::Select,
            Traits::READS_ADDRESS,
            &[],
        ),
        (
            "select * from information_schema.User_Variables",
            Kind::Select,
            Traits::LISTS_USER_VARIABLES,
            &[],
        ),
        (
            "select 1 from user_variables_by_thread",
            Kind::Select,
            Traits::LISTS_USER_VARIABLES,
            &[],
        ),
        (
            "show user_variables like 'a'",
            Kind::Show,
            Traits::LISTS_USER_VARIABLES,
            &[],
        ),
        ("select @@last_gtid", Kind::Select, Traits::READS_GTID, &[]),
        ("select sleep(1)", Kind::Select, NONE, &[]),
        ("select benchmark(1,1)", Kind::Select, NONE, &[]),
        ("select is_free_lock('a')", Kind::Select, NONE, &[]),
        ("select 1 procedure analyse()", Kind::Select, UNSENT, &[]),
        (
            "select release_lock('a')",
            Kind::Select,
            Traits::RELEASES_USER_LOCK,
            &[],
        ),
        ("select 1; -- x", Kind::Select, Traits::MULTIPLE, &[]),
    ]);
}

#[test]
fn reads_that_pin() {
    check(&[
        (
            "select get_lock('a',1)",
            Kind::Select,
            NONE,
            &[PinReason::UserLock],
        ),
        (
            "select `get_lock` /* */ ('a',1)",
            Kind::Select,
            NONE,
            &[PinReason::UserLock],
        ),
        (
            "select get_lock('a',1), release_lock('a')",
            Kind::Select,
            NONE,
            &[PinReason::UserLock],
        ),
        ("select @x", Kind::Select, USES, &[]),
        ("select 1 where 1 and@x.y", Kind::Select, USES, &[]),
        ("select @x:=1", Kind::Select, ASSIGNS, &[]),
        (
            "select @`a b`, @'x', @\"y\"",
            Kind::Select,
            USES,
            &[PinReason::UserVariable],
        ),
    ]);
}

#[test]
fn reads_into_variables() {
    check(&[
        (
            "select 1 into @x",
            Kind::Select,
            WRITES | ASSIGNS | UNSENT,
            &[],
        ),
        (
            "select 1.into @x",
            Kind::Select,
            WRITES | ASSIGNS | UNSENT,
            &[],
        ),
        ("select sql_calc_found_rows 1", Kind::Select, UNSENT, &[]),
        (
            "select nextval(s)",
            Kind::Select,
            WRITES.union(Traits::DRAWS_SEQUENCE),
            &[],
        ),
        (
            "select next value for s",
            Kind::Select,
            WRITES.union(Traits::DRAWS_SEQUENCE),
            &[],
        ),
        (
            "select previous value for s",
            Kind::Select,
            WRITES.union(Traits::TELLS_SEQUENCE),
            &[],
        ),
    ]);
}

#[test]
fn rows_of_values_are_counted_like_those_of_a_select() {
    for text in [
        "values (1),(2)",
        "(values (1), (2)) limit 1",
        "with x as (select 1 order by 1) values (1),(t.order)",
        "(values (1),(2)) union values (3)",
        "select * from (values (1)) x",
    ] {
        check(&[(text, Kind::Select, PURE, &[])]);
    }
}

#[test]
fn rows_that_are_counted_and_not_sent() {
    check(&[
        ("select * from t limit 5", Kind::Select, PURE, &[]),
        ("select a, b from t limit 5", Kind::Select, PURE, &[]),
        ("select * from t limit 2, 5", Kind::Select, UNSENT, &[]),
        (
            "select * from t limit 5 offset 2",
            Kind::Select,
            UNSENT,
            &[],
        ),
        (
            "select * from (select * from t limit 2,5) x",
            Kind::Select,
            PURE,
            &[],
        ),
        ("select t.offset from t", Kind::Select, PURE, &[]),
        (
            "insert into t select * from u",
            Kind::Insert,
            WRITES | UNSENT | Traits::GENERATES_ID,
            &[],
        ),
        (
            "insert into t values ((select 1))",
            Kind::Insert,
            WRITES | Traits::GENERATES_ID,
            &[],
        ),
    ]);
}

#[test]
fn reads_that_lock_or_write() {
    check(&[
        ("select * from t for update", Kind::Select, WRITES, &[]),
        ("(select * from t for share)", Kind::Select, WRITES, &[]),
        (
            "select * from t lock in share mode",
            Kind::Select,
            WRITES,
            &[],
        ),
        (
            "select 1e1into outfile '/tmp/x'",
            Kind::Select,
            WRITES | UNSENT,
            &[],
        ),
        (
            "select 1.into outfile '/tmp/x'",
            Kind::Select,
            WRITES | UNSENT,
            &[],
        ),
        (
            "select * from t into outfile '/tmp/x'",
            Kind::Select,
            WRITES | UNSENT,
            &[],
        ),
    ]);
}

#[test]
fn unknown_calls() {
    for text in [
        "select f(1)",
        "select F (1)",
        "select d.f(1)",
        "select d . f (1)",
        "select d.abs(1)",
        "select `f`(1)",
        "select `count`(1)",
        "select count (*)",
        "select now ()",
        "select 1d(2)",
        "select f\u{e9}(1)",
        "select uuid_v7()",
        "select 1 as now, t.count(1)",
        "with x(a) as (select f(1)) select a from x",
    ] {
        let row = (
            text,
            Kind::Select,
            UNKNOWN_CALL,
            &[PinReason::UnknownFunction][..],
        );
        check(&[row]);
    }
    let mut spaces = MARIADB;
    spaces.ignore_space = true;
    check_in(
        &spaces,
        &[("select count (*), now ()", Kind::Select, PURE, &[])],
    );
    let mut newer = MARIADB;
    newer.version = 110_800;
    check_in(&newer, &[("select uuid_v7()", Kind::Select, PURE, &[])]);
}

#[test]
fn show_and_explain() {
    check(&[
        ("show tables", Kind::Show, NONE, &[]),
        (
            "show warnings limit 5",
            Kind::Show,
            Traits::READS_DIAGNOSTICS | KEEPS,
            &[],
        ),
        (
            "show count(*) errors",
            Kind::Show,
            Traits::READS_DIAGNOSTICS,
            &[],
        ),
        ("show variables", Kind::Show, Traits::READS_ADDRESS, &[]),
        (
            "show global variables like 'port'",
            Kind::Show,
            Traits::READS_ADDRESS,
            &[],
        ),
        ("show grants for a@b", Kind::Show, KEEPS, &[]),
        ("show create user a@b", Kind::Show, KEEPS, &[]),
        ("show full processlist", Kind::Show, KEEPS, &[]),
        ("show full columns from t", Kind::Show, NONE, &[]),
        ("show engines", Kind::Show, NONE, &[]),
        (
            "show tables where f(1)",
            Kind::Show,
            UNKNOWN_CALL,
            &[PinReason::UnknownFunction],
        ),
        ("help 'x'", Kind::Show, KEEPS, &[]),
        ("explain select 1", Kind::Explain, KEEPS, &[]),
        ("desc t c", Kind::Explain, NONE, &[]),
        ("explain for connection 5", Kind::Explain, NONE, &[]),
        ("explain format=json (select 1)", Kind::Explain, KEEPS, &[]),
        (
            "explain update t set a=1",
            Kind::Explain,
            WRITES.union(KEEPS),
            &[],
        ),
        (
            "explain extended select * from (select get_lock('a',1)) x",
            Kind::Explain,
            KEEPS,
            &[PinReason::UserLock],
        ),
        ("analyze format=json select 1", Kind::Explain, UNSENT, &[]),
        (
            "explain analyze delete from t where f(1)",
            Kind::Explain,
            UNKNOWN_CALL.union(UNSENT),
            &[PinReason::UnknownFunction],
        ),
        (
            "explain explain explain explain explain x",
            Kind::Explain,
            NONE,
            &[],
        ),
        ("explain with", Kind::Explain, KEEPS, &[]),
        ("explain for", Kind::Unknown, HIDDEN, &[PinReason::Unknown]),
    ]);
}
