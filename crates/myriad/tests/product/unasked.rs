//! A database that sends packets that no command has asked for: no client is told any of them, and each costs the one
//! connection that it came on.

use wire::{OkPacket, write_packet};

use crate::support::{Client, Database, FrontDoor, Outcome, Puppet, eventually};

const UNASKED: &str = "myriad_backend_unasked_packets_total";

/// An OK packet as the answer to a command has it.
fn stray() -> Vec<u8> {
    let mut bytes = Vec::new();
    OkPacket::default().encode(&mut bytes, 1, 0x00);
    bytes
}

/// A puppet before a database, and a front door with one connection to it.
fn stage(database: &Database) -> (Puppet, FrontDoor) {
    let puppet = Puppet::before(database.address());
    let door = FrontDoor::start(puppet.address(), &["backend.max_connections = 1"]);
    (puppet, door)
}

fn counted(door: &FrontDoor, packets: u64) {
    eventually("a connection closed for what it said", || {
        (door.metric(UNASKED) == packets).then_some(())
    });
    let line = "backend sent a packet that no command had asked for; connection closed";
    eventually("a line in the log", || {
        (door.log().matches(line).count() as u64 == packets).then_some(())
    });
}

#[test]
fn what_comes_while_a_backend_is_idle_is_no_answer() {
    let database = Database::shared();
    let (puppet, door) = stage(&database);
    let mut client = Client::new(&door.address(), "shop");
    for packets in 1..=3 {
        assert_eq!(client.value("SELECT 'mine'"), "mine");
        assert!(puppet.say(&stray()) > 0);
        counted(&door, packets);
        assert!(
            door.log().contains("first=\"07 00 00 01 00\""),
            "{}",
            door.log()
        );
    }
    assert_eq!(client.value("SELECT 'mine still'"), "mine still");
}

#[test]
fn what_comes_behind_an_answer_is_not_that_of_the_next_command() {
    let database = Database::shared();
    let (puppet, door) = stage(&database);
    let mut client = Client::new(&door.address(), "shop");
    assert_eq!(client.value("SELECT 'warm'"), "warm");
    let mut both = Vec::new();
    for text in ["SELECT 'first'", "SELECT 'second'"] {
        write_packet(&mut both, 0, &[b"\x03", text.as_bytes()].concat());
    }
    puppet.say_behind_next(&stray());
    client.send_bytes(&both);
    for expected in ["first", "second"] {
        let [Outcome::Rows(rows)] = &client.answer().unwrap().outcomes()[..] else {
            panic!("no rows for {expected}");
        };
        assert_eq!(rows[0][0], expected);
    }
    counted(&door, 1);
}

#[test]
fn a_transaction_is_lost_with_its_backend_and_told_so() {
    let database = Database::shared();
    let (puppet, door) = stage(&database);
    let mut client = Client::new(&door.address(), "shop");
    client.run("BEGIN");
    assert_eq!(client.value("SELECT 'within'"), "within");
    assert!(puppet.say(&stray()) > 0);
    counted(&door, 1);
    let lost = client.try_run("SELECT 'mine'");
    let told = matches!(&lost, Ok(outcomes) if matches!(outcomes[..], [Outcome::Err(1053, _)]));
    assert!(told || lost.is_err(), "{lost:?}");
    let mut other = Client::new(&door.address(), "shop");
    assert_eq!(other.value("SELECT 'other'"), "other");
}
