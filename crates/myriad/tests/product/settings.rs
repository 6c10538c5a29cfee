//! Statements about more than their session, and about its end: what everybody is to have, passwords, and how
//! transactions complete.

use crate::packets::shown;
use crate::support::{Address, Client, Database, FrontDoor, Login, Outcome, Server};

const COM_QUERY: u8 = 3;

/// What a client is told, up to where its connection ends.
fn told(address: &Address, login: &Login<'_>, script: &[&str]) -> Vec<String> {
    let mut client = Client::login(address, login).unwrap();
    let mut told = Vec::new();
    for text in script {
        client.send_command_that_goes(COM_QUERY, text.as_bytes());
        let Ok(answer) = client.answer() else {
            assert_eq!(client.rest(), b"");
            told.push(format!("closed before {text}"));
            break;
        };
        told.extend(shown(&answer));
    }
    told
}

#[test]
fn a_connection_ends_with_its_transaction_as_on_the_server() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 1"]);
    let login = Login::to("shop");
    for ends in [
        "COMMIT",
        "ROLLBACK",
        "COMMIT RELEASE",
        "COMMIT AND NO CHAIN",
        "COMMIT NO RELEASE",
        "ROLLBACK WORK NO RELEASE",
        "ROLLBACK AND NO CHAIN NO RELEASE",
        "COMMIT AND CHAIN NO RELEASE",
    ] {
        for completion in ["NO_CHAIN", "RELEASE"] {
            let set = format!("SET completion_type = {completion}");
            let script = [
                &set,
                "BEGIN",
                ends,
                "SELECT 1",
                "ROLLBACK NO RELEASE",
                "SELECT 2",
            ];
            let direct = told(database.address(), &login, &script);
            let through = told(&door.address(), &login, &script);
            assert_eq!(through, direct, "{ends}, {completion}");
        }
    }
    assert_eq!(Client::new(&door.address(), "shop").value("SELECT 3"), "3");
}

#[test]
fn passwords_are_set_as_on_the_server() {
    let database = Database::shared();
    let script = match Server::is_mariadb() {
        true => [
            "SET PASSWORD = PASSWORD('two')",
            "SET PASSWORD FOR CURRENT_USER() = PASSWORD('three')",
            "SET PASSWORD = 'no hash'",
            "SET PASSWORD FOR 'nobody'@'nowhere' = PASSWORD('x')",
            "SET PASSWORD FOR 'changer'@'localhost' = PASSWORD('one')",
            "SELECT CURRENT_USER()",
        ],
        false => [
            "SET PASSWORD = 'two'",
            "SET PASSWORD FOR CURRENT_USER() = 'three'",
            "SET PASSWORD = 'four' REPLACE 'wrong'",
            "SET PASSWORD FOR 'nobody'@'nowhere' = 'x'",
            "SET PASSWORD FOR 'changer'@'localhost' = 'one'",
            "SELECT CURRENT_USER()",
        ],
    };
    database.execute("CREATE USER 'changer'@'localhost' IDENTIFIED BY 'one'");
    let account = "[[account]]\nuser = \"changer\"\npassword = \"one\"";
    let door = FrontDoor::start(database.address(), &[account]);
    let login = Login {
        user: "changer",
        password: "one",
        ..Login::default()
    };
    let direct = told(database.address(), &login, &script);
    let through = told(&door.address(), &login, &script);
    assert_eq!(through, direct);
    // It is the same password again, and backends are opened with it.
    let mut client = Client::login(&door.address(), &login).unwrap();
    assert_eq!(client.value("SELECT CURRENT_USER()"), "changer@localhost");
    let pinned = "myriad_pins_total{reason=\"unknown\"}";
    assert_eq!(door.metric(pinned), 0);
}

#[test]
fn what_is_set_for_all_reaches_new_sessions() {
    let database = Database::shared();
    let door = FrontDoor::start(
        database.address(),
        &["backend.max_connections = 4", "server.workers = 2"],
    );
    let login = Login {
        user: "admin",
        password: "all",
        ..Login::default()
    };
    let name = "eq_range_index_dive_limit";
    let question = format!("SELECT @@{name}, @@global.{name}");
    let mut setter = Client::login(&door.address(), &login).unwrap();
    let before = setter.value(&format!("SELECT @@global.{name}"));
    let mut own = Client::login(&door.address(), &login).unwrap();
    own.run(&format!("SET SESSION {name} = 5"));
    let ways: &[&str] = match Server::is_mariadb() {
        true => &["SET GLOBAL", "SET @@GLOBAL."],
        false => &[
            "SET GLOBAL",
            "SET @@GLOBAL.",
            "SET PERSIST",
            "SET @@PERSIST.",
        ],
    };
    for (value, way) in (11..).zip(ways) {
        let space = if way.ends_with('.') { "" } else { " " };
        let set = setter.run(&format!("{way}{space}{name} = {value}"));
        assert!(matches!(set[..], [Outcome::Ok(_)]), "{way}: {set:?}");
        for _ in 0..4 {
            let mut new = Client::login(&door.address(), &login).unwrap();
            let expected = vec![vec![value.to_string(); 2]];
            assert_eq!(new.run(&question), [Outcome::Rows(expected)], "{way}");
        }
        let kept = vec![vec!["5".to_owned(), value.to_string()]];
        assert_eq!(own.run(&question), [Outcome::Rows(kept)], "{way}");
    }
    if !Server::is_mariadb() {
        setter.run(&format!("RESET PERSIST {name}"));
    }
    setter.run(&format!("SET GLOBAL {name} = {before}"));
}

/// How a statement is sent.
#[derive(Clone, Copy, Debug)]
enum Way {
    Text,
    Prepared,
    BehindAnother,
}

impl Way {
    fn run(self, client: &mut Client, sql: &str) -> Vec<Outcome> {
        match self {
            Self::Text => client.run(sql),
            Self::Prepared => client.execute(sql, || {}).outcomes(),
            Self::BehindAnother => client.run(&format!("DO 1; {sql}")),
        }
    }
}

/// What sessions of different ages are told while global variables change.
fn told_while_globals_change(address: &Address, way: Way) -> Vec<String> {
    const QUESTION: &str = "SELECT @@lock_wait_timeout, @@sql_mode, @@group_concat_max_len, @@global.lock_wait_timeout";
    let isolation = match Server::is_mariadb() {
        true => "tx_isolation",
        false => "transaction_isolation",
    };
    let login = Login {
        user: "admin",
        password: "all",
        ..Login::default()
    };
    let begin = || Client::login(address, &login).unwrap();
    let mut sessions = vec![begin(), begin()];
    let mut told = Vec::new();
    for (setter, change) in [
        (0, "SET GLOBAL lock_wait_timeout = 11"),
        (
            1,
            "SET GLOBAL lock_wait_timeout = 12, @@global.sql_mode = 'ANSI_QUOTES'",
        ),
        // The oldest one has what it began with, which says nothing about the others.
        (0, "SET GLOBAL lock_wait_timeout = 13"),
        (
            0,
            "SET GLOBAL group_concat_max_len = 4096, SESSION sql_mode = DEFAULT",
        ),
        (3, "SET GLOBAL TRANSACTION ISOLATION LEVEL SERIALIZABLE"),
        (2, "SET GLOBAL max_connections = 140"),
        (2, "SET GLOBAL sort_buffer_size = 1048576"),
        (2, "SET GLOBAL nothing_such = 1"),
        (4, "SET SESSION lock_wait_timeout = DEFAULT"),
    ] {
        let set = way.run(&mut sessions[setter], change);
        let warnings = sessions[setter].run("SHOW WARNINGS");
        let count = sessions[setter].run("SELECT ROW_COUNT()");
        // Not everybody may set all that somebody may set for all.
        let own = match change.contains("sort_buffer_size") {
            true => sessions[setter].run("SELECT @@sort_buffer_size"),
            false => Vec::new(),
        };
        told.push(format!("{change}: {set:?} {warnings:?} {count:?} {own:?}"));
        sessions.push(begin());
        for (number, session) in sessions.iter_mut().enumerate() {
            let values = session.run(QUESTION);
            let isolation = session.run(&format!("SELECT @@{isolation}"));
            told.push(format!("{number} after {change}: {values:?} {isolation:?}"));
        }
    }
    told
}

#[test]
fn sessions_keep_what_they_began_with_while_global_variables_change() {
    for way in [Way::Text, Way::Prepared, Way::BehindAnother] {
        let [direct, through] = [true, false].map(|direct| {
            let database = Database::private();
            let door = FrontDoor::start(database.address(), &["server.workers = 2"]);
            match direct {
                true => told_while_globals_change(database.address(), way),
                false => told_while_globals_change(&door.address(), way),
            }
        });
        assert_eq!(through, direct, "{way:?}");
    }
}
