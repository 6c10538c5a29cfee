//! Sessions that say nothing for as long as `wait_timeout` allows, theirs or the front door's.

use wire::Capabilities;

use crate::support::{Address, Client, Database, FrontDoor, Login, Server, USUAL, eventually};

const CLOSED: &str = "myriad_disconnects_total{reason=\"wait_timeout\"}";
const COM_RESET_CONNECTION: u8 = 0x1f;

/// What a session is told that has set `wait_timeout` and is silent for as long.
fn told_at_its_end(address: &Address) -> Vec<u8> {
    let mut silent = Client::new(address, "shop");
    silent.run("SET wait_timeout = 1");
    silent.rest()
}

#[test]
fn a_session_is_silent_for_as_long_as_it_has_asked_for_and_is_told_what_the_server_tells() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &["server.wait_timeout = \"0\""]);
    let mut other = Client::new(&door.address(), "shop");
    other.run("SET wait_timeout = 1000");
    let told = told_at_its_end(&door.address());
    assert_eq!(told, Server::words_to_the_silent());
    let directly = told_at_its_end(database.address());
    match Server::chosen().has_thread_pool() {
        // MySQL's plugin closes without a word.
        true => assert_eq!(directly, b""),
        false => assert_eq!(told, directly),
    }
    assert_eq!(door.metric(CLOSED), 1);
    assert_eq!(other.value("SELECT @@wait_timeout"), "1000");
}

/// The server itself ends it then, and says why on MySQL.
#[test]
fn a_session_that_holds_its_backend_is_told_what_the_server_tells() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &["server.wait_timeout = \"0\""]);
    let [direct, through] = [database.address(), &door.address()].map(|address| {
        let mut silent = Client::new(address, "shop");
        silent.run("BEGIN");
        silent.run("SELECT 1");
        silent.run("SET wait_timeout = 1");
        silent.rest()
    });
    assert_eq!(through, direct);
}

#[test]
fn who_has_asked_for_longer_outlives_the_others_until_it_is_reset() {
    let database = Database::shared();
    let short = "server.wait_timeout = \"2s\"";
    let door = FrontDoor::start(database.address(), &[short, "server.workers = 1"]);
    let mut patient = Client::new(&door.address(), "shop");
    patient.run("SET wait_timeout = 1000");
    let mut others: Vec<_> = (0..3)
        .map(|_| Client::new(&door.address(), "shop"))
        .collect();
    let told: Vec<_> = others.iter_mut().map(Client::rest).collect();
    assert_eq!(patient.value("SELECT 'still here'"), "still here");
    patient.send(COM_RESET_CONNECTION, b"");
    patient.answer().unwrap();
    assert_eq!(patient.rest(), told[0]);
    assert_eq!(door.metric(CLOSED), 4);
}

/// There are lists for 32 values in each worker, and whoever comes later with another is among those who have none.
#[test]
fn as_many_values_count_as_there_are_lists_for() {
    let database = Database::shared();
    let short = "server.wait_timeout = \"2s\"";
    let door = FrontDoor::start(database.address(), &[short, "server.workers = 1"]);
    let sessions = |from: u32, count: u32| {
        (from..from + count).map(|seconds| {
            let mut session = Client::new(&door.address(), "shop");
            session.run(&format!("SET wait_timeout = {seconds}"));
            session
        })
    };
    let mut first: Vec<_> = sessions(1_000, 32).collect();
    let late: Vec<_> = sessions(2_000, 3).collect();
    let same: Vec<_> = sessions(1_000, 2).collect();
    eventually("the end of those who came late", || {
        (door.metric(CLOSED) == 3).then_some(())
    });
    let idle = || door.metric("myriad_clients{state=\"idle\"}");
    assert_eq!(idle(), 34);
    // Nobody has this value any more: its list is for another.
    drop((first.pop(), late));
    eventually("one fewer", || (idle() == 33).then_some(()));
    let other: Vec<_> = sessions(3_000, 1).collect();
    let mut plain = Client::new(&door.address(), "shop");
    plain.rest();
    assert_eq!(idle(), 34);
    drop((first, same, other));
}

/// Interactive clients may be silent for another time, where the server says so.
#[test]
fn interactive_sessions_begin_with_the_timeout_of_such() {
    let database = Database::private();
    let door = FrontDoor::start(database.address(), &["server.workers = 1"]);
    let interactive = Login {
        capabilities: USUAL | Capabilities::INTERACTIVE,
        ..Login::default()
    };
    let ask = "SELECT @@wait_timeout, @@interactive_timeout";
    let addresses = [database.address().clone(), door.address()];
    Client::new(&addresses[1], "shop").run("DO 1");
    for login in [&interactive, &Login::default()] {
        let told = addresses
            .each_ref()
            .map(|address| Client::login(address, login).unwrap().run(ask));
        assert_eq!(told[0], told[1]);
    }
    let mut admin = Client::login(
        &door.address(),
        &Login {
            user: "admin",
            password: "all",
            ..Login::default()
        },
    )
    .unwrap();
    admin.run("SET GLOBAL interactive_timeout = 29801");
    let told = |login: &Login<'_>| {
        addresses
            .each_ref()
            .map(|address| Client::login(address, login).unwrap().run(ask))
    };
    eventually("what such sessions begin with now", || {
        let [direct, through] = told(&interactive);
        (direct == through).then_some(())
    });
    let [direct, through] = told(&Login::default());
    assert_eq!(direct, through);
}
