//! Answers are, packet by packet, those of the database itself, whatever a client negotiated.
//!
//! What may differ stands in `docs/DIFFERENCES.md`: ids and nonces, the index flags and
//! with MySQL the warnings of the EOF packet between column definitions and rows, and how
//! session-track blocks are laid out.

use wire::{
    Capabilities, ExtendedCapabilities, HEADER_LEN, OkPacket, ServerStatus, StateChange,
    is_server_proof,
};

use crate::support::{
    Answer, Client, Database, FrontDoor, Login, Outcome, Packet, Part, Server, USUAL,
};

const COM_INIT_DB: u8 = 0x02;
const COM_QUERY: u8 = 0x03;
const COM_PING: u8 = 0x0e;
const COM_RESET_CONNECTION: u8 = 0x1f;

/// What a session begins with, and begins anew with.
const BEGINNING: &str = "SELECT DATABASE(), @@character_set_client, @@character_set_results, \
    @@collation_connection, @@sql_mode, @@foreign_key_checks, @@unique_checks, @x";

/// Index flags, which the EOF packet between column definitions and rows may lack.
pub(crate) const INDEX: ServerStatus =
    ServerStatus::NO_INDEX_USED.union(ServerStatus::NO_GOOD_INDEX_USED);

/// The flags there that are the subject of a test of their own, too.
pub(crate) const MAY_DIFFER: ServerStatus = INDEX
    .union(ServerStatus::MORE_RESULTS_EXISTS)
    .union(ServerStatus::IN_TRANS);

const SCRIPT: [&str; 45] = [
    "SELECT DATABASE()",
    "USE packets",
    "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, a VARCHAR(5), b DOUBLE, KEY (b))",
    "INSERT INTO t (a, b) VALUES ('one', 1), ('two', NULL), (NULL, 3e100)",
    "SELECT LAST_INSERT_ID()",
    "INSERT INTO t (id, a) VALUES (500, '')",
    "INSERT IGNORE INTO t (id, a) VALUES (500, 'x'), (501, 'much too long')",
    "UPDATE t SET b = 5 WHERE id > 2",
    "UPDATE t SET b = 5 WHERE id > 2",
    "SELECT * FROM t",
    "SELECT * FROM t WHERE a = 'two'",
    "SELECT * FROM t WHERE id = 1000",
    "SELECT NULL, '', 1, 1.5, 'ä€😀', NOW() > 0, CAST('12x' AS UNSIGNED)",
    "SELECT nothing FROM t",
    "SELECT * FROM nowhere",
    "THIS IS NO STATEMENT",
    "",
    ";",
    "SELECT 1; SELECT 2, 3; UPDATE t SET a = 'z' WHERE id = 1; SELECT a FROM t WHERE id = 1",
    "SELECT 1; SELECT nothing; SELECT 2",
    "DO 1",
    "SHOW TABLES",
    "SHOW COLUMNS FROM t",
    "EXPLAIN SELECT * FROM t",
    "ALTER TABLE t ADD c INT DEFAULT 7",
    "DELETE FROM t WHERE id = 2",
    "BEGIN",
    "INSERT INTO t (a) VALUES ('q')",
    "SELECT COUNT(*) FROM t",
    "SELECT nothing FROM t",
    "ROLLBACK",
    "SET autocommit = 0",
    "SELECT COUNT(*) FROM t",
    "COMMIT",
    "SET autocommit = 1",
    "START TRANSACTION READ ONLY; SELECT 1; COMMIT",
    "SET NAMES latin1",
    "SET NAMES utf8mb4 COLLATE utf8mb4_bin",
    "SET sql_mode = 'NO_BACKSLASH_ESCAPES', time_zone = '+01:00'",
    "SET sql_mode = DEFAULT",
    "USE shop",
    "USE nosuch",
    "USE packets",
    "CREATE PROCEDURE p() BEGIN SELECT 1; SELECT a FROM t; SELECT 3 FROM t WHERE id < 0; END",
    "CALL p()",
];

/// Everything that a connection is told, in a form that leaves out what may differ.
fn told(client: &mut Client, schema: &str, extra: &[String]) -> Vec<(String, Vec<String>)> {
    let mut told = vec![("login".to_owned(), vec![plain(Part::Ok, &client.welcome)])];
    let texts = SCRIPT
        .iter()
        .map(|text| text.replace("USE packets", &format!("USE {schema}")))
        .chain(extra.iter().cloned());
    let queries = texts.map(|text| (COM_QUERY, text));
    let others = [
        (COM_PING, ""),
        (COM_INIT_DB, "shop"),
        (COM_INIT_DB, "nosuch"),
        (COM_RESET_CONNECTION, ""),
        (COM_QUERY, BEGINNING),
        (COM_QUERY, "SET NAMES gbk, foreign_key_checks = 0, @x = 1"),
        (COM_RESET_CONNECTION, ""),
        (COM_QUERY, BEGINNING),
    ];
    let others = others
        .into_iter()
        .map(|(command, text)| (command, text.to_owned()));
    for (command, text) in queries.chain(others) {
        client.send(command, text.as_bytes());
        let answer = client.answer();
        let mut answer = answer.unwrap_or_else(|error| panic!("{text:.200}: {error}"));
        answer.ignore_after_columns(MAY_DIFFER);
        told.push((text, shown(&answer)));
    }
    told
}

pub(crate) fn shown(answer: &Answer) -> Vec<String> {
    answer
        .packets
        .iter()
        .map(|(part, packet)| plain(*part, packet))
        .collect()
}

/// A packet without what may differ.
pub(crate) fn plain(part: Part, packet: &Packet) -> String {
    let tracked = ServerStatus::SESSION_STATE_CHANGED;
    let is_end = matches!(part, Part::Ok | Part::RowsEnd);
    let differs = |ok: &OkPacket<'_>| ok.status.contains(tracked) || is_server_proof(ok.info);
    match OkPacket::parse(&packet.payload) {
        Ok(mut ok) if is_end && differs(&ok) => {
            if is_server_proof(ok.info) {
                // It is another one in each login, and without TLS the server alone tells it (docs/CORNERS.md).
                ok.info = b"";
            }
            let changes = ok.changes().filter(|change| !is_unasked(change));
            let mut changes: Vec<_> = changes.map(|change| Shown(change).to_string()).collect();
            changes.sort();
            ok.state_changes = b"";
            if changes.is_empty() {
                return format!("{part:?} {:?}", encoded(&ok, packet));
            }
            format!("{part:?} #{} {ok:?} {changes:?}", packet.sequence_id)
        }
        _ => format!("{part:?} {packet:?}"),
    }
}

/// MySQL tells the state of transactions that begin and end by statement although
/// `session_track_transaction_info` is off.
fn is_unasked(change: &StateChange<'_>) -> bool {
    matches!(change, StateChange::TransactionState(_)) && !Server::is_mariadb()
}

/// The packet as it is without session-track block.
fn encoded(ok: &OkPacket<'_>, packet: &Packet) -> Packet {
    let mut bytes = Vec::new();
    ok.encode(&mut bytes, packet.sequence_id, packet.payload[0]);
    Packet {
        payload: bytes.split_off(HEADER_LEN),
        ..packet.clone()
    }
}

struct Shown<'a>(StateChange<'a>);

impl std::fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            StateChange::SystemVariable { name, value } => {
                write!(f, "{}={}", name.escape_ascii(), value.escape_ascii())
            }
            StateChange::Schema(name) => write!(f, "USE {}", name.escape_ascii()),
            other => write!(f, "{other:?}"),
        }
    }
}

/// Compares a connection through the front door with a direct one.
fn assert_same(database: &Database, door: &FrontDoor, login: &Login<'_>, extra: &[String]) {
    database.schema(login.schema);
    let direct = told(
        &mut Client::login(database.address(), login).unwrap(),
        login.schema,
        extra,
    );
    database.schema(login.schema);
    let through = told(
        &mut Client::login(&door.address(), login).unwrap(),
        login.schema,
        extra,
    );
    for ((text, direct), (_, through)) in direct.iter().zip(&through) {
        let context = format!("{text:.200}\nwith {:?}", login.capabilities);
        for (direct, through) in direct.iter().zip(through) {
            assert_eq!(through, direct, "{context}");
        }
        assert_eq!(through.len(), direct.len(), "{context}");
    }
}

#[test]
fn each_combination_of_capabilities_gets_the_packets_of_the_database() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 2"]);
    let flags = [
        Capabilities::DEPRECATE_EOF,
        Capabilities::SESSION_TRACK,
        Capabilities::PLUGIN_AUTH_LENENC_DATA,
        Capabilities::CONNECT_WITH_DB,
    ];
    let base = flags.iter().fold(USUAL, |base, &flag| base - flag);
    let columns: Vec<_> = (0..300).map(|n| format!("{n} AS column_{n}")).collect();
    let extra = [format!("SELECT {}", columns.join(", "))];
    for combination in 0..16 {
        let chosen = flags
            .iter()
            .enumerate()
            .filter(|(bit, _)| combination >> bit & 1 == 1);
        let capabilities = chosen.fold(base, |all, (_, &flag)| all | flag);
        let schema = "packets";
        let login = Login {
            capabilities,
            schema,
            ..Login::default()
        };
        assert_same(&database, &door, &login, &extra);
    }
    let tracking = Capabilities::SESSION_TRACK | Capabilities::CONNECT_WITH_DB;
    let capabilities = (USUAL | tracking) - Capabilities::LONG_PASSWORD;
    let extended = ExtendedCapabilities::EXTENDED_METADATA;
    let login = Login {
        capabilities,
        extended,
        ..Login::to("packets")
    };
    assert_same(&database, &door, &login, &extra);
}

/// Such a client's `a.b` is a column of a table, or a table without a schema. What the front door asks
/// for itself on such a connection must not need a schema, either.
#[test]
fn a_client_that_names_no_schemas_is_served() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 2"]);
    let login = Login {
        capabilities: USUAL | Capabilities::NO_SCHEMA | Capabilities::CONNECT_WITH_DB,
        ..Login::to("no_names")
    };
    let extra = [
        "SELECT t.a, no_names.t.a FROM t",
        "SELECT a FROM no_names.t",
    ];
    if Server::is_mariadb() {
        assert_same(&database, &door, &login, &extra.map(str::to_owned));
    } else {
        // MySQL warns of the flag again and again (docs/DIFFERENCES.md).
        database.schema(login.schema);
        let mut client = Client::login(&door.address(), &login).unwrap();
        client.run("CREATE TABLE t (a INT)");
        assert_eq!(client.value("SELECT COUNT(t.a) FROM t"), "0");
    }
    assert_eq!(door.metric("myriad_backend_losses_total"), 0);
}

#[test]
fn large_result_sets_are_the_same() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &[]);
    for deprecate_eof in [Capabilities::empty(), Capabilities::DEPRECATE_EOF] {
        let capabilities =
            (USUAL - Capabilities::DEPRECATE_EOF) | deprecate_eof | Capabilities::CONNECT_WITH_DB;
        let login = Login {
            capabilities,
            ..Login::to("shop")
        };
        let mut direct = Client::login(database.address(), &login).unwrap();
        let mut through = Client::login(&door.address(), &login).unwrap();
        for text in [
            "SELECT seq, seq * 1.1, NULL, REPEAT('r', seq % 50) FROM shop.seq_1_to_70000",
            "SELECT seq FROM shop.seq_1_to_70000; SELECT REPEAT('x', 100000) FROM shop.seq_1_to_100; DO 1",
        ] {
            for client in [&mut direct, &mut through] {
                client.query(text);
            }
            let (mut direct, mut through) = (direct.answer().unwrap(), through.answer().unwrap());
            direct.ignore_after_columns(MAY_DIFFER);
            through.ignore_after_columns(MAY_DIFFER);
            // Not assert_eq: a difference would print megabytes.
            assert!(
                direct.packets.len() > 70_000 && direct.packets == through.packets,
                "{text}"
            );
        }
    }
}

#[test]
fn the_eof_packet_after_the_columns_has_the_flags_of_its_own_statement() {
    let database = Database::shared();
    database.schema("flags");
    database.execute("CREATE PROCEDURE flags.p() SELECT 1; CREATE TABLE flags.t (a INT); INSERT INTO flags.t VALUES (1)");
    let door = FrontDoor::start(database.address(), &[]);
    let capabilities = (USUAL - Capabilities::DEPRECATE_EOF) | Capabilities::CONNECT_WITH_DB;
    let login = Login {
        capabilities,
        ..Login::to("flags")
    };
    let addresses = [database.address().clone(), door.address()];
    let mut clients = addresses.map(|address| Client::login(&address, &login).unwrap());
    let mut different = Vec::new();
    for text in [
        "SELECT 1; SELECT 2; SELECT 3",
        "SELECT 1; DO 1; SELECT 3; DO 2",
        "CALL p()",
        "SET autocommit = 0",
        "SELECT a FROM t",
        "COMMIT; SELECT a FROM t",
        "COMMIT",
        "CHECKSUM TABLE t",
        "CHECKSUM TABLE t",
    ] {
        let answers = clients.each_mut().map(|client| {
            client.query(text);
            let mut answer = client.answer().unwrap();
            answer.ignore_after_columns(INDEX);
            shown(&answer)
        });
        if answers[0] != answers[1] {
            different.push((text, answers));
        }
    }
    assert!(different.is_empty(), "{different:#?}");
}

#[test]
fn commands_sent_ahead_are_answered_in_order() {
    let database = Database::shared();
    database.schema("ahead");
    database.execute("CREATE TABLE ahead.t (a INT)");
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 1"]);
    let mut client = Client::new(&door.address(), "ahead");
    for number in 0..500 {
        match number % 5 {
            0 => client.query(&format!("INSERT INTO t VALUES ({number})")),
            1 => client.send(COM_PING, b""),
            2 => client.send(
                COM_INIT_DB,
                if number % 2 == 0 { b"shop" } else { b"ahead" },
            ),
            _ => client.query(&format!("SELECT {number}, COUNT(*) FROM ahead.t")),
        }
        if number % 5 == 2 {
            client.query("USE ahead");
        }
    }
    for number in 0..500 {
        let outcomes = client.answer().unwrap().outcomes();
        match (number % 5, &outcomes[..]) {
            (0..=2, [Outcome::Ok(_)]) => {}
            (3 | 4, [Outcome::Rows(rows)]) => {
                let inserted = number / 5 + 1;
                assert_eq!(rows[0], [number.to_string(), inserted.to_string()]);
            }
            other => panic!("{number}: {other:?}"),
        }
        if number % 5 == 2 {
            client.answer().unwrap();
        }
    }
}
