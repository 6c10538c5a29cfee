//! Statements and rows longer than one packet can be.

use wire::{Capabilities, MAX_PAYLOAD, ServerStatus};

use crate::support::{Client, Database, FrontDoor, Login, Outcome, USUAL};

const COM_QUERY: u8 = 0x03;

/// A statement whose command has a payload of exactly `len` bytes, and the value that it selects.
fn statement(len: usize) -> (String, usize) {
    let (front, back) = ("SELECT LENGTH('", "')");
    let filling = len - 1 - front.len() - back.len();
    (format!("{front}{}{back}", "x".repeat(filling)), filling)
}

#[test]
fn statements_around_the_length_of_a_packet_run() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 1"]);
    let mut direct = Client::new(database.address(), "shop");
    let mut through = Client::new(&door.address(), "shop");
    let around = [
        MAX_PAYLOAD - 1,
        MAX_PAYLOAD,
        MAX_PAYLOAD + 1,
        17 << 20,
        2 * MAX_PAYLOAD,
    ];
    for len in around {
        let (text, value) = statement(len);
        for client in [&mut direct, &mut through] {
            client.query(&text);
        }
        let answer = through.answer().unwrap();
        assert_eq!(
            answer.outcomes(),
            [Outcome::Rows(vec![vec![value.to_string()]])],
            "{len}"
        );
        let direct = direct.answer().unwrap().packets;
        let header = |packets: &[(_, crate::support::Packet)]| -> Vec<_> {
            packets
                .iter()
                .map(|(_, packet)| packet.sequence_id)
                .collect()
        };
        assert_eq!(header(&answer.packets), header(&direct), "{len}");
        assert_eq!(through.value("SELECT 'next'"), "next", "{len}");
    }
}

#[test]
fn rows_around_the_length_of_a_packet_arrive() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &[]);
    for deprecate_eof in [Capabilities::empty(), Capabilities::DEPRECATE_EOF] {
        let capabilities = (USUAL - Capabilities::DEPRECATE_EOF) | deprecate_eof;
        let login = Login {
            capabilities,
            ..Login::default()
        };
        let mut direct = Client::login(database.address(), &login).unwrap();
        let mut through = Client::login(&door.address(), &login).unwrap();
        // Four bytes of the payload are the length of the column.
        for len in [
            MAX_PAYLOAD - 5,
            MAX_PAYLOAD - 4,
            MAX_PAYLOAD - 3,
            MAX_PAYLOAD + 1,
            20 << 20,
        ] {
            let text = format!("SELECT REPEAT('y', {len}) UNION ALL SELECT 'short'; SELECT 2");
            for client in [&mut direct, &mut through] {
                client.query(&text);
            }
            let (mut direct, mut through) = (direct.answer().unwrap(), through.answer().unwrap());
            direct.ignore_after_columns(ServerStatus::MORE_RESULTS_EXISTS);
            through.ignore_after_columns(ServerStatus::MORE_RESULTS_EXISTS);
            // Not assert_eq: a difference would print megabytes.
            assert!(
                through.packets == direct.packets,
                "{len} with {capabilities:?}"
            );
            let Outcome::Rows(rows) = &through.outcomes()[0] else {
                panic!("no rows")
            };
            assert_eq!((rows[0][0].len(), rows[1][0].as_str()), (len, "short"));
        }
    }
}

#[test]
fn a_command_above_max_allowed_packet_is_refused_and_never_runs() {
    let database = Database::shared();
    database.schema("too_long");
    database.execute("CREATE TABLE too_long.t (a LONGTEXT)");
    let settings = [
        "server.max_allowed_packet = \"1MiB\"",
        "backend.max_connections = 1",
    ];
    let door = FrontDoor::start(database.address(), &settings);
    let insert = |len: usize| {
        let filling = len - "?INSERT INTO t VALUES ('')".len();
        format!("INSERT INTO t VALUES ('{}')", "z".repeat(filling))
    };
    let mut client = Client::new(&door.address(), "too_long");
    assert!(matches!(client.run(&insert(1 << 20))[..], [Outcome::Ok(_)]));
    for len in [(1 << 20) + 1000, 3 << 20, 20 << 20] {
        let mut client = Client::new(&door.address(), "too_long");
        let mut bytes = Vec::new();
        let text = insert(len);
        wire::write_packet(&mut bytes, 0, &[&[COM_QUERY], text.as_bytes()].concat());
        client.send_what_goes(&bytes);
        let text = "Got a packet bigger than 'max_allowed_packet' bytes".to_owned();
        assert_eq!(
            client.answer().unwrap().outcomes(),
            [Outcome::Err(1153, text)],
            "{len}"
        );
        assert_eq!(client.rest(), b"", "{len}");
    }
    assert_eq!(client.value("SELECT COUNT(*) FROM t"), "1");
}

/// What is refused without a backend is answered behind all packets of the command.
#[test]
fn an_error_about_a_long_command_stands_behind_its_packets() {
    const UNKNOWN: u8 = 0x50;
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &[]);
    let mut direct = Client::new(database.address(), "shop");
    let mut through = Client::new(&door.address(), "shop");
    for len in [
        0,
        MAX_PAYLOAD - 2,
        MAX_PAYLOAD - 1,
        17 << 20,
        2 * MAX_PAYLOAD,
    ] {
        let argument = vec![b'x'; len];
        let [expected, told] = [&mut direct, &mut through].map(|client| {
            client.send(UNKNOWN, &argument);
            client.receive().unwrap()
        });
        assert_eq!(told.sequence_id, expected.sequence_id, "{len}");
        assert_eq!(told.payload, expected.payload, "{len}");
        assert_eq!(through.value("SELECT 'next'"), "next", "{len}");
    }
}

/// The server has read enough of such a command before it has read all of it, and answers in its middle.
#[test]
fn a_command_that_is_too_long_for_the_server_is_refused_in_its_words() {
    let database = Database::private();
    database.execute("SET GLOBAL max_allowed_packet = 16777216");
    let settings = ["server.max_allowed_packet = \"64MiB\""];
    let door = FrontDoor::start(database.address(), &settings);
    for len in [17_000_000, 34_000_000, 52_000_000] {
        let mut client = Client::new(&door.address(), "shop");
        client.query(&format!("SELECT LENGTH('{}')", "z".repeat(len)));
        let answer = client.answer().unwrap();
        let text = "Got a packet bigger than 'max_allowed_packet' bytes".to_owned();
        let ids: Vec<_> = answer
            .packets
            .iter()
            .map(|(_, packet)| packet.sequence_id)
            .collect();
        assert_eq!(
            (answer.outcomes(), ids),
            (vec![Outcome::Err(1153, text)], vec![2]),
            "{len}"
        );
    }
}
