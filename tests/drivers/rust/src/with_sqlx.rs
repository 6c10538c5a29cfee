//! sqlx.

use futures_util::TryStreamExt;
use futures_util::future::join_all;
use sqlx::mysql::{MySqlConnectOptions, MySqlPool, MySqlPoolOptions};
use sqlx::{Column, Connection, Executor, Row, TypeInfo};

use crate::{MEGABYTE, Target, pattern};

type Result<T> = std::result::Result<T, sqlx::Error>;

fn options(target: &Target) -> MySqlConnectOptions {
    let options = MySqlConnectOptions::new()
        .host(&target.host)
        .port(target.port);
    let options = options.username(&target.user).password(&target.password);
    options.ssl_mode(sqlx::mysql::MySqlSslMode::Disabled)
}

pub(crate) async fn run(target: &Target) -> Result<()> {
    let schema = &target.schema;
    let mut first = sqlx::MySqlConnection::connect_with(&options(target)).await?;
    first
        .execute(format!("DROP DATABASE IF EXISTS {schema}").as_str())
        .await?;
    first
        .execute(format!("CREATE DATABASE {schema} CHARACTER SET utf8mb4").as_str())
        .await?;
    first.close().await?;
    let pool = MySqlPoolOptions::new()
        .max_connections(4)
        .connect_with(options(target).database(schema))
        .await?;
    types(&pool).await?;
    counts(&pool).await?;
    transactions(&pool).await?;
    blobs(&pool).await?;
    errors(&pool).await?;
    changes(&pool).await?;
    parallel(&pool).await?;
    killed(&pool).await?;
    pool.close().await;
    Ok(())
}

async fn types(pool: &MySqlPool) -> Result<()> {
    pool.execute(
        "CREATE TABLE kinds (id INT PRIMARY KEY, t VARCHAR(99), f DOUBLE, b VARBINARY(99), big BIGINT UNSIGNED, \
         yes BOOLEAN, small TINYINT)",
    )
    .await?;
    let insert = "INSERT INTO kinds VALUES (?, ?, ?, ?, ?, ?, ?)";
    let text = "žluťoučký 😀 ' \\ \" ?";
    let full = sqlx::query(insert)
        .bind(1)
        .bind(text)
        .bind(1.5e300)
        .bind(pattern(90))
        .bind(u64::MAX)
        .bind(true)
        .bind(-7_i8);
    full.execute(pool).await?;
    let none = sqlx::query(insert)
        .bind(2)
        .bind(None::<String>)
        .bind(None::<f64>)
        .bind(None::<Vec<u8>>);
    none.bind(None::<u64>)
        .bind(None::<bool>)
        .bind(None::<i8>)
        .execute(pool)
        .await?;
    let rows = sqlx::query("SELECT * FROM kinds WHERE id < ? ORDER BY id")
        .bind(3)
        .fetch_all(pool)
        .await?;
    let found: (String, f64, Vec<u8>, u64, bool, i8) = (
        rows[0].try_get(1)?,
        rows[0].try_get(2)?,
        rows[0].try_get(3)?,
        rows[0].try_get(4)?,
        rows[0].try_get(5)?,
        rows[0].try_get(6)?,
    );
    assert_eq!(
        found,
        (text.to_owned(), 1.5e300, pattern(90), u64::MAX, true, -7)
    );
    assert!(rows[1].try_get::<Option<String>, _>(1)?.is_none());
    let columns: Vec<_> = rows[0]
        .columns()
        .iter()
        .map(|c| format!("{} {}", c.name(), c.type_info().name()))
        .collect();
    println!("ok types {columns:?}");
    Ok(())
}

async fn counts(pool: &MySqlPool) -> Result<()> {
    let mut conn = pool.acquire().await?;
    conn.execute("CREATE TABLE counted (id INT PRIMARY KEY AUTO_INCREMENT, n INT)")
        .await?;
    for n in 0..6_u64 {
        let done = sqlx::query("INSERT INTO counted (n) VALUES (?)")
            .bind(n)
            .execute(&mut *conn)
            .await?;
        assert_eq!((done.last_insert_id(), done.rows_affected()), (n + 1, 1));
    }
    let last: u64 = sqlx::query_scalar("SELECT LAST_INSERT_ID()")
        .fetch_one(&mut *conn)
        .await?;
    let update = sqlx::query("UPDATE counted SET n = 1 WHERE n IN (?, ?)")
        .bind(1)
        .bind(2);
    let changed = update.execute(&mut *conn).await?.rows_affected();
    let deleted = sqlx::query("DELETE FROM counted WHERE n > ?")
        .bind(3)
        .execute(&mut *conn)
        .await?
        .rows_affected();
    println!("ok counts {last} {changed} {deleted}");
    Ok(())
}

async fn transactions(pool: &MySqlPool) -> Result<()> {
    pool.execute("CREATE TABLE kept (n INT PRIMARY KEY)")
        .await?;
    let mut outer = pool.begin().await?;
    sqlx::query("INSERT INTO kept VALUES (?)")
        .bind(1)
        .execute(&mut *outer)
        .await?;
    let mut inner = outer.begin().await?;
    sqlx::query("INSERT INTO kept VALUES (?)")
        .bind(2)
        .execute(&mut *inner)
        .await?;
    inner.rollback().await?;
    let seen: Vec<i32> = sqlx::query_scalar("SELECT n FROM kept")
        .fetch_all(pool)
        .await?;
    assert!(seen.is_empty(), "{seen:?}");
    outer.commit().await?;
    let mut dropped = pool.begin().await?;
    sqlx::query("INSERT INTO kept VALUES (?)")
        .bind(3)
        .execute(&mut *dropped)
        .await?;
    drop(dropped);
    let seen: Vec<i32> = sqlx::query_scalar("SELECT n FROM kept ORDER BY n")
        .fetch_all(pool)
        .await?;
    println!("ok transactions {seen:?}");
    Ok(())
}

async fn blobs(pool: &MySqlPool) -> Result<()> {
    pool.execute("CREATE TABLE large (id INT PRIMARY KEY, b LONGBLOB)")
        .await?;
    for (id, size) in [5 * MEGABYTE, 20 * MEGABYTE + 1].into_iter().enumerate() {
        let blob = pattern(size);
        sqlx::query("INSERT INTO large VALUES (?, ?)")
            .bind(id as u64)
            .bind(&blob)
            .execute(pool)
            .await?;
        let select = sqlx::query_scalar("SELECT b FROM large WHERE id = ?").bind(id as u64);
        let found: Vec<u8> = select.fetch_one(pool).await?;
        assert!(found == blob);
        println!("ok blob {size}");
    }
    Ok(())
}

async fn errors(pool: &MySqlPool) -> Result<()> {
    pool.execute("INSERT INTO counted VALUES (100, 1)").await?;
    let mut seen = Vec::new();
    for (sql, value) in [
        ("INSERT INTO counted VALUES (?, 1)", "100"),
        ("SELEKT ?", "1"),
        ("SELECT * FROM nowhere WHERE a = ?", "1"),
        ("INSERT INTO counted (n) VALUES (?)", "x"),
    ] {
        let error = sqlx::query(sql)
            .bind(value)
            .execute(pool)
            .await
            .expect_err(sql);
        let error = error.into_database_error().expect(sql);
        let error = error.downcast::<sqlx::mysql::MySqlDatabaseError>();
        seen.push((error.number(), error.code().map(str::to_owned)));
    }
    println!("ok errors {seen:?}");
    Ok(())
}

/// sqlx keeps what it has prepared; the table changes meanwhile. Streams are left in the middle.
async fn changes(pool: &MySqlPool) -> Result<()> {
    let mut conn = pool.acquire().await?;
    let mut widths = Vec::new();
    for change in [
        "ADD COLUMN m INT DEFAULT 3",
        "MODIFY m VARCHAR(20)",
        "DROP COLUMN m",
    ] {
        let mut rows = sqlx::query("SELECT * FROM counted WHERE id >= ?")
            .bind(1)
            .fetch(&mut *conn);
        let row = rows.try_next().await?.expect("a row");
        drop(rows);
        widths.push(row.len());
        conn.execute(format!("ALTER TABLE counted {change}").as_str())
            .await?;
    }
    println!("ok changes {widths:?}");
    Ok(())
}

async fn parallel(pool: &MySqlPool) -> Result<()> {
    let tasks = (0..8).map(|worker| async move {
        for turn in 0..20 {
            let mut transaction = pool.begin().await.unwrap();
            let insert = sqlx::query("INSERT INTO counted (n) VALUES (?)").bind(1000 + worker);
            insert.execute(&mut *transaction).await.unwrap();
            let mine = sqlx::query_scalar("SELECT n FROM counted WHERE id = LAST_INSERT_ID()");
            let mine: i32 = mine.fetch_one(&mut *transaction).await.unwrap();
            assert_eq!(mine, 1000 + worker);
            match turn % 2 {
                0 => transaction.commit().await.unwrap(),
                _ => transaction.rollback().await.unwrap(),
            }
        }
    });
    join_all(tasks).await;
    let count: i64 = sqlx::query_scalar("SELECT COUNT(*) FROM counted WHERE n >= 1000")
        .fetch_one(pool)
        .await?;
    println!("ok parallel {count}");
    Ok(())
}

async fn killed(pool: &MySqlPool) -> Result<()> {
    let mut victim = pool.acquire().await?;
    let id: u64 = sqlx::query_scalar("SELECT CONNECTION_ID()")
        .fetch_one(&mut *victim)
        .await?;
    pool.execute(format!("KILL {id}").as_str()).await?;
    assert!(victim.execute("SELECT 1").await.is_err());
    drop(victim);
    let one: i32 = sqlx::query_scalar("SELECT 1").fetch_one(pool).await?;
    println!("ok kill {one}");
    Ok(())
}
