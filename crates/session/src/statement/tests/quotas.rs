//! Limits in statements about accounts: what is found, what is left for the server, what is refused.

use proptest::prelude::*;

use super::{MARIADB, MYSQL};
use crate::statement::{
    AccountRef, AccountStatement, Dialect, Limit, Limits, Trail, account_statement, names_limits,
};

fn named(user: &str, host: &str) -> AccountRef {
    AccountRef::Named {
        user: user.into(),
        host: host.into(),
    }
}

fn read(text: &str) -> AccountStatement {
    account_statement(text.as_bytes(), &MARIADB)
}

/// The accounts and the clause that was found, and what is left.
fn found(text: &str, dialect: &Dialect) -> (Vec<AccountRef>, String, String) {
    match account_statement(text.as_bytes(), dialect) {
        AccountStatement::Limits {
            accounts,
            limits,
            server_text,
        } => (
            accounts,
            limits.to_string(),
            String::from_utf8(server_text).unwrap(),
        ),
        other => panic!("{text}: {other:?}"),
    }
}

const BOTH: &str = "WITH MAX_CONCURRENT_QUERIES 4 MAX_CONCURRENT_TRANSACTIONS 8";
const QUERIES: &str = "WITH MAX_CONCURRENT_QUERIES 4";

#[test]
fn our_clauses_are_cut_out_and_nothing_else() {
    for (text, limits, left) in [
        (
            "GRANT ALL ON *.* TO 'app'@'%' WITH MAX_CONCURRENT_QUERIES 4 MAX_CONCURRENT_TRANSACTIONS 8",
            BOTH,
            "GRANT ALL ON *.* TO 'app'@'%'     ",
        ),
        (
            "grant select on app.* to app with max_concurrent_queries 4 grant option",
            QUERIES,
            "grant select on app.* to app with   grant option",
        ),
        (
            "GRANT ALL ON *.* TO app WITH GRANT OPTION MAX_CONCURRENT_QUERIES 4 MAX_QUERIES_PER_HOUR 9",
            QUERIES,
            "GRANT ALL ON *.* TO app WITH GRANT OPTION   MAX_QUERIES_PER_HOUR 9",
        ),
        (
            "CREATE USER IF NOT EXISTS app IDENTIFIED WITH caching_sha2_password BY 'x' REQUIRE SSL \
             WITH MAX_CONCURRENT_QUERIES 4 PASSWORD EXPIRE ACCOUNT LOCK",
            QUERIES,
            "CREATE USER IF NOT EXISTS app IDENTIFIED WITH caching_sha2_password BY 'x' REQUIRE SSL \
             \u{20}  PASSWORD EXPIRE ACCOUNT LOCK",
        ),
        (
            "ALTER USER app WITH MAX_CONCURRENT_QUERIES 4;  ",
            QUERIES,
            "ALTER USER app   ;  ",
        ),
        (
            "ALTER USER app WITH/*a*/MAX_CONCURRENT_QUERIES/*b*/4/*c*/",
            QUERIES,
            "ALTER USER app /*a*//*b*//*c*/",
        ),
        (
            "ALTER USER app /*!50000 WITH MAX_CONCURRENT_QUERIES */ 4",
            QUERIES,
            "ALTER USER app /*!50000   */ ",
        ),
        (
            "ALTER USER app /* WITH MAX_QUEUED 1 */ WITH MAX_CONCURRENT_QUERIES 9 MAX_CONCURRENT_QUERIES 4 -- MAX_QUEUED 2",
            QUERIES,
            "ALTER USER app /* WITH MAX_QUEUED 1 */      -- MAX_QUEUED 2",
        ),
        (
            "ALTER USER app IDENTIFIED BY 'WITH MAX_QUEUED 3' WITH MAX_STATEMENT_TIME 1.5 QUEUE_TIMEOUT 2.25",
            "WITH QUEUE_TIMEOUT 2.250",
            "ALTER USER app IDENTIFIED BY 'WITH MAX_QUEUED 3' WITH MAX_STATEMENT_TIME 1.5  ",
        ),
        (
            "ALTER USER app WITH MAX_QUEUED 0 MAX_CONNECTIONS 10 MAX_CONNECTS_PER_SECOND 20 WEIGHT 3 QUEUE_TIMEOUT 5",
            "WITH MAX_QUEUED 0 QUEUE_TIMEOUT 5 MAX_CONNECTIONS 10 MAX_CONNECTS_PER_SECOND 20 WEIGHT 3",
            "ALTER USER app           ",
        ),
        (
            "ALTER USER app WITH MAX_CONCURRENT_QUERIES 99999999999",
            "WITH MAX_CONCURRENT_QUERIES 4294967295",
            "ALTER USER app   ",
        ),
    ] {
        let (accounts, clause, server_text) = found(text, &MARIADB);
        assert_eq!(accounts.len(), 1, "{text}");
        assert_eq!(
            (clause.as_str(), server_text.as_str()),
            (limits, left),
            "{text}"
        );
    }
}

#[test]
fn accounts_are_named_in_all_ways_of_the_server() {
    let ansi = Dialect {
        ansi_quotes: true,
        ..MARIADB
    };
    let plain = Dialect {
        no_backslash_escapes: true,
        ..MARIADB
    };
    let sjis = Dialect {
        charset: Trail::Sjis,
        ..MARIADB
    };
    let one = named("app", "10.%");
    for (dialect, written, expected) in [
        (MARIADB, "'app'@'10.%'", one.clone()),
        (MARIADB, "`app`@`10.%`", one.clone()),
        (MYSQL, "\"app\"@\"10.%\"", one.clone()),
        (ansi, "\"app\"@\"10.%\"", one),
        (MARIADB, "app@localhost", named("app", "localhost")),
        (MARIADB, "app@db1.example", named("app", "db1.example")),
        (MARIADB, "app", named("app", "%")),
        (MARIADB, "''@''", named("", "")),
        (
            MARIADB,
            "'o''n\\'s\\\\'@'a\\_b\\%'",
            named("o'n's\\", "a\\_b\\%"),
        ),
        (plain, "'a\\'@'%'", named("a\\", "%")),
        (MARIADB, "`a``b`", named("a`b", "%")),
        (MARIADB, "CURRENT_USER()", AccountRef::Current),
        (MARIADB, "current_user", AccountRef::Current),
        (MYSQL, "USER()", AccountRef::Current),
    ] {
        let text = format!("ALTER USER {written} {QUERIES}");
        assert_eq!(found(&text, &dialect).0, [expected], "{text}");
    }
    let text = [&b"ALTER USER '\x83\\'@'%' "[..], QUERIES.as_bytes()].concat();
    let AccountStatement::Limits { accounts, .. } = account_statement(&text, &sjis) else {
        panic!("a backslash is the second half of a character");
    };
    let user = b"\x83\\".to_vec();
    assert_eq!(
        accounts,
        [AccountRef::Named {
            user,
            host: b"%".to_vec()
        }]
    );
}

#[test]
fn lists_of_accounts_are_read_to_their_end() {
    let text = "CREATE USER a IDENTIFIED BY 'x', b@h IDENTIFIED VIA ed25519 USING PASSWORD('y,z'), c \
                DEFAULT ROLE r1, r2 REQUIRE NONE WITH MAX_QUERIES_PER_HOUR 1 MAX_QUEUED 7";
    let (accounts, limits, left) = found(text, &MARIADB);
    assert_eq!(
        accounts,
        [named("a", "%"), named("b", "h"), named("c", "%")]
    );
    assert_eq!(limits, "WITH MAX_QUEUED 7");
    assert_eq!(left, text.replace("MAX_QUEUED 7", " "));
}

#[test]
fn what_has_nothing_of_ours_is_the_servers() {
    for text in [
        "GRANT ALL ON *.* TO app WITH GRANT OPTION",
        "GRANT max_concurrent_queries TO app",
        "CREATE USER app IDENTIFIED WITH max_queued",
        "ALTER USER app WITH MAX_USER_CONNECTIONS 5",
        "GRANT r TO app WITH ADMIN OPTION",
        "GRANT ALL ON *.* TO app AS x WITH ROLE weight",
        "SELECT 1 WITH MAX_QUEUED 1",
        "CREATE TABLE t (weight INT)",
        "DROP TABLE user",
        "ALTER USER app WITH MAX_QUEUED 1 COMMENT 'open",
        "",
    ] {
        assert_eq!(read(text), AccountStatement::Other, "{text}");
    }
}

#[test]
fn what_is_ours_and_wrong_is_told_in_the_servers_words() {
    for (text, near, line) in [
        ("ALTER USER app WITH MAX_CONCURRENT_QUERIES", "", 1),
        ("ALTER USER app WITH MAX_CONCURRENT_QUERIES -1", "-1", 1),
        (
            "ALTER USER app\nWITH MAX_QUEUED 'x' ACCOUNT LOCK",
            "'x' ACCOUNT LOCK",
            2,
        ),
        ("ALTER USER app WITH MAX_QUEUED 1.5", "1.5", 1),
        ("ALTER USER app WITH MAX_QUEUED 0x10", "0x10", 1),
        ("ALTER USER app WITH QUEUE_TIMEOUT .5", ".5", 1),
        (
            "ALTER USER app WITH MAX_QUEUED 1, MAX_QUEUED 2",
            ", MAX_QUEUED 2",
            1,
        ),
        ("ALTER USER app WITH MAX_QUEUED 1'x'", "'x'", 1),
        ("ALTER USER 5 WITH MAX_QUEUED 1", "5 WITH MAX_QUEUED 1", 1),
    ] {
        let AccountStatement::Wrong(error) = read(text) else {
            panic!("{text}: {:?}", read(text));
        };
        let expected = format!(
            "You have an error in your SQL syntax; check the manual that corresponds to your MariaDB \
             server version for the right syntax to use near '{near}' at line {line}"
        );
        let message = error.message(MARIADB.flavor);
        assert_eq!(String::from_utf8(message).unwrap(), expected, "{text}");
    }
}

#[test]
fn limits_are_taken_from_a_lone_text_only() {
    for text in [
        "ALTER USER app WITH MAX_QUEUED 1; SELECT 1",
        "PREPARE s FROM 'ALTER USER app WITH MAX_CONCURRENT_QUERIES 1'",
        "EXECUTE IMMEDIATE 'ALTER USER app WITH max_concurrent_transactions 1'",
    ] {
        assert_eq!(read(text), AccountStatement::NotAlone, "{text}");
    }
    assert!(names_limits(
        b"GRANT ALL ON *.* TO a WITH Max_Concurrent_Queries ?"
    ));
    assert!(!names_limits(
        b"SELECT weight, my_max_concurrent_queries FROM t"
    ));
    assert_eq!(
        read("PREPARE s FROM 'SELECT weight FROM t'"),
        AccountStatement::Other
    );
}

#[test]
fn dropped_and_renamed_accounts_are_named() {
    let dropped = AccountStatement::Drop(vec![named("a", "%"), named("b", "10.%")]);
    assert_eq!(read("DROP USER IF EXISTS a, 'b'@'10.%';"), dropped);
    let pairs = vec![
        (named("a", "%"), named("b", "h")),
        (named("c", "%"), named("d", "%")),
    ];
    let text = "RENAME USER a TO b@h, 'c'@'%' TO d";
    assert_eq!(read(text), AccountStatement::Rename(pairs));
    for text in [
        "DROP USER",
        "DROP USER a b",
        "RENAME USER a",
        "RENAME TABLE a TO b",
    ] {
        assert_eq!(read(text), AccountStatement::Other, "{text}");
    }
}

/// A clause of ours that says the same as `limits`.
fn limits() -> impl Strategy<Value = Limits> {
    let values = prop::collection::vec((0..Limit::ALL.len(), any::<u32>()), 1..5);
    values.prop_map(|values| {
        values
            .into_iter()
            .fold(Limits::default(), |limits, (which, value)| {
                limits.with(Limit::ALL[which], value)
            })
    })
}

const PIECES: &[&str] = &[
    "GRANT ",
    "ALL ON *.* TO ",
    "ALTER USER ",
    "app",
    "'a'",
    "@'%'",
    ", ",
    " WITH ",
    "GRANT OPTION ",
    "MAX_QUEUED ",
    "max_concurrent_queries ",
    "4",
    " 5 ",
    "MAX_USER_CONNECTIONS 6 ",
    "REQUIRE SSL ",
    "'",
    "/*",
    "*/",
    "/*!50000 ",
    "--",
    " ",
    "\n",
    ";",
    "IDENTIFIED ",
    "BY 'x' ",
    "é",
    "0x1",
    "(",
    ")",
];

fn pieces() -> impl Strategy<Value = String> {
    let pieces = prop::collection::vec(prop::sample::select(PIECES), 0..8);
    pieces.prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    #[test]
    fn what_is_shown_says_the_same_again(limits in limits()) {
        let (_, again, left) = found(&format!("ALTER USER app {limits}"), &MARIADB);
        prop_assert_eq!(again, limits.to_string());
        prop_assert_eq!(left.trim(), "ALTER USER app");
    }

    #[test]
    fn only_whole_tokens_of_ours_are_missing(before in pieces(), after in pieces()) {
        let text = format!("ALTER USER app{before} WITH MAX_QUEUED 4 {after}");
        if let AccountStatement::Limits { server_text, .. } = read(&text) {
            let mut left = &server_text[..];
            let mut missing = String::new();
            for byte in text.bytes() {
                match left.split_first() {
                    Some((&first, rest)) if first == byte => left = rest,
                    _ => missing.push(byte.into()),
                }
            }
            prop_assert!(left.is_empty(), "{text}");
            let missing = missing.to_ascii_lowercase();
            prop_assert!(missing.bytes().all(|byte| b"withmax_queuedconcurrent_queries45".contains(&byte)), "{text}: {missing}");
            let again = account_statement(&server_text, &MARIADB);
            prop_assert_eq!(again, AccountStatement::Other, "{}", text);
        }
    }
}
