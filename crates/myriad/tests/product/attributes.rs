//! Query attributes of MySQL: what a client sends with its statements arrives, and what it does not send costs
//! nothing of what it says.

use wire::{Capabilities, InitialHandshake};

use crate::support::{Address, Answer, Client, Database, FrontDoor, Login, Server, Shape, USUAL};

const COM_QUERY: u8 = 0x03;
const COM_PREPARE: u8 = 0x16;
const COM_EXECUTE: u8 = 0x17;

/// Says what the attribute `n` is.
const ASK: &str = "SELECT mysql_query_attribute_string('n')";

/// An attribute `n` with a text as its value.
fn named_n(value: &str) -> Vec<u8> {
    let begin = b"\x01\x01\x00\x01\xfd\x00\x01n";
    [begin, &[value.len() as u8][..], value.as_bytes()].concat()
}

/// One client that negotiates attributes.
struct Session {
    client: Client,
    prepared: [u8; 4],
}

impl Session {
    fn begin(address: &Address, schema: &str) -> Self {
        let login = Login {
            capabilities: USUAL | Capabilities::CONNECT_WITH_DB | Capabilities::QUERY_ATTRIBUTES,
            ..Login::to(schema)
        };
        Self {
            client: Client::login(address, &login).unwrap(),
            prepared: [0; 4],
        }
    }

    fn text(&mut self, attributes: &[u8], sql: &str) -> Answer {
        let argument = [attributes, sql.as_bytes()].concat();
        self.client.send(COM_QUERY, &argument);
        self.client.answer().unwrap()
    }

    fn prepare(&mut self, sql: &str) {
        self.client.send(COM_PREPARE, sql.as_bytes());
        let answer = self.client.answer_of(Shape::Prepare).unwrap();
        let id = &answer.packets[0].1.payload[1..5];
        self.prepared.copy_from_slice(id);
    }

    /// Executes with everything behind the number of iterations given.
    fn execute(&mut self, rest: &[u8]) -> Answer {
        let argument = [&self.prepared[..], &[8, 1, 0, 0, 0], rest].concat();
        self.client.send(COM_EXECUTE, &argument);
        self.client.answer().unwrap()
    }
}

/// What sessions that share a backend are told. Two of them take turns, the second with other values.
fn told(address: &Address, schema: &str) -> Vec<Answer> {
    let mut sessions = [(); 2].map(|()| Session::begin(address, schema));
    let mut told = Vec::new();
    let none = b"\x00\x01";
    let texts: &[(&[u8], &str)] = &[
        (none, ASK),
        (&named_n("one"), ASK),
        (none, "SET @a = 1, @@sql_select_limit = 2"),
        (
            none,
            "CREATE TABLE IF NOT EXISTS t (id INT PRIMARY KEY AUTO_INCREMENT, a TEXT)",
        ),
        (
            &named_n("two"),
            "INSERT INTO t (a) VALUES (mysql_query_attribute_string('n'))",
        ),
        (
            &named_n("three"),
            "SELECT LAST_INSERT_ID() > 0, mysql_query_attribute_string('n')",
        ),
        (none, "SELECT ROW_COUNT()"),
        (
            &named_n("four"),
            "SELECT FOUND_ROWS(), mysql_query_attribute_string('n'), @a",
        ),
        (none, "SELECT 1 / 0"),
        (&named_n("x"), "SHOW WARNINGS"),
        (none, "SELECT @@warning_count"),
        (b"\x00\x02", "SELECT 1"),
        (b"\x01\x01\x00\x01\xfd", ""),
        (none, "SELECT 'still here', DATABASE()"),
        (none, ""),
    ];
    for (attributes, sql) in texts {
        for session in &mut sessions {
            told.push(session.text(attributes, sql));
        }
    }
    for session in &mut sessions {
        // They pin in between.
        for (attributes, sql) in [
            (
                &none[..],
                "PREPARE p FROM 'SELECT mysql_query_attribute_string(\"n\")'",
            ),
            (&named_n("five"), "EXECUTE p"),
            (none, "DEALLOCATE PREPARE p"),
        ] {
            told.push(session.text(attributes, sql));
        }
    }
    let executions: [&[u8]; 6] = [
        b"\x01\x00\x01\xfd\x00\x00\x03abb",
        b"\x01\x00\x00\x03abc",
        b"\x02\x00\x01\xfd\x00\x00\xfd\x00\x01n\x03abc\x03val",
        b"\x01\x00\x00\x03abd",
        b"\x02\x00\x00\x03abd\x03vam",
        b"\x01\x01\x00",
    ];
    for session in &mut sessions {
        session.prepare("SELECT CONCAT(?, '-'), mysql_query_attribute_string('n')");
    }
    for rest in executions {
        for session in &mut sessions {
            told.push(session.execute(rest));
        }
    }
    for session in &mut sessions {
        session.prepare(ASK);
        told.push(session.execute(b"\x01\x00\x01\xfd\x00\x01n\x03val"));
        told.push(session.execute(b"\x00"));
    }
    told
}

#[test]
fn attributes_arrive_whoever_had_the_backend_before() {
    if Server::is_mariadb() {
        return;
    }
    let database = Database::shared();
    database.schema("attributes");
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 1"]);
    let direct = told(database.address(), "attributes");
    database.execute("DROP TABLE attributes.t");
    let through = told(&door.address(), "attributes");
    assert_eq!(direct.len(), through.len());
    for (place, (through, direct)) in through.iter().zip(&direct).enumerate() {
        assert_eq!(through, direct, "answer {place}");
    }
    assert_eq!(
        door.metric("myriad_pins_total{reason=\"unknown_function\"}"),
        0
    );
    assert_eq!(door.metric("myriad_backend_losses_total"), 0);
}

#[test]
fn attributes_are_offered_where_the_server_offers_them() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &[]);
    // The first client sees what a backend has told.
    drop(Client::new(&door.address(), ""));
    let offered = |address: &Address| {
        let (_, handshake) = Client::connect(address).unwrap();
        let handshake = InitialHandshake::parse(&handshake).unwrap();
        handshake.capabilities & Capabilities::QUERY_ATTRIBUTES
    };
    assert_eq!(offered(&door.address()), offered(database.address()));
}

#[test]
fn clients_with_and_without_attributes_live_beside_each_other() {
    if Server::is_mariadb() {
        return;
    }
    let database = Database::shared();
    database.schema("attributes_beside");
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 1"]);
    let mut with = Session::begin(&door.address(), "attributes_beside");
    let mut without = Client::new(&door.address(), "attributes_beside");
    for value in ["one", "two", "three"] {
        let answer = with.text(&named_n(value), ASK);
        let row = &answer.packets[answer.packets.len() - 2].1.payload;
        assert_eq!(row[1..], *value.as_bytes());
        assert_eq!(
            without.value("SELECT mysql_query_attribute_string('n') IS NULL"),
            "1"
        );
    }
}
