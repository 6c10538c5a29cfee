//! Clients that do not do what clients do: unknown commands, bytes that come one by one, garbage.

use wire::write_packet;

use crate::support::{Address, Client, Database, FrontDoor, Login, Outcome};

const COM_PING: u8 = 0x0e;
const COM_QUERY: u8 = 0x03;

/// Nobody has ever spoken these, or does any more.
const UNKNOWN: [u8; 12] = [
    0x00, 0x05, 0x06, 0x0b, 0x0f, 0x10, 0x14, 0x1d, 0x21, 0x7f, 0xfe, 0xff,
];

/// COM_SHUTDOWN, COM_BINLOG_DUMP, COM_TABLE_DUMP, COM_REGISTER_SLAVE, COM_BINLOG_DUMP_GTID, COM_CLONE.
const REFUSED: [u8; 6] = [0x08, 0x12, 0x13, 0x15, 0x1e, 0x20];

#[test]
fn commands_that_are_not_supported_get_an_err_and_the_connection_goes_on() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 1"]);
    let mut client = Client::new(&door.address(), "shop");
    let unknown = [Outcome::Err(1047, "Unknown command".into())];
    for command in UNKNOWN.into_iter().chain(REFUSED) {
        for argument in [&b""[..], b"SELECT 1", &[0xff; 300]] {
            client.send(command, argument);
            let told = client.answer().unwrap().outcomes();
            match REFUSED.contains(&command) {
                true => assert!(matches!(told[..], [Outcome::Err(1235, _)]), "{command:#x}"),
                false => assert_eq!(told, unknown, "{command:#x}"),
            }
        }
        assert_eq!(
            client.value("SELECT COUNT(*) FROM product"),
            "40",
            "{command:#x}"
        );
    }
    // A command without even its first byte.
    client.send_bytes(&[0, 0, 0, 0]);
    assert_eq!(client.answer().unwrap().outcomes(), unknown);
    // Within a transaction, which must survive it.
    client.run("BEGIN");
    client.run("UPDATE product SET stock = stock + 1 WHERE id = 1");
    client.send(0x05, b"SELECT 1");
    assert_eq!(client.answer().unwrap().outcomes(), unknown);
    assert!(matches!(client.run("ROLLBACK")[..], [Outcome::Ok(_)]));
}

/// Returns once everything that was sent to a front door with one worker before was read there: the
/// worker serves its connections one after the other.
fn barrier(other: &mut Client) {
    other.send(COM_PING, b"");
    other.answer().unwrap();
}

#[test]
fn commands_may_be_cut_at_any_byte() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &["server.workers = 1"]);
    let mut script = Vec::new();
    let texts: [&[u8]; 5] = [
        b"\x03SELECT 'a'",
        b"\x0e",
        b"\x02shop",
        b"\x03SELECT DATABASE(); DO 1",
        b"\x03SELEC",
    ];
    for payload in texts {
        write_packet(&mut script, 0, payload);
    }
    for address in [door.address(), Address::Tcp(door.tcp())] {
        let mut other = Client::new(&address, "");
        let mut expected = None;
        for cut in 0..=script.len() {
            let mut client = Client::new(&address, "sbtest");
            client.send_bytes(&script[..cut]);
            barrier(&mut other);
            client.send_bytes(&script[cut..]);
            let answers: Vec<_> = texts.iter().map(|_| client.answer().unwrap()).collect();
            assert_eq!(
                answers,
                *expected.get_or_insert_with(|| answers.clone()),
                "cut at {cut}"
            );
        }
        let mut client = Client::new(&address, "sbtest");
        for byte in &script {
            client.send_bytes(std::slice::from_ref(byte));
            barrier(&mut other);
        }
        let answers: Vec<_> = texts.iter().map(|_| client.answer().unwrap()).collect();
        assert_eq!(Some(answers), expected);
    }
}

#[test]
fn a_handshake_response_may_be_cut_at_any_byte() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &["server.workers = 1"]);
    let mut other = Client::new(&door.address(), "");
    for cut in 1.. {
        let (mut client, handshake) = Client::connect(&door.address()).unwrap();
        let response = client.response(&handshake, &Login::to("shop"));
        if cut == response.len() {
            return;
        }
        client.send_bytes(&response[..cut]);
        barrier(&mut other);
        client.send_bytes(&response[cut..]);
        client.finish_login("secret").unwrap().unwrap();
        assert_eq!(client.value("SELECT DATABASE()"), "shop", "cut at {cut}");
    }
}

#[test]
fn garbage_in_the_connection_phase_closes_that_connection_only() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &["server.login_timeout = \"500ms\""]);
    let mut good = Client::new(&door.address(), "shop");
    let mut zeros = vec![100, 0, 0, 1];
    zeros.resize(104, 0);
    let huge = [0xff, 0xff, 0xff, 1].repeat(100);
    let garbage: [&[u8]; 7] = [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        &zeros,
        &huge,
        &[0xff; 4096],
        // An empty packet; then a packet that never becomes complete.
        &[0, 0, 0, 1],
        &[50, 0, 0, 1, 0x85],
    ];
    for bytes in garbage {
        for address in [door.address(), Address::Tcp(door.tcp())] {
            let (mut client, _) = Client::connect(&address).unwrap();
            client.send_what_goes(bytes);
            let told = client.rest();
            // Either nothing is said, or ERR 1043.
            let said = told.is_empty() || told[4..7] == [0xff, 0x13, 0x04];
            assert!(said, "{} -> {}", bytes.escape_ascii(), told.escape_ascii());
        }
        assert_eq!(good.value("SELECT 1"), "1");
    }
}

#[test]
fn a_wrong_sequence_id_is_told_and_closes() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &[]);
    let mut good = Client::new(&door.address(), "shop");
    for sequence_id in [1, 2, 255] {
        let mut client = Client::new(&door.address(), "shop");
        assert_eq!(client.value("SELECT 1"), "1");
        let mut bytes = Vec::new();
        write_packet(
            &mut bytes,
            sequence_id,
            &[&[COM_QUERY], &b"SELECT 2"[..]].concat(),
        );
        client.send_bytes(&bytes);
        let text = "Got packets out of order".to_owned();
        assert_eq!(
            client.answer().unwrap().outcomes(),
            [Outcome::Err(1156, text)]
        );
        assert_eq!(client.rest(), b"");
        let (mut client, handshake) = Client::connect(&door.address()).unwrap();
        let mut response = client.response(&handshake, &Login::default());
        response[3] = sequence_id.wrapping_add(1);
        client.send_bytes(&response);
        let Err(Outcome::Err(code, _)) = client.finish_login("secret").unwrap() else {
            panic!("logged in with packet {sequence_id} in the place of packet 1");
        };
        assert_eq!(code, 1043);
        assert_eq!(client.rest(), b"");
        assert_eq!(good.value("SELECT 3"), "3");
    }
}
