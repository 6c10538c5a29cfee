//! What clients can make the front door hold, and how compressed commands are answered.

use wire::{MAX_PAYLOAD, write_packet};

use crate::support::{
    Address, Client, Database, FrontDoor, Login, Outcome, PackedClient, Server, eventually, packed,
};

const MIB: u64 = 1 << 20;
/// A compressed packet has no more in it.
const ALL: usize = MAX_PAYLOAD;

fn query(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_packet(&mut bytes, 0, &[b"\x03", text.as_bytes()].concat());
    bytes
}

/// `SELECT LENGTH('aaa…')` whose payload has `len` bytes.
fn of_length(len: usize) -> Vec<u8> {
    let text = format!("SELECT LENGTH('{}')", "a".repeat(len - 18));
    assert_eq!(text.len() + 1, len);
    query(&text)
}

fn client(address: &Address) -> PackedClient {
    PackedClient::new(address, &Login::default())
}

#[test]
fn an_answer_begins_with_the_number_of_compressed_packets_that_its_command_came_in() {
    let database = Database::private();
    if !Server::is_mariadb() {
        database.execute("SET GLOBAL max_allowed_packet = 67108864");
    }
    let door = FrontDoor::start(database.address(), &[]);
    let begun = |address: &Address, command: &[u8], cut| {
        let mut client = client(address);
        client.send(&packed(command, cut, 0)).unwrap();
        let first = client.receive().expect("an answer");
        (first.sequence_id, first.first_within())
    };
    let mut ping = Vec::new();
    write_packet(&mut ping, 0, &[0x0e]);
    for (command, cut) in [
        (query("SELECT 1"), ALL),
        (query("SELECT 1"), 5),
        (query("DO 1"), 1),
        (query("no statement"), 4),
        (query("SHOW WARNINGS"), 4),
        (ping, 2),
        (of_length(100_000), 30_000),
        (of_length(MAX_PAYLOAD - 1), ALL),
        (of_length(MAX_PAYLOAD), ALL),
        (of_length(MAX_PAYLOAD + 100), ALL),
        (of_length(2 * MAX_PAYLOAD + 5), ALL),
    ] {
        let len = command.len();
        let direct = begun(database.address(), &command, cut);
        assert_eq!(direct.0, len.div_ceil(cut) as u8);
        let through = begun(&door.address(), &command, cut);
        assert_eq!(through, direct, "{len} bytes in pieces of {cut}");
    }
}

#[test]
fn of_compressed_packets_only_their_own_numbers_count() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &[]);
    let select = query("SELECT 1");
    let mut misnumbered = select.clone();
    misnumbered[3] = 5;
    let long = query(&format!("SELECT '{}'", "a".repeat(40_000)));
    let behind = [
        packed(&long[..20_000], ALL, 0),
        packed(&long[20_000..], ALL, 7),
    ]
    .concat();
    for (bytes, expected) in [
        (packed(&misnumbered, ALL, 0), None),
        (packed(&select, ALL, 5), Some(1156)),
        (behind, Some(1156)),
    ] {
        for address in [database.address(), &door.address()] {
            let mut client = client(address);
            client.send(&bytes).unwrap();
            let told = client.receive().expect("something is said");
            assert_eq!(told.error(), expected);
            // That is all: the connection is closed.
            if expected.is_some() {
                assert_eq!(client.receive(), None);
            }
        }
    }
    assert_eq!(
        door.metric("myriad_disconnects_total{reason=\"malformed\"}"),
        2
    );
}

#[test]
fn commands_that_never_end_take_what_there_is_for_commands_and_no_more() {
    let database = Database::shared();
    let settings = [
        "server.command_buffer_total = \"256MiB\"",
        "server.workers = 2",
    ];
    let door = FrontDoor::start(database.address(), &settings);
    // 48 MiB of a command that is longer, in less than 50 KiB.
    let mut endless = vec![0xff, 0xff, 0xff, 0, 0x03];
    endless.resize(4 + MAX_PAYLOAD, b'a');
    endless.extend_from_slice(&[0xff, 0xff, 0xff, 1]);
    endless.resize(2 * (4 + MAX_PAYLOAD), b'a');
    endless.extend_from_slice(&[0xff, 0xff, 0xff, 2]);
    endless.resize(3 * (4 + MAX_PAYLOAD) - 10, b'a');
    let packed = packed(&endless, ALL, 0);
    let before = door.memory("VmRSS");
    let clients: Vec<_> = (0..30)
        .map(|_| {
            let mut client = client(&door.address());
            client.send(&packed).unwrap();
            client
        })
        .collect();
    let deferred = || door.metric("myriad_clients_deferred");
    eventually("most of them to wait", || (deferred() >= 25).then_some(()));
    assert!(door.metric("myriad_command_buffer_bytes") <= 256 * MIB);
    // Whoever has another account does not notice.
    let login = Login {
        user: "admin",
        password: "all",
        ..Login::default()
    };
    let mut other = Client::login(&door.address(), &login).unwrap();
    for len in [10, 1 << 20, 20 << 20] {
        let told = other.run(&format!("SELECT LENGTH('{}')", "b".repeat(len)));
        assert_eq!(told, [Outcome::Rows(vec![vec![len.to_string()]])]);
    }
    let most = door.memory("VmHWM");
    assert!(
        most < before + (256 + 48) * MIB,
        "{} MiB",
        (most - before) / MIB
    );
    drop(clients);
    let taken = || door.metric("myriad_command_buffer_bytes");
    eventually("it to be given back", || (taken() == 0).then_some(()));
    assert_eq!(deferred(), 0);
}

#[test]
fn a_command_that_does_not_go_on_ends_its_connection() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &["server.client_read_timeout = \"1s\""]);
    let mut half = Client::new(&door.address(), "shop");
    half.send_bytes(&query("SELECT 1")[..8]);
    let error = half.receive().unwrap();
    assert!(
        error.payload.starts_with(b"\xff\x87\x04#08S01"),
        "{error:?}"
    );
    let mut compressed = client(&door.address());
    compressed
        .send(&packed(&query("SELECT 1"), 5, 0)[..20])
        .unwrap();
    assert_eq!(
        compressed.receive().expect("it is told").error(),
        Some(1159)
    );
    assert_eq!(compressed.receive(), None);
    let closed = "myriad_disconnects_total{reason=\"read_timeout\"}";
    assert_eq!(door.metric(closed), 2);
}
