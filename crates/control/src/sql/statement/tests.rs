//! Texts and what they are read as.

use super::*;
use crate::sql::select::Expression;
use crate::tables::Value;

fn filter(like: Option<&str>, offset: u64, limit: Option<u64>) -> Filter {
    Filter {
        like: like.map(str::to_owned),
        offset,
        limit,
    }
}

#[test]
fn tables_are_shown() {
    let all = filter(None, 0, None);
    for (text, subject, filter) in [
        ("SHOW SESSIONS", Subject::Sessions, all.clone()),
        ("show full processlist;", Subject::Sessions, all.clone()),
        ("SHOW queue", Subject::Queue, all.clone()),
        (
            "SHOW BACKENDS LIMIT 5",
            Subject::Backends,
            filter(None, 0, Some(5)),
        ),
        (
            "SHOW PINS LIMIT 7, 5",
            Subject::Pins,
            filter(None, 7, Some(5)),
        ),
        (
            "SHOW GLOBAL STATUS LIKE 'a%' LIMIT 5 OFFSET 2",
            Subject::Status,
            filter(Some("a%"), 2, Some(5)),
        ),
        (
            "/* x */ SHOW VARIABLES LIKE 'server.%'",
            Subject::Variables,
            filter(Some("server.%"), 0, None),
        ),
    ] {
        assert_eq!(
            parse(text.as_bytes()),
            Ok(Statement::Show(subject, filter)),
            "{text}"
        );
    }
}

#[test]
fn sessions_are_killed_by_the_ids_of_clients() {
    for (text, id, query) in [
        ("KILL 1073741824", 1 << 30, false),
        ("kill connection 1073741825", (1 << 30) + 1, false),
        ("KILL HARD QUERY 2147483647", (1 << 31) - 1, true),
    ] {
        let victim = Victim { id, query };
        assert_eq!(
            parse(text.as_bytes()),
            Ok(Statement::Kill(victim)),
            "{text}"
        );
    }
    for text in ["KILL 1", "KILL 2147483648", "KILL QUERY 99999999999999"] {
        let error = parse(text.as_bytes()).unwrap_err();
        assert_eq!(error.code, code::NO_SUCH_THREAD, "{text}");
    }
}

#[test]
fn what_clients_say_by_themselves_is_taken() {
    for text in [
        "SET NAMES utf8mb4",
        "SET NAMES 'utf8mb4' COLLATE 'utf8mb4_general_ci'",
        "SET CHARACTER SET utf8mb4",
        "SET autocommit=0",
        "SET @@session.autocommit = OFF",
        "SET SESSION sql_mode = 'ANSI', @@foreign_key_checks := 0",
        "SET character_set_results = NULL, net_write_timeout=60",
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
        "SET sql_safe_updates=1,sql_select_limit=1000",
        "COMMIT",
        "ROLLBACK",
        "START TRANSACTION",
    ] {
        assert_eq!(parse(text.as_bytes()), Ok(Statement::Nothing), "{text}");
    }
    let columns = |text: &str| match parse(text.as_bytes()) {
        Ok(Statement::Select(items)) => items
            .into_iter()
            .map(|item| (item.name, item.value))
            .collect::<Vec<_>>(),
        other => panic!("{text}: {other:?}"),
    };
    let constant = |value: Value| Expression::Constant(value);
    let text = |name: &str| name.to_owned();
    assert_eq!(columns("SELECT 1"), [(text("1"), constant(1.into()))]);
    assert_eq!(
        columns("select @@max_allowed_packet,@@session.autocommit AS a limit 1"),
        [
            (text("@@max_allowed_packet"), constant(65_536.into())),
            (text("a"), constant(1.into())),
        ]
    );
    assert_eq!(
        columns("select DATABASE(), USER() limit 1"),
        [
            (text("DATABASE()"), constant(Value::None)),
            (text("USER()"), Expression::User),
        ]
    );
    assert_eq!(
        columns("SELECT CONNECTION_ID() id, 'x' AS `y z`"),
        [
            (text("id"), Expression::ConnectionId),
            (text("y z"), constant("x".into())),
        ]
    );
}

#[test]
fn what_is_wrong_is_told() {
    for (text, expected) in [
        ("", "no such statement here; there are SHOW "),
        ("DELETE FROM t", "no such statement here; there are SHOW "),
        ("SHOW ENGINES", "no such statement here; there are SHOW "),
        (
            "SHOW SESSIONS LIKE a",
            "the pattern behind LIKE must be in quotes",
        ),
        ("SHOW SESSIONS LIMIT 'a'", "LIMIT must be a whole number"),
        ("SHOW SESSIONS LIMIT 1.5", "LIMIT must be a whole number"),
        ("SHOW SESSIONS x", "x is too much"),
        ("KILL 'x'", "the id behind KILL must be a whole number"),
        (
            "SELECT * FROM t",
            "cannot SELECT *; there are no tables here",
        ),
        ("SELECT $$", "a quote or a comment is open"),
        ("SELECT @@nothing", "Unknown system variable 'nothing'"),
        (
            "SET max_connections = 5",
            "Unknown system variable 'max_connections'; the conf",
        ),
        (
            "SET GLOBAL x",
            "Unknown system variable 'x'; the configuration is set in its",
        ),
        (
            "SELECT 'open",
            "a quote or a comment is open, or these are several statements",
        ),
        (
            "SHOW PINS; SHOW PINS",
            "a quote or a comment is open, or these are several",
        ),
    ] {
        let error = parse(text.as_bytes()).unwrap_err();
        assert!(
            error.message.starts_with(expected),
            "{text}: {}",
            error.message
        );
    }
}

#[test]
fn limits_are_set() {
    use crate::office::{Lasts, Whose};
    use session::statement::{Limit, Limits};
    let app = || Whose::Account("app".into(), "%".into());
    let here = || Whose::Account("it's".into(), "localhost".into());
    let queries = Limits::default().with(Limit::Queries, 4);
    let both = queries.with(Limit::QueueTimeout, 2_500);
    for (text, whose, limits, lasts) in [
        (
            "SET QUOTA 'app'@'%' MAX_CONCURRENT_QUERIES = 4",
            vec![app()],
            queries,
            Lasts::Trial,
        ),
        (
            "set quota app max_concurrent_queries 4, queue_timeout = 2.5;",
            vec![app()],
            both,
            Lasts::Trial,
        ),
        (
            "SET QUOTA DEFAULT MAX_CONCURRENT_QUERIES = 4",
            vec![Whose::Others],
            queries,
            Lasts::Trial,
        ),
        (
            "GRANT USAGE ON *.* TO app WITH MAX_CONCURRENT_QUERIES 4",
            vec![app()],
            queries,
            Lasts::Kept,
        ),
        (
            "ALTER USER app, 'it''s'@localhost WITH MAX_CONCURRENT_QUERIES 4 QUEUE_TIMEOUT 2.5",
            vec![app(), here()],
            both,
            Lasts::Kept,
        ),
    ] {
        let expected = Statement::Limit(whose, limits, lasts);
        assert_eq!(parse(text.as_bytes()), Ok(expected), "{text}");
    }
    assert_eq!(parse(b"RELOAD"), Ok(Statement::Reload));
    assert_eq!(parse(b"FLUSH HOSTS;"), Ok(Statement::FlushHosts(None)));
    let address = Some("10.1.2.3".parse().unwrap());
    let one = Statement::FlushHosts(address);
    assert_eq!(parse(b"flush hosts '10.1.2.3'"), Ok(one));
    assert!(parse(b"FLUSH HOSTS 'web'").is_err());
    assert!(parse(b"FLUSH HOSTS '10.1.2.3' 4").is_err());
    assert!(parse(b"FLUSH TABLES").is_err());
}

#[test]
fn what_is_wrong_in_limits_is_told() {
    for (text, expected) in [
        (
            "DROP TABLE t",
            "only limits can be set here: GRANT USAGE ON",
        ),
        (
            "GRANT ALL ON *.* TO a WITH MAX_QUEUED 1",
            "only limits can be set here: ",
        ),
        (
            "ALTER USER a IDENTIFIED BY 'x' WITH MAX_QUEUED 1",
            "only limits can be set",
        ),
        (
            "CREATE USER a WITH MAX_QUEUED 1",
            "only limits can be set here: ",
        ),
        (
            "ALTER USER a WITH MAX_QUEUED x",
            "You have an error in your SQL syntax; ",
        ),
        (
            "ALTER USER CURRENT_USER WITH MAX_QUEUED 1",
            "name the account; ",
        ),
        ("SET QUOTA", "name an account, such as 'app'@'%'"),
        (
            "SET QUOTA app",
            "no such limit; there are MAX_CONCURRENT_QUERIES, ",
        ),
        (
            "SET QUOTA app x = 1",
            "no such limit; there are MAX_CONCURRENT_QUERIES, ",
        ),
        (
            "SET QUOTA app WEIGHT = 'x'",
            "WEIGHT needs a number that fits it",
        ),
        (
            "SET QUOTA app WEIGHT = 1.5",
            "WEIGHT needs a number that fits it",
        ),
        ("SET QUOTA app WEIGHT = 1 x", "x is too much"),
        ("RELOAD x", "x is too much"),
    ] {
        let error = parse(text.as_bytes()).unwrap_err();
        assert!(
            error.message.starts_with(expected),
            "{text}: {}",
            error.message
        );
    }
}
