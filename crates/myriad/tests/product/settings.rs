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

/// A session sees a new global value from its next backend connection on, unless it has set the variable itself, and but for
/// its `sql_mode` and `autocommit`. The answer to the statement, and what it leaves in the setter's session, are the
/// server's.
#[test]
fn older_sessions_see_new_global_values_unless_they_have_set_the_variable() {
    const ASK: &str = "SELECT CONCAT_WS(' ', @@lock_wait_timeout, @@group_concat_max_len, @@autocommit + 0, @@sql_mode)";
    let database = Database::private();
    let door = FrontDoor::start(database.address(), &["server.workers = 1"]);
    let login = Login {
        user: "admin",
        password: "all",
        ..Login::default()
    };
    let begin = |address: &Address| Client::login(address, &login).unwrap();
    let mut direct = begin(database.address());
    let mode = direct.value("SELECT @@sql_mode");
    let ways = [Way::Text, Way::Prepared, Way::BehindAnother];
    for (way, value) in ways.into_iter().zip(11..) {
        let [mut setter, mut older, mut own, mut held] = [(); 4].map(|()| begin(&door.address()));
        older.run("DO 1");
        own.run("SET lock_wait_timeout = 7, group_concat_max_len = 1234");
        let former = held.value(ASK);
        held.run("BEGIN; SELECT 1");
        let set = format!(
            "SET GLOBAL lock_wait_timeout = {value}, @@global.group_concat_max_len = 5000, \
             @@global.sql_mode = 'ANSI_QUOTES', @@global.autocommit = 0"
        );
        assert_eq!(
            way.run(&mut setter, &set),
            way.run(&mut direct, &set),
            "{way:?}"
        );
        for text in ["SHOW WARNINGS", "SELECT ROW_COUNT()"] {
            assert_eq!(setter.run(text), direct.run(text), "{way:?}: {text}");
        }
        let changed = format!("{value} 5000 1 {mode}");
        for _ in 0..2 {
            assert_eq!(setter.value(ASK), changed, "{way:?}");
            assert_eq!(older.value(ASK), changed, "{way:?}");
            assert_eq!(own.value(ASK), format!("7 1234 1 {mode}"), "{way:?}");
            // Its texts are read by its own `sql_mode` still.
            assert_eq!(older.value("SELECT \"a\""), "a", "{way:?}");
        }
        // A transaction keeps its connection.
        assert_eq!(held.value(ASK), former, "{way:?}");
        held.run("COMMIT");
        assert_eq!(held.value(ASK), changed, "{way:?}");
        let begun = begin(&door.address()).value(ASK);
        assert_eq!(begun, format!("{value} 5000 0 ANSI_QUOTES"), "{way:?}");
        database.execute(&format!(
            "SET GLOBAL autocommit = 1, sql_mode = '{mode}', group_concat_max_len = 4096"
        ));
        // What sessions begin with is asked behind it, on the same connection.
        setter.run("SET GLOBAL max_connections = 140");
        setter.run("SELECT 1");
    }
}
