//! Migration tools that start in several copies and take turns by one user-level lock, at fewer backends than copies:
//! whoever waits for a lock that another session of the front door holds, waits there, and is answered as by the server.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use wire::Capabilities;

use crate::support::{
    Answer, Client, Database, FrontDoor, Login, Outcome, Part, Server, Shape, USUAL, eventually,
};

/// How a client asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Text,
    /// The name and the number are parameters of a prepared statement.
    Parameters,
    /// They stand in its text.
    Prepared,
}

/// What a tool sends to get a lock, and to release it: a name for `NAME`, or a parameter for `?`.
struct Tool {
    name: &'static str,
    by: By,
    get: &'static str,
    seconds: i64,
    /// `None`: it hangs up.
    release: Option<&'static str>,
}

const TOOLS: [Tool; 8] = [
    Tool {
        name: "Flyway",
        by: By::Text,
        get: "SELECT GET_LOCK('NAME',10)",
        seconds: 10,
        release: Some("SELECT RELEASE_LOCK('NAME')"),
    },
    Tool {
        name: "liquibase-sessionlock",
        by: By::Parameters,
        get: "SELECT get_lock(?, ?)",
        seconds: 10,
        release: Some("SELECT release_lock(?)"),
    },
    Tool {
        name: "golang-migrate",
        by: By::Parameters,
        get: "SELECT GET_LOCK(?, 10)",
        seconds: 10,
        release: Some("SELECT RELEASE_LOCK(?)"),
    },
    Tool {
        name: "Prisma",
        by: By::Text,
        get: "SELECT GET_LOCK('NAME', 10000)",
        seconds: 10_000,
        release: None,
    },
    Tool {
        name: "Rails with a timeout",
        by: By::Text,
        get: "SELECT GET_LOCK('NAME', 10)",
        seconds: 10,
        release: Some("SELECT RELEASE_LOCK('NAME')"),
    },
    Tool {
        name: "with_advisory_lock",
        by: By::Text,
        get: "SELECT GET_LOCK('NAME', 10) AS t1234",
        seconds: 10,
        release: Some("SELECT RELEASE_LOCK('NAME') AS t1235"),
    },
    Tool {
        name: "a script of Django",
        by: By::Text,
        get: "SELECT GET_LOCK('NAME', 10) FROM DUAL",
        seconds: 10,
        release: Some("DO RELEASE_LOCK('NAME')"),
    },
    Tool {
        name: "an ORM that prepares",
        by: By::Prepared,
        get: "SELECT GET_LOCK('NAME', 10) LIMIT 1",
        seconds: 10,
        release: Some("SELECT RELEASE_LOCK('NAME') FROM DUAL LIMIT 1"),
    },
];

/// A value of a parameter.
enum Value<'a> {
    Text(&'a str),
    Number(i64),
}

/// Prepares a statement and sends its execution with these parameters.
fn send_execution(client: &mut Client, text: &str, values: &[Value<'_>]) {
    client.send(0x16, text.as_bytes());
    let prepared = client.answer_of(Shape::Prepare).unwrap();
    let mut payload = prepared.packets[0].1.payload[1..5].to_vec();
    payload.extend([0, 1, 0, 0, 0]);
    if !values.is_empty() {
        payload.extend([0, 1]);
        for value in values {
            payload.extend(match value {
                Value::Text(_) => [253, 0],
                Value::Number(_) => [8, 0],
            });
        }
        for value in values {
            match value {
                Value::Text(text) => {
                    payload.push(text.len() as u8);
                    payload.extend(text.as_bytes());
                }
                Value::Number(number) => payload.extend(number.to_le_bytes()),
            }
        }
    }
    client.send(0x17, &payload);
}

/// Sends a statement of a tool.
fn send(client: &mut Client, by: By, statement: &str, (name, seconds): (&str, i64)) {
    let text = statement.replace("NAME", name);
    let values = [Value::Text(name), Value::Number(seconds)];
    let count = text.matches('?').count();
    match by {
        By::Text => client.query(&text),
        By::Parameters | By::Prepared => send_execution(client, &text, &values[..count]),
    }
}

/// What the answer's row has, which is a whole number or NULL, in text and in binary.
fn got(client: &mut Client, by: By) -> Option<bool> {
    let answer = client.answer().unwrap();
    let Some((_, row)) = answer.packets.iter().find(|(part, _)| *part == Part::Row) else {
        panic!("{answer:?}");
    };
    match (by, &row.payload[..]) {
        (By::Text, [0xfb]) | (_, [0, 4]) => None,
        (By::Text, [1, digit]) => Some(*digit == b'1'),
        (_, [0, 0, digit, rest @ ..]) if rest.iter().all(|&byte| byte == 0) => Some(*digit == 1),
        _ => panic!("{row:?}"),
    }
}

fn waiting(door: &FrontDoor) -> u64 {
    door.metric("myriad_clients{state=\"for_lock\"}")
}

fn await_waiting(door: &FrontDoor, count: u64) {
    eventually("waiters", || (waiting(door) == count).then_some(()));
}

#[test]
fn eight_copies_of_each_tool_take_turns_at_four_backends() {
    let database = Database::shared();
    let settings = ["backend.max_connections = 4", "server.workers = 2"];
    let door = FrontDoor::start(database.address(), &settings);
    for tool in &TOOLS {
        let (inside, turns) = (AtomicBool::new(false), AtomicUsize::new(0));
        let name = tool.name.replace(' ', "-");
        let migrate = || {
            let mut client = Client::new(&door.address(), "shop");
            send(&mut client, tool.by, tool.get, (&name, tool.seconds));
            assert_eq!(got(&mut client, tool.by), Some(true), "{}", tool.name);
            assert!(
                !inside.swap(true, Ordering::SeqCst),
                "{}: two at once",
                tool.name
            );
            // What it migrates needs a second connection.
            let mut second = Client::new(&door.address(), "shop");
            assert_eq!(second.value("SELECT COUNT(*) FROM customer"), "200");
            assert_eq!(client.value("SELECT COUNT(*) FROM customer"), "200");
            turns.fetch_add(1, Ordering::SeqCst);
            inside.store(false, Ordering::SeqCst);
            if let Some(release) = tool.release {
                send(&mut client, tool.by, release, (&name, 0));
                let answer = client.answer().unwrap();
                assert!(
                    !matches!(answer.outcomes()[..], [Outcome::Err(..)]),
                    "{answer:?}"
                );
                assert_eq!(client.value("SELECT 1"), "1");
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(migrate);
            }
        });
        assert_eq!(turns.into_inner(), 8, "{}", tool.name);
        if tool.release.is_some() {
            let pinned = "myriad_pinned_sessions{reason=\"user_lock\"}";
            assert_eq!(door.metric(pinned), 0, "{}", tool.name);
        }
    }
    assert!(door.metric("myriad_lock_waits_total") > 0);
    assert_eq!(door.metric("myriad_pins_rejected_total"), 0);
}

/// As Rails has it by default: whoever does not get the lock gives up, with its own words.
#[test]
fn who_does_not_wait_is_told_at_once() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 4"]);
    let mut copies: Vec<_> = (0..8)
        .map(|_| Client::new(&door.address(), "shop"))
        .collect();
    for copy in &mut copies {
        copy.query("SELECT GET_LOCK('rails', 0)");
    }
    let got: Vec<_> = copies
        .iter_mut()
        .map(|copy| got(copy, By::Text).unwrap())
        .collect();
    assert_eq!(got.iter().filter(|&&got| got).count(), 1, "{got:?}");
    let holder = got.iter().position(|&got| got).unwrap();
    assert_eq!(copies[holder].value("SELECT RELEASE_LOCK('rails')"), "1");
    assert_eq!(copies[0].value("SELECT GET_LOCK('rails', 0)"), "1");
}

/// All packets of an answer to `statement` while somebody else holds the lock `told`.
fn answer_while_held(
    client: &mut Client,
    by: By,
    statement: &str,
    seconds: i64,
) -> (Answer, Duration) {
    let begun = Instant::now();
    send(client, by, statement, ("told", seconds));
    (client.answer().unwrap(), begun.elapsed())
}

#[test]
fn the_answer_is_the_servers_own_at_its_own_time() {
    let database = Database::shared();
    let settings = ["backend.max_connections = 3", "backend.restless = \"on\""];
    let door = FrontDoor::start(database.address(), &settings);
    let statements = [
        (By::Text, "SELECT GET_LOCK('NAME', 1)"),
        (By::Text, "select  get_lock ( 'NAME' , '1' )  FROM dual"),
        (
            By::Text,
            "/* app */ SELECT GET_LOCK('NAME', 1) AS `my lock` LIMIT 1 -- x",
        ),
        (By::Text, "SELECT GET_LOCK('NAME', 0)"),
        (By::Prepared, "SELECT GET_LOCK('NAME', 1)"),
        (By::Parameters, "SELECT GET_LOCK(?, ?) got"),
    ];
    for capabilities in [USUAL, USUAL - Capabilities::DEPRECATE_EOF] {
        let login = Login {
            capabilities,
            ..Login::to("shop")
        };
        let through = door.address();
        let database = database.address();
        // Behind the last holder, the server decides.
        let addresses = [
            (database, database),
            (&through, &through),
            (database, &through),
        ];
        let [direct, waits, asks] = addresses.map(|(holder, client)| {
            let mut holder = Client::login(holder, &login).unwrap();
            assert_eq!(holder.value("SELECT GET_LOCK('told', 0)"), "1");
            let client = Client::login(client, &login).unwrap();
            let answers = answers_of(client, &statements);
            assert_eq!(holder.value("SELECT RELEASE_LOCK('told')"), "1");
            answers
        });
        for (number, direct) in direct.iter().enumerate() {
            for through in [&waits[number], &asks[number]] {
                assert_eq!(direct.0, through.0, "{:?}", statements[number]);
                assert_eq!(direct.2, through.2, "{:?}", statements[number]);
            }
            for took in [direct.1, waits[number].1, asks[number].1] {
                let zero = statements[number].1.contains(", 0)");
                let least = Duration::from_millis(if zero { 0 } else { 950 });
                let most = Duration::from_millis(if zero { 500 } else { 1_900 });
                assert!(took >= least && took <= most, "{took:?}");
            }
        }
    }
    assert_eq!(door.metric("myriad_lock_waits_timed_out_total"), 10);
}

/// The answers to these, how long each took, and what the session says of it afterwards.
fn answers_of(
    mut client: Client,
    statements: &[(By, &str)],
) -> Vec<(Answer, Duration, Vec<Outcome>)> {
    let answer = |&(by, statement): &(By, &str)| {
        client.run("DO 1/0");
        let (answer, took) = answer_while_held(&mut client, by, statement, 1);
        let asked = client.run("SELECT ROW_COUNT(), FOUND_ROWS()");
        (answer, took, [asked, client.run("SHOW WARNINGS")].concat())
    };
    statements.iter().map(answer).collect()
}

#[test]
fn turns_go_in_order_over_workers_and_accounts() {
    let database = Database::shared();
    let settings = ["backend.max_connections = 3", "server.workers = 2"];
    let door = FrontDoor::start(database.address(), &settings);
    let mut holder = Client::new(&door.address(), "shop");
    assert_eq!(holder.value("SELECT GET_LOCK('turns', 0)"), "1");
    let mut waiters: Vec<Client> = (0..10)
        .map(|number| {
            let (user, password) = [("app", "secret"), ("admin", "all")][number % 2];
            let login = Login {
                user,
                password,
                ..Login::default()
            };
            let mut waiter = Client::login(&door.address(), &login).unwrap();
            waiter.query("SELECT GET_LOCK('turns', 20)");
            await_waiting(&door, number as u64 + 1);
            waiter
        })
        .collect();
    // They hold nothing meanwhile, and are listed.
    let queue = door.http("/api/queue");
    assert_eq!(
        queue.matches(r#""waits_for":"lock""#).count(),
        10,
        "{queue}"
    );
    let mut others = Client::new(&door.address(), "shop");
    assert_eq!(others.value("SELECT 1"), "1");
    // The third hangs up, and never runs.
    let statements = door.metric("myriad_statements_total");
    drop(waiters.remove(2));
    await_waiting(&door, 9);
    assert_eq!(holder.value("SELECT RELEASE_LOCK('turns')"), "1");
    for (number, waiter) in waiters.iter_mut().enumerate() {
        assert_eq!(got(waiter, By::Text), Some(true), "{number}");
        assert_eq!(waiting(&door), 8 - number as u64);
        match number % 3 {
            0 => drop(waiter.value("SELECT RELEASE_LOCK('turns')")),
            1 => drop(waiter.run("DO RELEASE_ALL_LOCKS()")),
            // COM_RESET_CONNECTION.
            _ => {
                waiter.send(0x1f, b"");
                waiter.answer().unwrap();
            }
        }
    }
    // One release of the holder's; of nine waiters nine statements, and six releases.
    let ran = door.metric("myriad_statements_total") - statements;
    assert_eq!(ran, 1 + 9 + 6);
}

#[test]
fn a_holder_that_hangs_up_is_followed_by_the_next() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 3"]);
    let mut holder = Client::new(&door.address(), "shop");
    assert_eq!(holder.value("SELECT GET_LOCK('left', 0)"), "1");
    let mut waiter = Client::new(&door.address(), "shop");
    waiter.query("SELECT GET_LOCK('left', 20)");
    await_waiting(&door, 1);
    drop(holder);
    assert_eq!(got(&mut waiter, By::Text), Some(true));
}

#[test]
fn who_waits_can_be_killed() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 3"]);
    let (mut told, mut conditions) = (Vec::new(), Vec::new());
    for (address, is_through) in [(database.address(), false), (&door.address(), true)] {
        let mut holder = Client::new(address, "shop");
        assert_eq!(holder.value("SELECT GET_LOCK('killed', 0)"), "1");
        let mut waiter = Client::new(address, "shop");
        waiter.run("DO 1/0");
        waiter.query("SELECT GET_LOCK('killed', 20)");
        match is_through {
            true => await_waiting(&door, 1),
            false => eventually("the statement in the process list", || {
                let list = database.execute("SHOW PROCESSLIST");
                list.contains("GET_LOCK('killed', 20)").then_some(())
            }),
        }
        holder.run(&format!("KILL QUERY {}", waiter.connection_id));
        told.push(waiter.answer().unwrap().outcomes());
        conditions.push(waiter.run("SHOW WARNINGS"));
        assert_eq!(waiter.value("SELECT 1"), "1");
        drop(holder.value("SELECT RELEASE_LOCK('killed')"));
    }
    assert_eq!(told[0], told[1]);
    let expected = match Server::is_mariadb() {
        true => Outcome::Rows(vec![vec!["NULL".to_owned()]]),
        false => Outcome::Err(1317, "Query execution was interrupted".to_owned()),
    };
    assert_eq!(told[0], [expected]);
    assert_eq!(conditions[0], conditions[1]);
}

#[test]
fn a_lock_that_is_held_elsewhere_is_the_servers_matter() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 8"]);
    let mut elsewhere = Client::new(database.address(), "shop");
    assert_eq!(elsewhere.value("SELECT GET_LOCK('elsewhere', 0)"), "1");
    let mut waiters: Vec<_> = (0..3)
        .map(|_| Client::new(&door.address(), "shop"))
        .collect();
    let begun = Instant::now();
    for waiter in &mut waiters {
        waiter.query("SELECT GET_LOCK('elsewhere', 1)");
    }
    for waiter in &mut waiters {
        assert_eq!(got(waiter, By::Text), Some(false));
    }
    let took = begun.elapsed();
    assert!(took < Duration::from_millis(1_900), "{took:?}");
    // All of them wait at the server, and one gets it.
    for waiter in &mut waiters {
        waiter.query("SELECT GET_LOCK('elsewhere', 10)");
    }
    eventually("three that wait at the server", || {
        let list = database.execute("SHOW PROCESSLIST");
        (list.matches("GET_LOCK('elsewhere', 10)").count() == 3).then_some(())
    });
    assert_eq!(elsewhere.value("SELECT RELEASE_LOCK('elsewhere')"), "1");
    let holders = waiters.iter_mut().map(|waiter| {
        let got = got(waiter, By::Text);
        waiter.run("SELECT RELEASE_LOCK('elsewhere')");
        got
    });
    drop(holders.collect::<Vec<_>>());
}

/// Names are compared as the server compares them.
#[test]
fn another_name_is_another_lock() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 6"]);
    let names = ["Name", "NAME", "name", "Name ", "n\u{e4}me", "N\u{c4}ME"];
    let [direct, through] = [database.address(), &door.address()].map(|address| {
        let [mut holder, mut other] = [(); 2].map(|()| Client::new(address, "shop"));
        assert_eq!(holder.value("SELECT GET_LOCK('Name', 0)"), "1");
        assert_eq!(holder.value("SELECT GET_LOCK('n\u{e4}me', 0)"), "1");
        let got = names.map(|name| {
            let got = other.value(&format!("SELECT GET_LOCK('{name}', 0)"));
            other.run(&format!("SELECT RELEASE_LOCK('{name}')"));
            got
        });
        holder.run("SELECT RELEASE_ALL_LOCKS()");
        got
    });
    assert_eq!(direct, through);
}
