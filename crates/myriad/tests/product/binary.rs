//! Prepared statements of the binary protocol, LOAD DATA LOCAL and the lesser commands: packet by
//! packet what the database itself says.

use wire::{Capabilities, ExtendedCapabilities, write_packet};

use crate::support::{Address, Client, Database, FrontDoor, Login, Packet, Server, USUAL};

const COM_QUERY: u8 = 0x03;
const COM_FIELD_LIST: u8 = 0x04;
const COM_STATISTICS: u8 = 0x09;
const COM_PROCESS_INFO: u8 = 0x0a;
const COM_PREPARE: u8 = 0x16;
const COM_EXECUTE: u8 = 0x17;
const COM_LONG_DATA: u8 = 0x18;
const COM_CLOSE: u8 = 0x19;
const COM_RESET: u8 = 0x1a;
const COM_SET_OPTION: u8 = 0x1b;
const COM_FETCH: u8 = 0x1c;
const COM_BULK_EXECUTE: u8 = 0xfa;

/// Stands for the statement prepared last.
const LAST: [u8; 4] = [0xff; 4];

/// What is asked behind each command: where its answer begins, that of the command is over.
const MARK: &str = "SELECT 'end of the answer'";

const CURSOR: u8 = 1;

/// One step of a client's life.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step<'a> {
    Text(&'a str),
    Prepare(&'a str),
    /// Of the statement that was prepared last: flags, and parameters that are 64-bit integers.
    Execute(u8, &'a [i64]),
    /// The same with everything behind the flags and the iterations given.
    ExecuteRaw(&'a [u8]),
    /// The parameters' values came as long data.
    ExecuteLong,
    /// For the first parameter.
    LongData(&'a [u8]),
    /// For the one with this number, from 0.
    LongDataOf(u16, &'a [u8]),
    Fetch(u32),
    Reset,
    Close,
    Command(u8, &'a [u8]),
}

use Step::{
    Close, Command, Execute, ExecuteLong, ExecuteRaw, Fetch, LongData, LongDataOf, Prepare, Reset,
    Text,
};

/// A client that keeps the id of the statement it prepared last.
pub(crate) struct Life {
    pub(crate) client: Client,
    id: [u8; 4],
}

impl Life {
    pub(crate) fn begin(address: &Address, schema: &str, capabilities: Capabilities) -> Self {
        let login = Login {
            capabilities: capabilities | Capabilities::CONNECT_WITH_DB,
            ..Login::to(schema)
        };
        Self::of(Client::login(address, &login).unwrap())
    }

    /// That of a client that is logged in.
    pub(crate) fn of(client: Client) -> Self {
        Self { client, id: [0; 4] }
    }

    /// Executes the statement without parameters, and waits for nothing.
    pub(crate) fn begin_execution(&mut self) {
        let execution = [&self.id[..], &execute(0, &[])].concat();
        self.client.send(COM_EXECUTE, &execution);
    }

    /// Goes on with another statement, which was answered with this id.
    pub(crate) fn name(&mut self, id: u32) {
        self.id = id.to_le_bytes();
    }

    /// What a step is answered with: nothing, or packets.
    pub(crate) fn step(&mut self, step: Step<'_>) -> Vec<Packet> {
        let named = |bytes: &[u8]| [&self.id[..], bytes].concat();
        let (command, argument) = match step {
            Text(sql) => (COM_QUERY, sql.as_bytes().to_vec()),
            Prepare(sql) => (COM_PREPARE, sql.as_bytes().to_vec()),
            Execute(flags, values) => (COM_EXECUTE, named(&execute(flags, values))),
            ExecuteRaw(bytes) => {
                let bytes = [&[0, 1, 0, 0, 0], bytes].concat();
                (COM_EXECUTE, named(&bytes))
            }
            ExecuteLong => (COM_EXECUTE, named(&[0, 1, 0, 0, 0, 0, 1, 0xfc, 0])),
            LongData(bytes) => return self.step(LongDataOf(0, bytes)),
            LongDataOf(number, bytes) => {
                let bytes = [&number.to_le_bytes(), bytes].concat();
                (COM_LONG_DATA, named(&bytes))
            }
            Fetch(rows) => (COM_FETCH, named(&rows.to_le_bytes())),
            Reset => (COM_RESET, named(b"")),
            Close => (COM_CLOSE, named(b"")),
            Command(command, argument) => (command, argument.to_vec()),
        };
        self.client.send(command, &argument);
        let mut packets = self.until_mark();
        // Ids are the backend's: what is told of an unknown one depends on what ran there before.
        let id = format!("({})", u32::from_le_bytes(self.id));
        packets
            .iter_mut()
            .for_each(|packet| packet.replace(&id, "(id)"));
        if let (Prepare(_), Some(first)) = (step, packets.first_mut())
            && first.payload[0] == 0
        {
            self.id.copy_from_slice(&first.payload[1..5]);
            first.payload[1..5].fill(0);
        }
        packets
    }

    fn until_mark(&mut self) -> Vec<Packet> {
        self.client.query(MARK);
        let mut packets = Vec::new();
        let mark = loop {
            packets.push(self.client.receive().unwrap());
            let last = packets.last().unwrap();
            // It stands in the definition of the column, or, without definitions, in the row.
            if last.sequence_id <= 3 && contains(&last.payload, b"end of the answer") {
                break packets.split_off(packets.len() - usize::from(last.sequence_id));
            }
        };
        // The rest of the mark's answer: a row, and an EOF before it for those who are told.
        let mut is_row = mark[0].payload == [1, 0];
        while !is_row {
            let packet = self.client.receive().unwrap();
            is_row = contains(&packet.payload, b"end of the answer");
        }
        self.client.receive().unwrap();
        packets
    }
}

pub(crate) fn contains(payload: &[u8], text: &[u8]) -> bool {
    payload.windows(text.len()).any(|part| part == text)
}

/// Everything behind the statement's id.
fn execute(flags: u8, values: &[i64]) -> Vec<u8> {
    let mut bytes = vec![flags, 1, 0, 0, 0];
    if !values.is_empty() {
        bytes.extend(vec![0; values.len().div_ceil(8)]);
        bytes.push(1);
        values.iter().for_each(|_| bytes.extend([8, 0]));
        values
            .iter()
            .for_each(|value| bytes.extend(value.to_le_bytes()));
    }
    bytes
}

/// Both ways in which result sets end.
pub(crate) const ENDINGS: [Capabilities; 2] = [
    USUAL.union(Capabilities::DEPRECATE_EOF),
    USUAL.difference(Capabilities::DEPRECATE_EOF),
];

pub(crate) fn prepare_schema(database: &Database, schema: &str) {
    database.schema(schema);
    database.execute(&format!(
        "USE {schema}; CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, a INT, b LONGBLOB);
         INSERT INTO t (a) VALUES (1), (2), (3), (4), (5);

DELIMITER //
CREATE PROCEDURE both_sets(OUT n INT) BEGIN SELECT 1; SELECT id FROM t WHERE id = 2; SET n = 7; END//
DELIMITER ;"
    ));
}

/// Runs the script directly and through the front door.
fn compare(schema: &str, script: &[Step<'_>]) {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 2"]);
    for capabilities in ENDINGS {
        prepare_schema(&database, schema);
        let mut direct = Life::begin(database.address(), schema, capabilities);
        let told: Vec<_> = script.iter().map(|&step| direct.step(step)).collect();
        prepare_schema(&database, schema);
        let mut through = Life::begin(&door.address(), schema, capabilities);
        for (step, expected) in script.iter().zip(told) {
            assert_eq!(through.step(*step), expected, "{step:?}, {capabilities:?}");
        }
    }
    assert_eq!(door.metric("myriad_backend_losses_total"), 0);
}

#[test]
fn prepared_statements_live_as_they_do_on_the_database() {
    compare(
        "binary_life",
        &[
            Prepare("SELECT 1 + ?"),
            Execute(0, &[41]),
            Execute(0, &[-1]),
            Close,
            Execute(0, &[1]),
            Prepare("SELEC 1"),
            Prepare("SELECT nothing FROM t WHERE id = ?"),
            Prepare("SELECT id, a FROM t WHERE id < ? ORDER BY id"),
            Execute(0, &[3]),
            Execute(0, &[0]),
            Prepare("INSERT INTO t (a) VALUES (?), (?)"),
            Execute(0, &[10, 11]),
            Text("SELECT LAST_INSERT_ID()"),
            Text("SELECT ROW_COUNT()"),
            Close,
            Text("SELECT LAST_INSERT_ID()"),
            Prepare("UPDATE t SET a = a + ? WHERE id = ?"),
            Execute(0, &[5, 1]),
            Reset,
            Execute(0, &[0, 1]),
            Text("BEGIN"),
            Execute(0, &[100, 2]),
            Close,
            Text("ROLLBACK"),
            Text("SELECT a FROM t WHERE id IN (1, 2)"),
            Prepare("DO 1"),
            Execute(0, &[]),
            Command(COM_EXECUTE, &[99, 99, 0, 0, 0, 1, 0, 0, 0]),
            Command(COM_FETCH, &[99, 99, 0, 0, 1, 0, 0, 0]),
            Command(COM_RESET, &[99, 99, 0, 0]),
            Command(COM_CLOSE, &[99, 99, 0, 0]),
            Command(COM_LONG_DATA, &[99, 99, 0, 0, 0, 0, b'x']),
            Text("SELECT 'still here'"),
        ],
    );
}

#[test]
fn cursors_are_fetched_from_as_on_the_database() {
    compare(
        "binary_cursors",
        &[
            Prepare("SELECT id, a FROM t WHERE id > ? ORDER BY id"),
            Execute(CURSOR, &[0]),
            Fetch(2),
            Fetch(2),
            Fetch(2),
            Fetch(2),
            Execute(CURSOR, &[100]),
            Fetch(1),
            Execute(CURSOR, &[3]),
            Fetch(1),
            Reset,
            Fetch(1),
            Close,
            Fetch(1),
        ],
    );
    // MySQL 9.7 never ends its answer to an execution without a cursor after one with it.
    if Server::is_mariadb() {
        let script = [
            Prepare("SELECT a FROM t"),
            Execute(CURSOR, &[]),
            Execute(0, &[]),
            Close,
        ];
        compare("binary_cursors_left", &script);
    }
}

#[test]
fn long_data_arrives_in_any_number_of_parts() {
    let long = vec![b'l'; 3 << 20];
    // Long data for the first parameter, a megabyte for the second in the execution itself.
    let mut both = vec![0, 1, 0xfc, 0, 0xfd, 0, 0xfd, 0, 0, 0x10];
    both.extend(vec![b's'; 1 << 20]);
    compare(
        "binary_long",
        &[
            Prepare("INSERT INTO t (b) VALUES (?)"),
            LongData(b"begins "),
            LongData(&long),
            LongData(b" ends"),
            ExecuteLong,
            Text("SELECT LENGTH(b), LEFT(b, 8), RIGHT(b, 5) FROM t WHERE id = 6"),
            LongData(b"again"),
            Reset,
            LongData(b"once more"),
            ExecuteLong,
            Text("SELECT b FROM t WHERE id = 7"),
            Prepare("INSERT INTO t (b) VALUES (CONCAT(?, ?))"),
            LongData(&long),
            ExecuteRaw(&both),
            Text("SELECT LENGTH(b), INSTR(b, 's'), RIGHT(b, 2) FROM t WHERE id = 8"),
            LongData(&long),
            LongData(&long),
            ExecuteRaw(&both),
            Text("SELECT LENGTH(b), INSTR(b, 's'), RIGHT(b, 2) FROM t WHERE id = 9"),
            Prepare("SELECT b FROM t WHERE id = ?"),
            Execute(0, &[6]),
            Close,
        ],
    );
}

#[test]
fn long_data_of_no_parameter_is_refused_until_it_is_given_up() {
    compare(
        "binary_long_of_none",
        &[
            Prepare("SELECT a FROM t WHERE id = ?"),
            LongDataOf(1, b"nobody's"),
            Execute(0, &[1]),
            Execute(0, &[1]),
            Text("SELECT 1"),
            Reset,
            Execute(0, &[1]),
            Prepare("SELECT 1"),
            LongDataOf(0, b"nobody's"),
            Execute(0, &[]),
            Execute(0, &[]),
            Close,
        ],
    );
}

/// The server refuses every execution of what it holds against too much long data.
#[test]
fn long_data_that_the_database_refuses_harms_no_other_session() {
    const TEXT: &str = "INSERT INTO t (b) VALUES (?)";
    let database = Database::private();
    database.schema("binary_long_refused");
    database.execute(
        "SET GLOBAL max_allowed_packet = 1 << 20; USE binary_long_refused;
         CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, b LONGBLOB)",
    );
    let settings = ["backend.max_connections = 1", "server.workers = 1"];
    let door = FrontDoor::start(database.address(), &settings);
    let begin = || Life::begin(&door.address(), "binary_long_refused", USUAL);
    let (mut one, mut other) = (begin(), begin());
    for life in [&mut one, &mut other] {
        life.step(Prepare(TEXT));
    }
    let part = vec![b'l'; 600 << 10];
    for _ in 0..2 {
        one.step(LongData(&part));
    }
    let refused = one.step(ExecuteLong);
    assert_eq!(refused[0].payload[0], 0xff, "{refused:?}");
    for round in 0..3 {
        other.step(LongData(b"short"));
        let done = other.step(ExecuteLong);
        assert_eq!(done[0].payload[0], 0, "{round}: {done:?}");
    }
    one.step(LongData(b"short"));
    let done = one.step(ExecuteLong);
    assert_eq!(done[0].payload[0], 0, "{done:?}");
}

#[test]
fn several_result_sets_and_parameters_of_a_procedure() {
    compare(
        "binary_calls",
        &[
            Prepare("CALL both_sets(?)"),
            Execute(0, &[0]),
            Execute(0, &[0]),
            Close,
            Text("CALL both_sets(@n)"),
            Text("SELECT @n"),
        ],
    );
}

#[test]
fn lesser_commands() {
    compare(
        "binary_lesser",
        &[
            Command(COM_SET_OPTION, &[1, 0]),
            Text("SELECT 1; SELECT 2"),
            Command(COM_SET_OPTION, &[0, 0]),
            Text("SELECT 1; SELECT 2"),
            Text("BEGIN"),
            Command(COM_SET_OPTION, &[1, 0]),
            Text("SELECT 1; SELECT 2"),
            Text("COMMIT"),
            Text("SELECT 1; SELECT 2"),
            Command(COM_SET_OPTION, &[7, 0]),
            Text("SELECT 1"),
        ],
    );
    if Server::is_mariadb() {
        compare(
            "binary_fields",
            &[Command(COM_FIELD_LIST, b"t\0"), Text("SELECT 1")],
        );
    }
}

#[test]
fn statistics_and_processes_are_told() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &[]);
    let mut life = Life::begin(&door.address(), "shop", USUAL);
    let told = life.step(Command(COM_STATISTICS, b""));
    assert!(told[0].payload.starts_with(b"Uptime: "), "{told:?}");
    // MySQL 9 has it no more: "Unknown command".
    let mut direct = Life::begin(database.address(), "shop", USUAL);
    let [expected, told] =
        [&mut direct, &mut life].map(|life| life.step(Command(COM_PROCESS_INFO, b"")));
    let is_list = |told: &[Packet]| told.iter().any(|packet| contains(&packet.payload, b"Id"));
    let is_unknown = |told: &[Packet]| contains(&told[0].payload, b"Unknown command");
    assert!(is_list(&expected) || is_unknown(&expected), "{expected:?}");
    assert_eq!(is_list(&told), is_list(&expected), "{told:?}");
    assert_eq!(is_unknown(&told), is_unknown(&expected), "{told:?}");
}

#[test]
fn a_prepared_kill_ends_a_client() {
    let database = Database::shared();
    prepare_schema(&database, "binary_kill");
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 2"]);
    let mut victim = Client::new(&door.address(), "binary_kill");
    let mut life = Life::begin(&door.address(), "binary_kill", USUAL);
    life.step(Prepare(&format!("KILL {}", victim.connection_id)));
    let told = life.step(Execute(0, &[]));
    assert_eq!(told[0].payload[0], 0, "{told:?}");
    assert!(victim.rest().is_empty());
    let told = life.step(Execute(0, &[]));
    assert!(contains(&told[0].payload, b"Unknown thread id"), "{told:?}");
}

/// Sessions share what they prepare, but not the client that it ends.
#[test]
fn a_prepared_kill_of_oneself_ends_nobody_else() {
    let database = Database::shared();
    prepare_schema(&database, "binary_kill_own");
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 2"]);
    let [mut first, mut second] =
        [(); 2].map(|()| Life::begin(&door.address(), "binary_kill_own", USUAL));
    for life in [&mut first, &mut second] {
        life.step(Prepare("KILL CONNECTION_ID()"));
    }
    second.begin_execution();
    let told = second.client.rest();
    assert!(
        contains(&told, b"nterrupted") || contains(&told, b"killed"),
        "{told:?}"
    );
    let told = first.step(Text("SELECT 'on'"));
    assert!(
        told.iter().any(|it| contains(&it.payload, b"on")),
        "{told:?}"
    );
}

/// PREPARE and, without waiting for its id, EXECUTE; then two rows at once.
fn pipelined(address: &Address) -> Vec<Packet> {
    let login = Login {
        capabilities: (USUAL | Capabilities::CONNECT_WITH_DB) - Capabilities::LONG_PASSWORD,
        extended: ExtendedCapabilities::STMT_BULK_OPERATIONS,
        ..Login::to("binary_bulk")
    };
    let mut life = Life::of(Client::login(address, &login).unwrap());
    let mut bytes = Vec::new();
    for command in [
        &[&[COM_PREPARE][..], b"INSERT INTO t (a) VALUES (?)"].concat(),
        &[&[COM_EXECUTE][..], &LAST, &execute(0, &[70])].concat(),
        &[&[COM_PREPARE][..], b"SELEC"].concat(),
        &[&[COM_EXECUTE][..], &LAST, &execute(0, &[71])].concat(),
    ] {
        write_packet(&mut bytes, 0, command);
    }
    life.client.send_bytes(&bytes);
    let mut told = life.until_mark();
    life.id.copy_from_slice(&told[0].payload[1..5]);
    told[0].payload[1..5].fill(0);
    // The types of the parameters, then for each row an indicator and a value.
    let row = |value: i64| [&[0][..], &value.to_le_bytes()].concat();
    let rows = [&[128, 0, 8, 0][..], &row(80), &row(81)].concat();
    let bulk = [&life.id[..], &rows].concat();
    told.extend(life.step(Command(COM_BULK_EXECUTE, &bulk)));
    told.extend(life.step(Text("SELECT id, a FROM t WHERE id > 5")));
    told
}

#[test]
fn mariadb_clients_pipeline_and_send_many_rows_at_once() {
    if !Server::is_mariadb() {
        return;
    }
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &[]);
    let told = [database.address(), &door.address()].map(|address| {
        prepare_schema(&database, "binary_bulk");
        pipelined(address)
    });
    assert_eq!(told[1], told[0]);
}

#[test]
fn executions_for_many_rows_are_refused_as_by_the_server() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &[]);
    let told = [database.address(), &door.address()].map(|address| {
        let without = Client::new(address, "shop");
        let login = Login {
            capabilities: USUAL - Capabilities::LONG_PASSWORD,
            extended: ExtendedCapabilities::STMT_BULK_OPERATIONS,
            ..Login::default()
        };
        let with = Client::login(address, &login).unwrap();
        let of_unknown: [&[u8]; 2] = [b"\x09\0\0\0\x80\0", b"\x09\0\0\0\x80"];
        let mut lives = [without, with].map(Life::of);
        let refusals = lives.iter_mut().flat_map(|life| {
            of_unknown.map(|argument| life.step(Command(COM_BULK_EXECUTE, argument)))
        });
        refusals.collect::<Vec<_>>()
    });
    assert!(told[0].iter().all(|told| told[0].payload[0] == 0xff));
    assert_eq!(told[1], told[0]);
}

/// Answers the request for a file with `file`, in packets of 1,000 bytes.
fn load(client: &mut Client, file: &[u8]) -> Packet {
    client.query("LOAD DATA LOCAL INFILE 'rows.txt' INTO TABLE t FIELDS TERMINATED BY ',' (id, a)");
    let request = client.receive().unwrap();
    if request.payload[0] != 0xfb {
        return request;
    }
    assert_eq!(request.payload, b"\xfbrows.txt");
    let (mut bytes, mut sequence_id) = (Vec::new(), request.sequence_id + 1);
    for part in file.chunks(1_000) {
        sequence_id = write_packet(&mut bytes, sequence_id, part);
    }
    write_packet(&mut bytes, sequence_id, b"");
    client.send_bytes(&bytes);
    client.receive().unwrap()
}

fn with_files(address: &Address, schema: &str, capabilities: Capabilities) -> Client {
    let login = Login {
        capabilities: capabilities | Capabilities::CONNECT_WITH_DB | Capabilities::LOCAL_FILES,
        ..Login::to(schema)
    };
    Client::login(address, &login).unwrap()
}

#[test]
fn files_are_loaded_from_the_client() {
    let database = Database::shared();
    let switch = "SET GLOBAL local_infile = 1";
    database.execute(switch);
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 2"]);
    // Long enough that neither end takes it at once.
    let rows = |from: u32| (from..from + 200_000).map(|id| format!("{id},{id}\n"));
    let file: String = rows(1_000).collect();
    for capabilities in ENDINGS {
        let told = [database.address().clone(), door.address()].map(|address| {
            prepare_schema(&database, "binary_files");
            let mut client = with_files(&address, "binary_files", capabilities);
            let told = load(&mut client, file.as_bytes());
            let empty = load(&mut client, b"");
            let count = client.value("SELECT CONCAT(COUNT(*), ' ', SUM(a)) FROM t");
            let mut without = Client::new(&address, "binary_files");
            (told, empty, count, load(&mut without, b"1,1\n"))
        });
        assert_eq!(told[0], told[1]);
    }
}

#[test]
fn half_a_file_is_not_loaded() {
    let database = Database::shared();
    database.execute("SET GLOBAL local_infile = 1");
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 1"]);
    prepare_schema(&database, "binary_files_cut");
    let mut client = with_files(&door.address(), "binary_files_cut", USUAL);
    client.query(
        "LOAD DATA LOCAL INFILE 'x' INTO TABLE binary_files_cut.t FIELDS TERMINATED BY ',' (id, a)",
    );
    let request = client.receive().unwrap();
    let mut bytes = Vec::new();
    write_packet(&mut bytes, request.sequence_id + 1, b"100,1\n101,1\n");
    client.send_bytes(&bytes);
    drop(client);
    let mut next = Client::new(&door.address(), "binary_files_cut");
    assert_eq!(next.value("SELECT COUNT(*) FROM t"), "5");
    assert_eq!(door.metric("myriad_backend_losses_total"), 1);
}

/// What is answered to a command, of which its bytes are sent as they are.
fn answered(address: &Address, command: u8, argument: &[u8]) -> Vec<Vec<u8>> {
    const COM_PING: u8 = 0x0e;
    let mut client = Client::login(address, &Login::default()).unwrap();
    client.send(command, argument);
    // Some are answered with nothing.
    client.send(COM_PING, b"");
    let mut packets = Vec::new();
    loop {
        let packet = client.receive().unwrap().payload;
        if packet[0] == 0 {
            return packets;
        }
        packets.push(packet);
    }
}

#[test]
fn commands_about_statements_that_are_cut_short_are_refused_as_by_the_server() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &[]);
    let (execute, long_data, fetch) = (0x17, 0x18, 0x1c);
    // MariaDB reads on behind the end where an id is cut.
    let lengths = if Server::is_mariadb() { 4..12 } else { 0..12 };
    for command in [execute, long_data, fetch] {
        for length in lengths.clone() {
            let argument = &[1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0][..length];
            let told = |address| answered(address, command, argument);
            assert_eq!(
                told(&door.address()),
                told(database.address()),
                "{command}: {argument:?}"
            );
        }
    }
}

/// Nothing tells the collation of the client's character set, which is that of parameters. MySQL Connector/J sets what
/// results have after its login.
#[test]
fn parameters_have_the_collation_of_the_login_on_every_backend() {
    let database = Database::shared();
    database.schema("parameters");
    let restless = ["backend.max_connections = 2", "backend.restless = \"on\""];
    let door = FrontDoor::start(database.address(), &restless);
    // Some backend has begun with another one.
    Client::new(&door.address(), "parameters").run("SET NAMES latin1");
    let told = |address: &Address| {
        let login = Login {
            // utf8mb4_unicode_ci
            collation: 224,
            ..Login::to("parameters")
        };
        let mut life = Life::of(Client::login(address, &login).unwrap());
        let string = [0, 1, 0xfd, 0, 1, b'x'];
        [
            Text("SET character_set_results = NULL"),
            Prepare("SELECT 'x' LIKE REPLACE(?, 'a', 'b')"),
            ExecuteRaw(&string),
            Text("SET character_set_results = latin1"),
            ExecuteRaw(&string),
            Text("SET NAMES utf8mb4 COLLATE utf8mb4_spanish_ci"),
            Prepare("SELECT 'x' LIKE REPLACE(?, 'a', 'b')"),
            ExecuteRaw(&string),
        ]
        .map(|step| life.step(step))
    };
    let direct = told(database.address());
    for _ in 0..3 {
        assert_eq!(told(&door.address()), direct);
    }
}
