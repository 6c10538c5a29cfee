//! What the server runs for each session that begins (`init_connect`) is run for each session of a client, once, and for
//! nobody else.

use wire::Capabilities;

use crate::support::{Address, Client, Database, FrontDoor, Login, Outcome, USUAL, in_time};

const SETTINGS: [&str; 2] = ["backend.max_connections = 2", "backend.restless = \"on\""];

const ASK: &str = "SELECT @@time_zone, @@autocommit, @@group_concat_max_len, @@character_set_client, @@collation_connection, \
    @init, ROW_COUNT(), @@warning_count";

fn set(database: &Database, text: &str) {
    database.execute(&format!("SET GLOBAL init_connect = \"{text}\""));
}

fn login() -> Login<'static> {
    Login::to("shop")
}

/// Somebody who may do without.
fn admin() -> Login<'static> {
    Login {
        user: "admin",
        password: "all",
        ..login()
    }
}

/// What is asked, in each of so many sessions, of which some end, and some begin anew.
fn told(address: &Address, login: &Login<'_>) -> Vec<Vec<Outcome>> {
    let mut told = Vec::new();
    let mut clients: Vec<_> = (0..4)
        .map(|_| Client::login(address, login).unwrap())
        .collect();
    for client in &mut clients {
        told.push(client.run(ASK));
    }
    clients[1].run("SET time_zone = '+01:00', @init = 'mine'");
    clients[2].send(0x1f, b"");
    clients[2].answer().unwrap();
    drop(clients.pop());
    clients.push(Client::login(address, login).unwrap());
    for client in &mut clients {
        told.push(client.run(ASK));
    }
    told
}

#[test]
fn each_session_begins_with_what_is_run_for_it() {
    let database = Database::private();
    let without = Capabilities::MULTI_STATEMENTS;
    for text in [
        "SET time_zone = '+07:00', group_concat_max_len = 77, @init = 'x', autocommit = 0",
        "SET NAMES latin1",
        "SET @init = 'one'; SET time_zone = '+02:00'; SELECT 1/0",
        "",
    ] {
        set(&database, text);
        let door = FrontDoor::start(database.address(), &SETTINGS);
        for capabilities in [USUAL, USUAL - without] {
            for schema in ["shop", ""] {
                let mut login = Login {
                    capabilities,
                    ..login()
                };
                if schema.is_empty() {
                    login = Login {
                        capabilities,
                        ..Login::default()
                    };
                }
                let expected = told(database.address(), &login);
                assert_eq!(told(&door.address(), &login), expected, "{text}");
            }
        }
        let admin = admin();
        assert_eq!(
            told(&door.address(), &admin),
            told(database.address(), &admin),
            "{text}"
        );
        // It changes while there are sessions.
        let mut client = Client::login(&door.address(), &login()).unwrap();
        client.run("DO 1");
        set(&database, "SET @init = 'another'");
        client.run("CREATE TEMPORARY TABLE shop.own (a INT)");
        drop(client);
        let begins = || {
            let mut client = Client::login(&door.address(), &login()).unwrap();
            (client.value("SELECT @init") == "another").then_some(())
        };
        in_time(begins).expect("what is run now");
    }
}

/// Whoever changes it by the front door changes it for all that come from then on.
#[test]
fn a_change_holds_for_sessions_that_begin_later() {
    let database = Database::private();
    let door = FrontDoor::start(database.address(), &SETTINGS);
    let mut admin = Client::login(&door.address(), &admin()).unwrap();
    let mut older = Client::login(&door.address(), &login()).unwrap();
    older.run("DO 1");
    for text in [
        "SET @init = 'é'",
        "SET @init = 'two', time_zone = '+02:00'",
        "",
    ] {
        admin.run(&format!("SET GLOBAL init_connect = \"{text}\""));
        let ask = "SELECT @init, @@time_zone";
        let begins = || {
            let told = [database.address().clone(), door.address()];
            let [direct, through] =
                told.map(|address| Client::login(&address, &login()).unwrap().run(ask));
            (direct == through).then_some(())
        };
        in_time(begins).expect("what is run now");
        assert_eq!(older.value("SELECT @init IS NULL"), "1");
    }
}

/// It is run in the session: there are those who keep a list of who has come.
#[test]
fn it_is_run_once_for_each_client() {
    let database = Database::private();
    database.execute("CREATE TABLE shop.came (id BIGINT, who VARCHAR(99), db VARCHAR(20))");
    set(
        &database,
        "INSERT INTO shop.came VALUES (CONNECTION_ID(), USER(), DATABASE())",
    );
    let door = FrontDoor::start(database.address(), &SETTINGS);
    let mut clients: Vec<_> = (0..6)
        .map(|_| Client::login(&door.address(), &login()).unwrap())
        .collect();
    let ids: Vec<_> = clients
        .iter_mut()
        .map(|client| client.value("SELECT CONNECTION_ID()"))
        .collect();
    for client in &mut clients {
        client.run("SELECT 1");
    }
    let mut admin = Client::login(database.address(), &admin()).unwrap();
    // Backend connections are others.
    let came = admin.run("SELECT id, db FROM shop.came WHERE id >= 1 << 30 ORDER BY id");
    let expected = ids
        .into_iter()
        .map(|id| vec![id, "shop".to_owned()])
        .collect();
    assert_eq!(came, [Outcome::Rows(expected)]);
}

/// One that says nothing has it run all the same.
#[test]
fn whoever_says_nothing_has_come_too() {
    let database = Database::private();
    database.execute("CREATE TABLE shop.came (id BIGINT)");
    set(&database, "INSERT INTO shop.came VALUES (CONNECTION_ID())");
    let door = FrontDoor::start(database.address(), &SETTINGS);
    let mut first = Client::login(&door.address(), &login()).unwrap();
    first.run("DO 1");
    let _silent: Vec<_> = (0..3)
        .map(|_| Client::login(&door.address(), &login()).unwrap())
        .collect();
    let mut admin = Client::login(database.address(), &admin()).unwrap();
    let all = || {
        let count = admin.value("SELECT COUNT(*) FROM shop.came WHERE id >= 1 << 30");
        (count == "4").then_some(())
    };
    in_time(all).expect("all four have come");
}

#[test]
fn a_session_for_which_it_fails_ends_with_the_servers_words() {
    let database = Database::private();
    database.execute("CREATE TABLE shop.came (id BIGINT PRIMARY KEY)");
    set(
        &database,
        "INSERT INTO shop.came VALUES (IF(CONNECTION_ID() < 1 << 30, CONNECTION_ID(), 'no number'))",
    );
    let door = FrontDoor::start(database.address(), &SETTINGS);
    let mut client = Client::login(&door.address(), &login()).unwrap();
    let told = client.run("SELECT 1");
    let [Outcome::Err(1184, words)] = &told[..] else {
        panic!("{told:?}");
    };
    let expected = "to db: 'shop' user: 'app' host: 'localhost' (init_connect command failed)";
    assert!(words.ends_with(expected), "{words}");
}
