//! mysql_async.

use futures_util::future::join_all;
use mysql_async::prelude::*;
use mysql_async::{
    Conn, Error, IsolationLevel, OptsBuilder, Params, Pool, PoolConstraints, PoolOpts, Result,
    TxOpts, Value,
};

use crate::{MEGABYTE, Target, pattern};

fn options(target: &Target, schema: Option<&str>) -> OptsBuilder {
    // By default it asks for the server's socket and goes on there.
    OptsBuilder::default()
        .ip_or_hostname(target.host.clone())
        .tcp_port(target.port)
        .user(Some(target.user.clone()))
        .pass(Some(target.password.clone()))
        .db_name(schema)
}

pub(crate) async fn run(target: &Target) -> Result<()> {
    let schema = &target.schema;
    let mut first = Conn::new(options(target, None)).await?;
    first
        .query_drop(format!("DROP DATABASE IF EXISTS {schema}"))
        .await?;
    first
        .query_drop(format!("CREATE DATABASE {schema} CHARACTER SET utf8mb4"))
        .await?;
    first.disconnect().await?;
    let few = PoolOpts::new().with_constraints(PoolConstraints::new(0, 4).unwrap());
    let pool = Pool::new(options(target, Some(schema)).pool_opts(few));
    types(&pool).await?;
    counts(&pool).await?;
    transactions(&pool).await?;
    blobs(&pool).await?;
    errors(&pool).await?;
    several(&pool).await?;
    sessions(&pool).await?;
    parallel(&pool).await?;
    killed(&pool).await?;
    pool.disconnect().await
}

async fn types(pool: &Pool) -> Result<()> {
    let mut conn = pool.get_conn().await?;
    conn.query_drop(
        "CREATE TABLE kinds (id INT PRIMARY KEY, t VARCHAR(99), d DECIMAL(30, 10), f DOUBLE, at DATETIME(6), \
         day DATE, span TIME(3), b VARBINARY(99), big BIGINT UNSIGNED)",
    )
    .await?;
    let row = vec![
        Value::Int(1),
        Value::from("žluťoučký 😀 ' \\ \" ?"),
        Value::from("-12345678901234567890.0123456789"),
        Value::Double(1.5e300),
        Value::Date(2024, 2, 29, 23, 59, 59, 123_456),
        Value::Date(1999, 12, 31, 0, 0, 0, 0),
        Value::Time(true, 1, 1, 0, 0, 7_000),
        Value::Bytes(pattern(90)),
        Value::UInt(u64::MAX),
    ];
    let mut empty = vec![Value::NULL; 9];
    empty[0] = Value::Int(2);
    let insert = "INSERT INTO kinds VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)";
    let both = [row.clone(), empty.clone()];
    conn.exec_batch(insert, both.clone().map(Params::Positional))
        .await?;
    let found: Vec<mysql_async::Row> = conn
        .exec("SELECT * FROM kinds WHERE id < ? ORDER BY id", (3,))
        .await?;
    let columns: Vec<_> = found[0]
        .columns_ref()
        .iter()
        .map(|c| (c.name_str().into_owned(), c.column_type()))
        .collect();
    let found: Vec<Vec<Value>> = found.into_iter().map(mysql_async::Row::unwrap).collect();
    assert_eq!(found, both);
    println!("ok types {columns:?}");
    Ok(())
}

async fn counts(pool: &Pool) -> Result<()> {
    let mut conn = pool.get_conn().await?;
    conn.query_drop("CREATE TABLE counted (id INT PRIMARY KEY AUTO_INCREMENT, n INT)")
        .await?;
    let insert = conn.prep("INSERT INTO counted (n) VALUES (:n)").await?;
    for n in 0..6 {
        conn.exec_drop(&insert, params! { n }).await?;
        assert_eq!(conn.last_insert_id(), Some(n + 1));
    }
    conn.close(insert).await?;
    let last: Option<u64> = conn.query_first("SELECT LAST_INSERT_ID()").await?;
    conn.exec_drop("UPDATE counted SET n = 1 WHERE n IN (?, ?)", (1, 2))
        .await?;
    let (changed, info) = (conn.affected_rows(), conn.info().into_owned());
    conn.exec_drop("DELETE FROM counted WHERE n > ?", (3,))
        .await?;
    println!(
        "ok counts {last:?} {changed} {info:?} {}",
        conn.affected_rows()
    );
    Ok(())
}

async fn transactions(pool: &Pool) -> Result<()> {
    let mut other = pool.get_conn().await?;
    other
        .query_drop("CREATE TABLE kept (n INT PRIMARY KEY)")
        .await?;
    for commit in [false, true] {
        let mut options = TxOpts::default();
        options.with_isolation_level(IsolationLevel::ReadCommitted);
        let mut transaction = pool.start_transaction(options).await?;
        transaction
            .exec_drop("INSERT INTO kept VALUES (?)", (i32::from(commit),))
            .await?;
        let seen: Vec<i32> = other.query("SELECT n FROM kept").await?;
        assert!(seen.is_empty(), "{seen:?}");
        match commit {
            true => transaction.commit().await?,
            false => transaction.rollback().await?,
        }
    }
    // Dropped, it is rolled back before somebody else gets the connection.
    let mut dropped = pool.start_transaction(TxOpts::default()).await?;
    dropped.query_drop("INSERT INTO kept VALUES (7)").await?;
    drop(dropped);
    let seen: Vec<i32> = pool.get_conn().await?.query("SELECT n FROM kept").await?;
    println!("ok transactions {seen:?}");
    Ok(())
}

async fn blobs(pool: &Pool) -> Result<()> {
    let mut conn = pool.get_conn().await?;
    conn.query_drop("CREATE TABLE large (id INT PRIMARY KEY, b LONGBLOB)")
        .await?;
    for (id, size) in [5 * MEGABYTE, 20 * MEGABYTE + 1].into_iter().enumerate() {
        let blob = pattern(size);
        conn.exec_drop("INSERT INTO large VALUES (?, ?)", (id, &blob))
            .await?;
        let found: Option<Vec<u8>> = conn
            .exec_first("SELECT b FROM large WHERE id = ?", (id,))
            .await?;
        assert!(found == Some(blob));
        println!("ok blob {size}");
    }
    Ok(())
}

async fn errors(pool: &Pool) -> Result<()> {
    let mut conn = pool.get_conn().await?;
    conn.query_drop("INSERT INTO counted VALUES (100, 1)")
        .await?;
    let mut seen = Vec::new();
    for (sql, value) in [
        ("INSERT INTO counted VALUES (?, 1)", "100"),
        ("SELEKT ?", "1"),
        ("SELECT * FROM nowhere WHERE a = ?", "1"),
        ("INSERT INTO counted (n) VALUES (?)", "x"),
    ] {
        match conn.exec_drop(sql, (value,)).await {
            Err(Error::Server(error)) => seen.push((error.code, error.state)),
            other => panic!("{sql}: {other:?}"),
        }
    }
    println!("ok errors {seen:?}");
    Ok(())
}

async fn several(pool: &Pool) -> Result<()> {
    let mut conn = pool.get_conn().await?;
    conn.query_drop("CREATE PROCEDURE several(IN n INT) BEGIN SELECT n; SELECT n + 1; END")
        .await?;
    let mut result = conn.exec_iter("CALL several(?)", (7,)).await?;
    let (one, two): (Vec<i64>, Vec<i64>) = (result.collect().await?, result.collect().await?);
    result.drop_result().await?;
    let mut texts = conn
        .query_iter("SELECT 1; UPDATE counted SET n = 5 WHERE id = 100; SELECT 3")
        .await?;
    let first: Vec<i32> = texts.collect().await?;
    let _updated: Vec<i32> = texts.collect().await?;
    let last: Vec<i32> = texts.collect().await?;
    texts.drop_result().await?;
    println!("ok several {one:?} {two:?} {first:?} {last:?}");
    Ok(())
}

/// What is set is gone after the pool has had it; what was prepared, too.
async fn sessions(pool: &Pool) -> Result<()> {
    for _ in 0..5 {
        let mut conn = pool.get_conn().await?;
        let own: Option<Option<i32>> = conn.query_first("SELECT @own").await?;
        assert_eq!(own, Some(None));
        conn.query_drop("SET @own = 5, sql_mode = 'ANSI_QUOTES'")
            .await?;
        let found: Option<(i32, String)> =
            conn.exec_first("SELECT @own + ?, @@sql_mode", (1,)).await?;
        assert_eq!(found, Some((6, "ANSI_QUOTES".to_owned())));
    }
    println!("ok sessions");
    Ok(())
}

async fn parallel(pool: &Pool) -> Result<()> {
    let tasks = (0..8).map(|worker| async move {
        for turn in 0..20 {
            let mut transaction = pool.start_transaction(TxOpts::default()).await.unwrap();
            transaction
                .exec_drop("INSERT INTO counted (n) VALUES (?)", (1000 + worker,))
                .await
                .unwrap();
            let mine: Option<i32> = transaction
                .query_first("SELECT n FROM counted WHERE id = LAST_INSERT_ID()")
                .await
                .unwrap();
            assert_eq!(mine, Some(1000 + worker));
            match turn % 2 {
                0 => transaction.commit().await.unwrap(),
                _ => transaction.rollback().await.unwrap(),
            }
        }
    });
    join_all(tasks).await;
    let count: Option<i32> = pool
        .get_conn()
        .await?
        .query_first("SELECT COUNT(*) FROM counted WHERE n >= 1000")
        .await?;
    println!("ok parallel {count:?}");
    Ok(())
}

async fn killed(pool: &Pool) -> Result<()> {
    let (mut victim, mut other) = (pool.get_conn().await?, pool.get_conn().await?);
    other.query_drop(format!("KILL {}", victim.id())).await?;
    assert!(victim.query_drop("SELECT 1").await.is_err());
    drop((victim, other));
    let one: Option<i32> = pool.get_conn().await?.query_first("SELECT 1").await?;
    println!("ok kill {one:?}");
    Ok(())
}
