//! Executions of prepared statements that are out of the ordinary: broken off, without a cursor after one, of many rows and
//! none to return.

use wire::{Capabilities, ExtendedCapabilities};

use crate::packets::shown;
use crate::support::{Client, Database, FrontDoor, Login, Server, Shape, USUAL};

const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;
const COM_STMT_FETCH: u8 = 0x1c;
const COM_STMT_BULK_EXECUTE: u8 = 0xfa;

/// COM_STMT_PREPARE of a text; its id.
fn prepared(client: &mut Client, text: &str) -> [u8; 4] {
    client.send(COM_STMT_PREPARE, text.as_bytes());
    let answer = client.answer_of(Shape::Prepare).unwrap();
    let (_, first) = &answer.packets[0];
    first.payload[1..5].try_into().unwrap()
}

/// COM_STMT_EXECUTE with these flags, and what stands behind the count of executions.
fn executed(client: &mut Client, id: [u8; 4], flags: u8, rest: &[u8]) -> Vec<String> {
    let head = [&id[..], &[flags, 1, 0, 0, 0]].concat();
    client.send(COM_STMT_EXECUTE, &[&head, rest].concat());
    shown(&client.answer().unwrap())
}

/// MariaDB ends the rows of such a DELETE before it has told any columns.
#[test]
fn a_delete_of_many_rows_that_returns_none_goes_on() {
    if !Server::is_mariadb() {
        return;
    }
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 2"]);
    let told = [database.address(), &door.address()].map(|address| {
        database.schema("executions");
        database.execute("CREATE TABLE executions.t (id INT PRIMARY KEY)");
        let login = Login {
            capabilities: (USUAL | Capabilities::CONNECT_WITH_DB) - Capabilities::LONG_PASSWORD,
            extended: ExtendedCapabilities::STMT_BULK_OPERATIONS,
            ..Login::to("executions")
        };
        let mut client = Client::login(address, &login).unwrap();
        let id = prepared(&mut client, "DELETE FROM t WHERE id = ? RETURNING id");
        // Of the type INT NULL, and then one that is not there.
        client.send(
            COM_STMT_BULK_EXECUTE,
            &[&id[..], &[128, 0, 3, 0, 1, 0, 99, 0, 0, 0]].concat(),
        );
        let first = client.receive().unwrap();
        let next = client.value("SELECT COUNT(*) FROM t");
        (first.payload, next)
    });
    assert_eq!(told[0].0[0], 0xfe);
    assert_eq!(told[1], told[0]);
}

/// A packet that ends before the types of its parameters tells none: those of the execution before are known still.
#[test]
fn types_of_parameters_outlive_a_broken_execution() {
    let database = Database::shared();
    let restless = ["backend.max_connections = 2", "backend.restless = \"on\""];
    let door = FrontDoor::start(database.address(), &restless);
    let number = |types: &[u8], value: i64| [types, &value.to_le_bytes()[..]].concat();
    for broken in [&b""[..], b"\0", b"\0\x01\x08"] {
        let told = [database.address(), &door.address()].map(|address| {
            let mut client = Client::new(address, "shop");
            let id = prepared(&mut client, "SELECT ?");
            let with_types = number(b"\0\x01\x08\0", 2);
            let without_types = number(b"\0\0", 1);
            [&with_types, broken, &without_types, &without_types]
                .map(|rest| executed(&mut client, id, 0, rest))
        });
        assert_eq!(told[1], told[0], "{broken:?}");
    }
}

/// MySQL 9.7 sends columns, and then OK in place of rows, if a statement had a cursor before.
#[test]
fn a_statement_that_had_a_cursor_sends_its_rows_without_one() {
    let database = Database::shared();
    for restless in ["off", "on"] {
        let restless = format!("backend.restless = \"{restless}\"");
        let settings = ["backend.max_connections = 2", &restless];
        let door = FrontDoor::start(database.address(), &settings);
        let mut client = Client::new(&door.address(), "shop");
        let mut other = Client::new(&door.address(), "shop");
        let text = "SELECT 1 UNION SELECT 2";
        let id = prepared(&mut client, text);
        let other_id = prepared(&mut other, text);
        for fetched in [0, 1, 5] {
            executed(&mut client, id, 1, b"");
            // The same text under another id has no cursor, and leaves that one open.
            let second = prepared(&mut client, text);
            executed(&mut client, second, 0, b"");
            if fetched > 0 {
                client.send(COM_STMT_FETCH, &[id, [fetched, 0, 0, 0]].concat());
                let rows = client.answer_of(Shape::Rows).unwrap();
                assert_eq!(rows.packets.len(), 1 + usize::from(fetched.min(2)));
            }
            for (client, id) in [(&mut client, id), (&mut other, other_id)] {
                let rows = executed(client, id, 0, b"");
                let rows = rows.iter().filter(|packet| packet.starts_with("Row "));
                assert_eq!(rows.count(), 2, "{fetched}, {restless}");
                assert_eq!(client.value("SELECT 5"), "5");
            }
        }
    }
}
