//! Dumps: what the server's own dump program and client do to a schema through the front door is what they do
//! directly.

use std::process::Stdio;
use std::sync::Arc;

use crate::support::{Address, Database, FrontDoor, Output, Server, Tool, finish, program, run};

const SOURCE: &str = r"
    CREATE TABLE dump_source.everything (
        id BIGINT UNSIGNED PRIMARY KEY AUTO_INCREMENT,
        number DECIMAL(20, 6), real_number DOUBLE, day DATE, moment DATETIME(6), stamp TIMESTAMP NULL,
        text TEXT, bytes LONGBLOB, choice ENUM('a', 'ß€', 'it''s'), flags SET('x', 'y'), bits BIT(9),
        document JSON, derived INT AS (YEAR(day)) VIRTUAL, INDEX (day), FULLTEXT (text)
    ) COMMENT = 'quotes '' and \\ and \n';
    INSERT INTO dump_source.everything
        (number, real_number, day, moment, stamp, text, bytes, choice, flags, bits, document)
    SELECT seq * 1.37, seq / 3, '2020-01-01' + INTERVAL seq DAY,
        '2020-01-01 00:00:00.123456' + INTERVAL seq SECOND, FROM_UNIXTIME(1e9 + seq),
        IF(seq % 5, CONCAT('line\n', seq, ' tab\t quote'' € 😀 ', REPEAT('w', seq % 300)), NULL),
        IF(seq % 3, CAST(REPEAT(CHAR(0, 39, 92, 10, 13, 26, 255, seq % 256), seq % 90) AS BINARY), NULL),
        1 + seq % 3, seq % 4, seq % 512, JSON_OBJECT('n', seq)
    FROM shop.seq_1_to_3000;
    CREATE TABLE dump_source.large (a INT, b LONGTEXT);
    INSERT INTO dump_source.large SELECT seq, REPEAT(seq, 300000) FROM shop.seq_1_to_6;
    CREATE TABLE dump_source.empty (a INT);
    CREATE TABLE dump_source.log (id INT, at VARCHAR(9));
    CREATE VIEW dump_source.few AS SELECT id, text FROM dump_source.everything WHERE id < 10;
    USE dump_source;
    CREATE TRIGGER noted AFTER DELETE ON everything FOR EACH ROW INSERT INTO log VALUES (OLD.id, 'del');
    CREATE FUNCTION twice(n INT) RETURNS INT DETERMINISTIC RETURN n * 2;
    CREATE PROCEDURE nothing() COMMENT 'it''s' SELECT 1";

const TABLES: [&str; 4] = ["everything", "large", "empty", "log"];

/// What is dumped, without what depends on the moment.
const ARGUMENTS: [&str; 6] = [
    "--skip-dump-date",
    "--skip-comments",
    "--routines",
    "--triggers",
    "--hex-blob",
    "--user=admin",
];

/// What MySQL's program needs so that a dump can be loaded into the server that it came from.
fn arguments_of_family() -> &'static [&'static str] {
    match Server::is_mariadb() {
        true => &[],
        false => &["--set-gtid-purged=OFF"],
    }
}

fn dump(address: &Address, schema: &str, arguments: &[&str]) -> Output {
    let mut command = program(Tool::Dump, address);
    let output = run(
        command
            .args(ARGUMENTS)
            .args(arguments_of_family())
            .args(arguments)
            .arg(schema)
            .env("MYSQL_PWD", "all"),
        "",
    );
    assert_eq!(
        (output.code, output.stderr.as_str()),
        (Some(0), ""),
        "{schema}"
    );
    output
}

/// The shared database with the tables of `SOURCE` in a schema of this name.
fn prepared(schema: &str) -> Arc<Database> {
    let database = Database::shared();
    database.schema(schema);
    database.execute(&SOURCE.replace("dump_source", schema));
    database
}

/// Dumps `piped_source` at `from` straight into the schema `target` at `to`.
fn pipe(from: &Address, to: &Address, target: &str) {
    let mut source = program(Tool::Dump, from);
    let source = source
        .args(ARGUMENTS)
        .args(arguments_of_family())
        .arg("piped_source")
        .env("MYSQL_PWD", "all");
    let mut source = source.stdout(Stdio::piped()).spawn().unwrap();
    let mut sink = program(Tool::Client, to);
    let sink = sink.args(["--user=admin", target]).env("MYSQL_PWD", "all");
    let sink = sink.stdin(source.stdout.take().unwrap()).spawn().unwrap();
    assert_eq!(
        (finish(source), finish(sink)),
        (Some(0), Some(0)),
        "{target}"
    );
}

#[test]
fn a_dump_through_is_byte_for_byte_a_dump_direct() {
    let database = prepared("dump_source");
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 1"]);
    let sets: [&[&str]; 4] = [
        &[],
        &["--single-transaction", "--quick"],
        &["--skip-opt", "--complete-insert", "--order-by-primary"],
        &["--no-data"],
    ];
    for arguments in sets {
        let direct = dump(database.address(), "dump_source", arguments);
        let through = dump(&door.address(), "dump_source", arguments);
        // Not assert_eq: a difference would print megabytes.
        assert!(
            through == direct,
            "{arguments:?}: {} bytes",
            through.stdout.len()
        );
        assert!(arguments.contains(&"--no-data") || direct.stdout.len() > 2_000_000);
    }
}

#[test]
fn a_dump_piped_through_in_both_directions_makes_the_same_schema() {
    let database = prepared("piped_source");
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 3"]);
    // Both programs pin their sessions, and one connection in three is kept from those.
    let (direct, through) = (database.address().clone(), door.address());
    let ways = [
        (&through, &through, "piped_both"),
        (&direct, &through, "piped_in"),
        (&through, &direct, "piped_out"),
    ];
    let original = dump(&direct, "piped_source", &[]);
    for (from, to, target) in ways {
        database.schema(target);
        pipe(from, to, target);
        for table in TABLES {
            let facts = |schema: &str| {
                let text = format!(
                    "CHECKSUM TABLE {schema}.{table}; SELECT COUNT(*) FROM {schema}.{table}"
                );
                database.execute(&text).replace(schema, "")
            };
            assert_eq!(facts(target), facts("piped_source"), "{target}.{table}");
        }
        let copy = dump(&direct, target, &[])
            .stdout
            .replace(target, "piped_source");
        assert!(copy == original.stdout, "{target}: {} bytes", copy.len());
        database.execute(&format!("DROP DATABASE {target}"));
    }
}
