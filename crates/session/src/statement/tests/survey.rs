//! A survey: the verdicts that the front door relies on most, and properties of any text.

use proptest::prelude::*;

use super::super::*;

fn mariadb() -> Dialect {
    Dialect::new(Flavor::MariaDb, 101_119)
}

fn judged(text: &str) -> Statement {
    classify(text.as_bytes(), &mariadb())
}

fn pins(reasons: &[PinReason]) -> PinReasons {
    reasons.iter().copied().collect()
}

#[test]
fn kinds() {
    for (text, kind) in [
        ("", Kind::Empty),
        (" -- nothing\n ; ", Kind::Empty),
        ("select 1", Kind::Select),
        ("(select 1) union (select 2)", Kind::Select),
        ("WITH x AS (SELECT 1) SELECT * FROM x", Kind::Select),
        ("insert into t values (1)", Kind::Insert),
        ("REPLACE t VALUES (1)", Kind::Replace),
        ("update t set a=1", Kind::Update),
        ("DELETE FROM t", Kind::Delete),
        ("begin", Kind::Begin),
        ("START TRANSACTION", Kind::Begin),
        ("COMMIT", Kind::Commit),
        ("rollback to savepoint s", Kind::Savepoint),
        ("ROLLBACK", Kind::Rollback),
        ("SET autocommit=0", Kind::Set),
        ("use shop", Kind::Use),
        ("CREATE TABLE t (a int)", Kind::Ddl),
        ("GRANT SELECT ON *.* TO u", Kind::Account),
        ("CALL p()", Kind::Call),
        ("KILL 5", Kind::Kill),
        ("select 1; select 2", Kind::Multiple),
        ("/* x */ select 1;", Kind::Select),
        ("/*!50000 select */ 1", Kind::Select),
        ("selec 1", Kind::Unknown),
        ("select 'open", Kind::Unknown),
        ("select /* open", Kind::Unknown),
    ] {
        assert_eq!(judged(text).kind, kind, "{text}");
    }
}

#[test]
fn only_plain_reads_are_pure() {
    for (text, pure) in [
        ("SELECT c FROM sbtest1 WHERE id=5", true),
        (
            "select count(*), max(a) from t where b in (1,2) and c like 'x%'",
            true,
        ),
        ("SELECT 'get_lock(1,2)', \"@x\" FROM t", true),
        ("SELECT * FROM t FOR UPDATE", false),
        ("SELECT * FROM t LOCK IN SHARE MODE", false),
        ("SELECT a INTO OUTFILE '/x' FROM t", false),
        ("SELECT @x := 1", false),
        ("SELECT @x", false),
        ("SELECT f(1)", false),
        ("SELECT db.f(1)", false),
        ("SELECT GET_LOCK('a',1)", false),
        ("SELECT/*!GET_LOCK('a',1)*/", false),
        ("SELECT SLEEP(1)", false),
        ("SELECT BENCHMARK(1,1)", false),
        ("SELECT LAST_INSERT_ID(5)", false),
        ("SELECT NEXTVAL(s)", false),
        ("INSERT INTO t SELECT 1", false),
        ("SELECT 1; SELECT 2", false),
    ] {
        assert_eq!(
            judged(text).traits.contains(Traits::PURE_READ),
            pure,
            "{text}"
        );
    }
}

#[test]
fn what_pins() {
    use PinReason as P;
    for (text, expected) in [
        ("SELECT 1", &[][..]),
        ("SELECT @@sql_mode, @@session.autocommit", &[]),
        ("SELECT '@x', `@y`, \"@z\"", &[]),
        ("SET NAMES utf8mb4 COLLATE utf8mb4_bin", &[]),
        ("SET autocommit=0, sql_mode='ANSI'", &[]),
        ("SET @@session.sql_mode=''", &[]),
        ("SET @@sql_mode=''", &[]),
        ("SET GLOBAL a=1, @@b=2", &[P::UntrackedVariable]),
        ("SELECT @x", &[]),
        ("SELECT a INTO @x FROM t", &[]),
        ("SELECT @`quoted name`, @'x'", &[P::UserVariable]),
        ("CREATE TEMPORARY TABLE x (a int)", &[P::TemporaryTable]),
        (
            "create or replace temporary table x (a int)",
            &[P::TemporaryTable],
        ),
        ("LOCK TABLES t WRITE", &[P::LockTables]),
        ("FLUSH TABLES WITH READ LOCK", &[P::GlobalReadLock]),
        ("SELECT GET_LOCK('a',1)", &[P::UserLock]),
        ("HANDLER t OPEN", &[P::Handler]),
        ("XA START 'x'", &[P::Xa]),
        ("PREPARE s FROM 'select 1'", &[P::TextPrepared]),
        ("SET ROLE r", &[]),
        ("SET TRANSACTION READ ONLY", &[]),
        ("SET SESSION TRANSACTION READ ONLY", &[]),
        ("CALL p()", &[P::Call]),
        ("SET rocksdb_bulk_load = 1", &[P::UntrackedVariable]),
        ("UPDATE threads SET instrumented = 'NO'", &[]),
        (
            "UPDATE Performance_Schema.`threads` SET INSTRUMENTED = 'NO'",
            &[P::Profiling],
        ),
        ("SET sql_log_bin=0", &[]),
        ("SET timestamp=5", &[P::ExpressionVariable]),
        ("SET session_track_schema=0", &[P::SessionTracking]),
        ("SELECT f(1)", &[P::UnknownFunction]),
        ("SELECT NEXTVAL(s)", &[]),
        ("SELECT NEXTVAL(s), LASTVAL(s)", &[]),
        ("SELECT SQL_CALC_FOUND_ROWS 1", &[]),
    ] {
        assert_eq!(judged(text).pins, pins(expected), "{text}");
    }
    assert!(!judged("select 'open").pins.is_empty());
    assert!(
        !judged("select 1; create temporary table t (a int)")
            .pins
            .is_empty()
    );
}

#[test]
fn traits_that_others_decide_by() {
    for (text, traits) in [
        ("SELECT LAST_INSERT_ID()", Traits::READS_LAST_INSERT_ID),
        ("SELECT @@identity", Traits::READS_LAST_INSERT_ID),
        ("SHOW WARNINGS", Traits::READS_DIAGNOSTICS),
        ("SELECT @@warning_count", Traits::READS_DIAGNOSTICS),
        ("SELECT ROW_COUNT()", Traits::READS_ROW_COUNTS),
        ("SET NAMES latin1", Traits::SETS_CHARSET),
        ("SET GLOBAL max_connections=5", Traits::SETS_GLOBAL),
        ("BEGIN", Traits::BARE_BEGIN),
        ("START TRANSACTION READ ONLY;", Traits::BARE_BEGIN),
        ("DROP TABLE t", Traits::IMPLICIT_COMMIT),
        ("UNLOCK TABLES", Traits::RELEASES_TABLE_LOCKS),
        ("UPDATE t SET a=1", Traits::MAY_WRITE),
    ] {
        assert!(judged(text).traits.contains(traits), "{text}");
    }
    assert!(
        !judged("START TRANSACTION WITH CONSISTENT SNAPSHOT")
            .traits
            .contains(Traits::BARE_BEGIN)
    );
    assert!(!judged("SELECT 1").traits.contains(Traits::MAY_WRITE));
}

#[test]
fn the_quoting_modes_and_character_sets_of_the_session_decide() {
    let hidden = b"select '\\', @x, '";
    assert!(classify(hidden, &mariadb()).pins.is_empty());
    let mut literal = mariadb();
    literal.no_backslash_escapes = true;
    assert!(!classify(hidden, &literal).pins.is_empty());
    // In these, 0x5C is the second half of a character, and the quote ends the string.
    for (charset, lead) in [
        (&b"sjis"[..], 0x95),
        (b"gbk", 0xbf),
        (b"big5", 0xa4),
        (b"cp932", 0x95),
    ] {
        let mut dialect = mariadb();
        dialect.charset = Trail::of(charset).expect("known");
        let text = [&b"select '"[..], &[lead, 0x5c], b"', @x, ''"].concat();
        assert!(
            classify(&text, &dialect)
                .traits
                .contains(Traits::USES_USER_VARIABLES)
        );
        assert!(classify(&text, &mariadb()).kind == Kind::Unknown || charset == b"utf8");
    }
}

#[test]
fn version_comments_are_read_as_the_server_reads_them() {
    let mysql = Dialect::new(Flavor::MySql, 90_700);
    let hidden = |text: &str, dialect: &Dialect| {
        classify(text.as_bytes(), dialect)
            .traits
            .contains(Traits::USES_USER_VARIABLES)
    };
    assert!(hidden("select 1 /*!40000 , @x */", &mariadb()));
    assert!(hidden("select 1 /*M! , @x */", &mariadb()));
    assert!(!hidden("select 1 /*!999999 , @x */", &mariadb()));
    assert!(!hidden("select 1 /*!50701 , @x */", &mariadb()));
    assert!(hidden("select 1 /*!50701 , @x */", &mysql));
    assert!(!hidden("select 1 /*M! , @x */", &mysql));
    assert!(!hidden("select /*+ @x */ 1", &mysql));
}

#[test]
fn targets() {
    let kill = |text: &str| kill_target(text.as_bytes(), &mariadb());
    assert_eq!(
        kill("KILL QUERY 7"),
        Some(Kill {
            named: Named::Id(7),
            query: true,
            soft: false
        })
    );
    assert_eq!(
        kill(" kill connection 8;"),
        Some(Kill {
            named: Named::Id(8),
            query: false,
            soft: false
        })
    );
    assert_eq!(
        kill("KILL SOFT 9"),
        Some(Kill {
            named: Named::Id(9),
            query: false,
            soft: true
        })
    );
    assert_eq!(kill("KILL USER x"), None);
    assert_eq!(kill("KILL 1; KILL 2"), None);
    assert_eq!(
        use_schema(b"USE `a b`", &mariadb()).as_deref(),
        Some(&b"a b"[..])
    );
}

proptest! {
    #[test]
    fn any_bytes_get_a_verdict(text in prop::collection::vec(any::<u8>(), 0..200)) {
        for charset in [&b"utf8mb4"[..], b"sjis", b"gb18030"] {
            let mut dialect = mariadb();
            dialect.charset = Trail::of(charset).expect("known");
            let statement = classify(&text, &dialect);
            // In doubt: pinned.
            prop_assert!(statement.kind != Kind::Unknown || !statement.pins.is_empty());
        }
    }

    #[test]
    fn case_does_not_matter(
        text in "(select|insert|set|lock tables|call|use|kill|begin) ?(@x|a|f\\(1\\)|1|names x|=0){0,3}"
    ) {
        let without_digest = |text: &str| Statement {
            digest: 0,
            ..judged(text)
        };
        prop_assert_eq!(without_digest(&text), without_digest(&text.to_uppercase()));
    }
}
