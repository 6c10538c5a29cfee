//! INSERT, REPLACE, UPDATE, DELETE, LOAD.

use super::{ASSIGNS, HIDDEN, UNKNOWN_CALL, UNSENT, USES, WRITES, check};
use crate::statement::{Kind, PinReason, Traits};

const GENERATES: Traits = WRITES.union(Traits::GENERATES_ID);

#[test]
fn inserts() {
    check(&[
        (
            "insert into t (a,b) values (1,now())",
            Kind::Insert,
            GENERATES,
            &[],
        ),
        ("insert d.t(a) values (1)", Kind::Insert, GENERATES, &[]),
        ("insert into t () values ()", Kind::Insert, GENERATES, &[]),
        (
            "insert low_priority ignore into `d` . `t` (a) values (1) on duplicate key update a=values(a)",
            Kind::Insert,
            GENERATES,
            &[],
        ),
        (
            "insert into t partition (p0) (a) select a from u",
            Kind::Insert,
            GENERATES | UNSENT,
            &[],
        ),
        (
            "insert into t values (1) as new(a) on duplicate key update a=1",
            Kind::Insert,
            GENERATES,
            &[],
        ),
        ("replace into t set a=1", Kind::Replace, GENERATES, &[]),
        (
            "insert into t (a) values (f(1))",
            Kind::Insert,
            GENERATES | UNKNOWN_CALL,
            &[PinReason::UnknownFunction],
        ),
        (
            "insert into t values (@x)",
            Kind::Insert,
            GENERATES | USES,
            &[],
        ),
    ]);
}

#[test]
fn updates_and_deletes() {
    let several = WRITES.union(UNSENT);
    check(&[
        ("update t, u set a=1", Kind::Update, several, &[]),
        (
            "update ignore d.t join u on t.id=u.id set a=1",
            Kind::Update,
            several,
            &[],
        ),
        ("delete t, u from t join u", Kind::Delete, several, &[]),
        (
            "delete from t where a in (select b from u join v)",
            Kind::Delete,
            WRITES,
            &[],
        ),
        (
            "update t set a=1 where b in (1,2)",
            Kind::Update,
            WRITES,
            &[],
        ),
        (
            "with x as (select 1) update t join x set a=1",
            Kind::Update,
            several,
            &[],
        ),
        (
            "update t set a=last_insert_id(a+1)",
            Kind::Update,
            HIDDEN | Traits::SETS_LAST_INSERT_ID,
            &[],
        ),
        (
            "update t set a=get_lock('x',1)",
            Kind::Update,
            WRITES,
            &[PinReason::UserLock],
        ),
        ("delete from t where id=5", Kind::Delete, WRITES, &[]),
    ]);
}

#[test]
fn loads() {
    check(&[
        (
            "load data infile 'x' into table t character set utf8 ignore 1 lines (a,b)",
            Kind::Load,
            GENERATES,
            &[],
        ),
        (
            "load data local infile 'x' into table t (a,@b) set c=@b",
            Kind::Load,
            GENERATES | ASSIGNS,
            &[],
        ),
        (
            "load data infile 'x' into table t (a) set c=f(1)",
            Kind::Load,
            UNKNOWN_CALL,
            &[PinReason::UnknownFunction],
        ),
    ]);
}
