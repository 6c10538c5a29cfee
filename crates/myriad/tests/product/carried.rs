//! Prepared statements that follow their session from backend to backend: each step of a life runs on
//! another one, and is answered as the database itself answers it.

use wire::Capabilities;

use crate::binary::Step::{
    Close, Execute, ExecuteLong, ExecuteRaw, Fetch, LongData, Prepare, Reset, Text,
};
use crate::binary::{ENDINGS, Life, Step, contains, prepare_schema};
use crate::support::{
    Client, Database, FrontDoor, Login, Outcome, Packet, Server, Shape, USUAL, eventually,
};

const CURSOR: u8 = 1;

/// Two clients that hold backends in turn, so that somebody else is never on the same one twice.
pub(crate) struct Mover {
    holders: [Client; 2],
    steps: usize,
}

impl Mover {
    pub(crate) fn new(door: &FrontDoor, schema: &str) -> Self {
        let holders = [(); 2].map(|()| Client::new(&door.address(), schema));
        Self { holders, steps: 0 }
    }

    /// The backend that was used last is taken, and the one before is free again.
    pub(crate) fn turn(&mut self) {
        let now = self.steps % 2;
        self.holders[now].run("BEGIN");
        self.holders[now].run("SELECT 1");
        self.holders[1 - now].run("ROLLBACK");
        self.steps += 1;
    }
}

/// Runs the script directly, and through the front door from backend to backend.
fn compare(schema: &str, script: &[Step<'_>]) {
    let database = Database::shared();
    for capabilities in ENDINGS {
        let settings = [
            "backend.max_connections = 3",
            "backend.max_prepared_statements = 2",
        ];
        let door = FrontDoor::start(database.address(), &settings);
        prepare_schema(&database, schema);
        let mut direct = Life::begin(database.address(), schema, capabilities);
        let told: Vec<_> = script.iter().map(|&step| direct.step(step)).collect();
        prepare_schema(&database, schema);
        let mut mover = Mover::new(&door, schema);
        let mut through = Life::begin(&door.address(), schema, capabilities);
        for (step, expected) in script.iter().zip(told) {
            mover.turn();
            let told = told_of_session(through.step(*step));
            let expected = told_of_session(expected);
            assert_eq!(told, expected, "{step:?}, {capabilities:?}");
        }
        assert_eq!(door.metric("myriad_backend_losses_total"), 0);
        assert_eq!(
            door.metric("myriad_pins_total{reason=\"prepared_statement\"}"),
            0
        );
        let pins = door.metric("myriad_pins_total{reason=\"user_variable\"}");
        assert_eq!(pins, 0);
        assert!(door.metric("myriad_prepares_on_demand_total") > 0);
    }
}

/// Without the flags that tell of a backend's own statement and of its own session: that the statement was
/// understood anew, and that another schema was selected for as long as it ran.
fn told_of_session(mut told: Vec<Packet>) -> Vec<Packet> {
    const OF_BACKEND: u8 = 0x40 | 0x04;
    for packet in &mut told {
        if let [0xfe, _, _, _, flags, ..] = &mut packet.payload[..] {
            *flags &= !OF_BACKEND;
        }
    }
    told
}

/// Two parameters: no NULL, their types, and their values.
const TYPED: &[u8] = &[
    0, 1, 8, 0, 8, 0, 2, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0,
];
/// The same types, left out.
const UNTYPED: &[u8] = &[0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0];
/// The second is NULL, and has no type.
const NULL: &[u8] = &[2, 1, 8, 0, 6, 0, 3, 0, 0, 0, 0, 0, 0, 0];

#[test]
fn a_statement_is_executed_wherever_its_session_is() {
    compare(
        "carried_life",
        &[
            Prepare("SELECT id, a FROM t WHERE id < ? ORDER BY id"),
            Execute(0, &[3]),
            Execute(0, &[0]),
            Execute(0, &[5]),
            Close,
            Execute(0, &[5]),
            Prepare("INSERT INTO t (a) VALUES (?), (?)"),
            Execute(0, &[10, 11]),
            Text("SELECT LAST_INSERT_ID()"),
            Execute(0, &[12, 13]),
            Text("SELECT ROW_COUNT()"),
            Prepare("SELECT LAST_INSERT_ID()"),
            Execute(0, &[]),
            Reset,
            Execute(0, &[]),
            Prepare("SELECT CAST('1x' AS SIGNED)"),
            Execute(0, &[]),
            Text("SHOW WARNINGS"),
            Text("BEGIN"),
            Prepare("UPDATE t SET a = a + ? WHERE id = ?"),
            Execute(0, &[100, 2]),
            Text("ROLLBACK"),
            Execute(0, &[1, 3]),
            Text("SELECT a FROM t WHERE id IN (2, 3)"),
        ],
    );
}

#[test]
fn the_types_of_parameters_are_remembered() {
    compare(
        "carried_types",
        &[
            Prepare("SELECT ? + 1, ?"),
            ExecuteRaw(UNTYPED),
            ExecuteRaw(TYPED),
            ExecuteRaw(UNTYPED),
            ExecuteRaw(UNTYPED),
            ExecuteRaw(NULL),
            ExecuteRaw(TYPED),
            Reset,
            ExecuteRaw(UNTYPED),
        ],
    );
}

#[test]
fn a_statement_stays_what_it_was_when_it_was_prepared() {
    let database = Database::shared();
    prepare_schema(&database, "carried_other");
    database.execute("UPDATE carried_other.t SET a = 100 * a");
    compare(
        "carried_bound",
        &[
            Prepare("SELECT a, DATABASE() FROM t WHERE id = ?"),
            Execute(0, &[2]),
            Text("USE carried_other"),
            Execute(0, &[2]),
            Text("SELECT a, DATABASE() FROM t WHERE id = 2"),
            Execute(0, &[3]),
            Text("SET sql_mode = 'ANSI_QUOTES'"),
            Prepare("SELECT \"a\" FROM t WHERE id = ?"),
            Text("SET sql_mode = ''"),
            Execute(0, &[2]),
            Text("SELECT \"a\" FROM t WHERE id = 2"),
            Execute(0, &[3]),
            Text("SET NAMES latin1"),
            Prepare("SELECT COLLATION('x'), '\u{e4}'"),
            Text("SET NAMES utf8mb4 COLLATE utf8mb4_bin"),
            Execute(0, &[]),
            Text("SELECT COLLATION('x')"),
            Execute(0, &[]),
        ],
    );
}

#[test]
fn user_variables_in_statements_are_the_sessions() {
    compare(
        "carried_variables",
        &[
            Text("SET @a = 5, @b = 'text', @d = 1.50"),
            Prepare("SELECT @a, @b, @d, @nothing"),
            Execute(0, &[]),
            Text("SET @a = 6, @b = NULL"),
            Execute(0, &[]),
            Execute(0, &[]),
            Prepare("SELECT @a + ? INTO @a"),
            Execute(0, &[2]),
            Execute(0, &[3]),
            Text("SELECT @a"),
            Prepare("SET @a = ?, @c = @a"),
            Execute(0, &[70]),
            Text("SELECT @a, @c"),
            Prepare("SELECT a, id INTO @x, @y FROM t WHERE id = ?"),
            Execute(0, &[2]),
            Text("SELECT @x, @y"),
            Prepare("UPDATE t SET a = @x + ? WHERE id = @y"),
            Execute(0, &[1000]),
            Text("SELECT a FROM t WHERE id = 2"),
        ],
    );
}

#[test]
fn what_changes_under_a_statement_is_seen() {
    compare(
        "carried_changes",
        &[
            Prepare("SELECT * FROM t WHERE id = ?"),
            Execute(0, &[1]),
            Text("ALTER TABLE t ADD COLUMN c INT DEFAULT 9"),
            Execute(0, &[1]),
            Execute(0, &[2]),
            Text("ALTER TABLE t DROP COLUMN c"),
            Execute(0, &[1]),
            Text("RENAME TABLE t TO u"),
            Execute(0, &[1]),
            Text("SHOW WARNINGS"),
            Text("RENAME TABLE u TO t"),
            Execute(0, &[1]),
        ],
    );
}

#[test]
fn long_data_waits_for_its_execution() {
    let long = vec![b'l'; 1 << 20];
    compare(
        "carried_long",
        &[
            Prepare("INSERT INTO t (b) VALUES (?)"),
            LongData(b"begins "),
            LongData(&long),
            ExecuteLong,
            Text("SELECT LENGTH(b), LEFT(b, 8), RIGHT(b, 2) FROM t WHERE id = 6"),
            LongData(b"given up"),
            Reset,
            LongData(b"once more"),
            Text("SELECT 1"),
            ExecuteLong,
            Text("SELECT b FROM t WHERE id = 7"),
            LongData(b"a third time"),
            ExecuteLong,
            LongData(b"and a fourth"),
            ExecuteLong,
            Text("SELECT b FROM t WHERE id > 7"),
        ],
    );
}

#[test]
fn a_cursor_pins_until_its_rows_are_fetched() {
    // MySQL 9.7 never ends its answer to an execution without a cursor after one with it.
    let then = match Server::is_mariadb() {
        true => Execute(0, &[3]),
        false => Execute(CURSOR, &[3]),
    };
    compare(
        "carried_cursors",
        &[
            Prepare("SELECT id, a FROM t WHERE id > ? ORDER BY id"),
            Execute(CURSOR, &[0]),
            Fetch(2),
            Fetch(2),
            Fetch(2),
            Fetch(2),
            then,
            Reset,
            Execute(CURSOR, &[100]),
            Fetch(1),
            Execute(CURSOR, &[1]),
            Fetch(1),
            Reset,
            Fetch(1),
            then,
            Execute(CURSOR, &[1]),
            Close,
            Text("SELECT 1"),
        ],
    );
}

/// The text in the only row of a one-column answer in the binary protocol.
fn text(told: &[Packet]) -> String {
    let row = told.iter().rev().nth(1).map(|packet| &packet.payload[..]);
    let row = row.unwrap_or_default();
    String::from_utf8_lossy(row.get(3..).unwrap_or_default()).into_owned()
}

#[test]
fn sessions_share_what_they_prepare_alike() {
    let database = Database::shared();
    prepare_schema(&database, "carried_shared");
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 1"]);
    let mut lives = [(); 2].map(|()| Life::begin(&door.address(), "carried_shared", USUAL));
    let same = "SELECT CONCAT('both ', ?)";
    for life in &mut lives {
        let told = life.step(Prepare(same));
        assert_eq!(told[0].payload[0], 0, "{told:?}");
    }
    for n in 0..10 {
        for life in &mut lives {
            let told = life.step(Execute(0, &[n]));
            assert_eq!(text(&told), format!("both {n}"));
        }
    }
    let [first, second] = &mut lives;
    first.step(Prepare("SELECT CONCAT('mine ', ?)"));
    second.step(Prepare("SELECT CONCAT('yours ', ?)"));
    for n in 0..10 {
        assert_eq!(text(&first.step(Execute(0, &[n]))), format!("mine {n}"));
        assert_eq!(text(&second.step(Execute(0, &[n]))), format!("yours {n}"));
    }
    assert_eq!(door.metric("myriad_prepared_templates"), 3);
    assert_eq!(door.metric("myriad_prepares_on_demand_total"), 0);
    drop(lives);
    // What nobody has is not kept.
    let mut next = Life::begin(&door.address(), "carried_shared", USUAL);
    next.step(Text("SELECT 1"));
    eventually("the texts are gone", || {
        (door.metric("myriad_memory_bytes{kind=\"prepared_texts\"}") == 0).then_some(())
    });
}

#[test]
fn many_sessions_have_more_statements_than_their_backends() {
    const STATEMENTS: usize = 5;
    let database = Database::shared();
    prepare_schema(&database, "carried_many");
    let settings = [
        "backend.max_connections = 2",
        "backend.max_prepared_statements = 3",
    ];
    let door = FrontDoor::start(database.address(), &settings);
    let begin = |_| Life::begin(&door.address(), "carried_many", USUAL);
    let mut lives: Vec<Life> = (0..40).map(begin).collect();
    for (n, life) in lives.iter_mut().enumerate() {
        for statement in 0..STATEMENTS {
            // Half of them are the same for all.
            let of = if statement.is_multiple_of(2) { 0 } else { n };
            let sql = format!("SELECT CONCAT('{of} {statement} ', ?)");
            let told = life.step(Prepare(&sql));
            assert_eq!(told[0].payload[0], 0, "{told:?}");
        }
    }
    for round in 0..STATEMENTS {
        for (n, life) in lives.iter_mut().enumerate() {
            let statement = (n + round) % STATEMENTS;
            let of = if statement.is_multiple_of(2) { 0 } else { n };
            life.name(statement as u32 + 1);
            let told = life.step(Execute(0, &[round as i64]));
            assert_eq!(text(&told), format!("{of} {statement} {round}"));
        }
    }
    assert!(door.metric("myriad_prepares_evicted_total") > 0);
    assert!(door.metric("myriad_prepared_on_backends") <= 2 * 3);
    assert_eq!(door.metric("myriad_pins_ended_total"), 0);
}

#[test]
fn a_statement_that_asks_for_the_counts_of_its_backend_stays_there() {
    const QUESTION: &str = "SELECT CONCAT(ROW_COUNT() + LAST_INSERT_ID(0), '')";
    let database = Database::shared();
    prepare_schema(&database, "carried_counts");
    let settings = ["backend.max_connections = 2", "backend.max_pinned = 1"];
    let door = FrontDoor::start(database.address(), &settings);
    let mut first = Life::begin(&door.address(), "carried_counts", USUAL);
    let mut second = Life::begin(&door.address(), "carried_counts", USUAL);
    for _ in 0..3 {
        for life in [&mut first, &mut second] {
            let told = life.step(Prepare(QUESTION));
            assert_eq!(told[0].payload[0], 0, "{told:?}");
            // Nothing is asked in between.
            life.client.run("UPDATE t SET a = a + 1 WHERE id < 4");
            assert_eq!(text(&life.step(Execute(0, &[]))), "3");
            life.step(Close);
        }
    }
    first.step(Prepare(QUESTION));
    let told = second.step(Prepare(QUESTION));
    assert!(contains(&told[0].payload, b"max_pinned"), "{told:?}");
    // The others need no right to be pinned.
    let told = second.step(Prepare("SELECT CONCAT('x', ?)"));
    assert_eq!(told[0].payload[0], 0, "{told:?}");
    assert_eq!(text(&second.step(Execute(0, &[1]))), "x1");
    assert_eq!(door.metric("myriad_backend_resets_total"), 0);
}

#[test]
fn executions_are_told_conditions_of_another_backend() {
    const SCRIPT: [&str; 9] = [
        "DROP TABLE IF EXISTS nothing",
        "SHOW WARNINGS",
        "SHOW WARNINGS",
        "SHOW ERRORS",
        "SELECT * FROM nothing",
        "SHOW ERRORS",
        "SHOW WARNINGS LIMIT 1",
        "DROP TABLE IF EXISTS nothing, neither",
        "SHOW WARNINGS LIMIT 1, 5",
    ];
    let database = Database::shared();
    prepare_schema(&database, "carried_conditions");
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 3"]);
    let mut mover = Mover::new(&door, "carried_conditions");
    for capabilities in ENDINGS {
        let login = Login {
            capabilities: capabilities | Capabilities::CONNECT_WITH_DB,
            ..Login::to("carried_conditions")
        };
        let mut told = |address, moves: bool| {
            let mut client = Client::login(address, &login).unwrap();
            let ask = |sql: &&str| {
                let between = || {
                    if moves {
                        mover.turn();
                    }
                };
                client.execute(sql, between)
            };
            SCRIPT.iter().map(ask).collect::<Vec<_>>()
        };
        let direct = told(database.address(), false);
        let through = told(&door.address(), true);
        for ((sql, direct), through) in SCRIPT.iter().zip(direct).zip(through) {
            assert_eq!(direct, through, "{sql}, {capabilities:?}");
        }
    }
}

#[test]
fn what_preparing_warns_of_is_told() {
    const COM_PREPARE: u8 = 0x16;
    let explain = match Server::is_mariadb() {
        true => "EXPLAIN EXTENDED",
        false => "EXPLAIN",
    };
    let asks = format!("{explain} SELECT (SELECT MAX(u.a) FROM t u WHERE u.id = t.id) FROM t");
    let database = Database::shared();
    prepare_schema(&database, "carried_notes");
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 3"]);
    let mut mover = Mover::new(&door, "carried_notes");
    for capabilities in ENDINGS {
        let login = Login {
            capabilities: capabilities | Capabilities::CONNECT_WITH_DB,
            ..Login::to("carried_notes")
        };
        let mut told = |address| {
            let mut client = Client::login(address, &login).unwrap();
            client.send(COM_PREPARE, asks.as_bytes());
            let mut prepared = client.answer_of(Shape::Prepare).unwrap();
            prepared.packets[0].1.payload[1..5].fill(0);
            mover.turn();
            (prepared, client.run("SHOW WARNINGS"))
        };
        let direct = told(database.address());
        assert!(
            matches!(&direct.1[..], [Outcome::Rows(rows)] if !rows.is_empty()),
            "{direct:?}"
        );
        assert_eq!(told(&door.address()), direct, "{capabilities:?}");
    }
}

#[test]
fn what_is_prepared_knows_the_client_by_its_own_id() {
    let database = Database::shared();
    prepare_schema(&database, "carried_id");
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 2"]);
    let mut mover = Mover::new(&door, "carried_id");
    let asks = "SELECT CONCAT(CONNECTION_ID(), ' ', @@port, ' ', ?)";
    let mut lives = [(); 2].map(|()| Life::begin(&door.address(), "carried_id", USUAL));
    let ids = lives.each_mut().map(|life| {
        life.step(Prepare(asks));
        life.client.value("SELECT CONNECTION_ID()")
    });
    assert_ne!(ids[0], ids[1]);
    let port = door.tcp().port();
    for _ in 0..2 {
        mover.turn();
        for (life, id) in lives.iter_mut().zip(&ids) {
            assert_eq!(text(&life.step(Execute(0, &[7]))), format!("{id} {port} 7"));
        }
    }
}

#[test]
fn preparing_again_for_want_of_room_makes_room() {
    if !Server::is_mariadb() {
        // The number is the server's, and all tests share it: one server is enough.
        return;
    }
    let database = Database::private();
    prepare_schema(&database, "carried_room");
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 1"]);
    let mut lives = [(); 2].map(|()| Life::begin(&door.address(), "carried_room", USUAL));
    lives[0].step(Prepare("SELECT CONCAT('first ', ?)"));
    lives[1].step(Prepare("SELECT CONCAT('second ', ?)"));
    // Whatever cleans the backend takes the statements with it.
    lives[0].step(Text("CREATE TEMPORARY TABLE mine (a INT)"));
    lives[0].step(Text("DROP TEMPORARY TABLE mine"));
    database.execute("SET GLOBAL max_prepared_stmt_count = 1");
    for n in 0..3 {
        for (life, name) in lives.iter_mut().zip(["first", "second"]) {
            let told = life.step(Execute(0, &[n]));
            assert_eq!(text(&told), format!("{name} {n}"));
        }
    }
}

#[test]
fn nobody_waits_behind_what_is_prepared_for_a_client_that_is_gone() {
    let database = Database::shared();
    prepare_schema(&database, "carried_gone");
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 1"]);
    let mut life = Life::begin(&door.address(), "carried_gone", USUAL);
    life.step(Prepare("SELECT a FROM t"));
    // Whatever cleans the backend takes the statements with it.
    life.step(Text("CREATE TEMPORARY TABLE mine (a INT)"));
    life.step(Text("DROP TEMPORARY TABLE mine"));
    let mut holder = Client::new(database.address(), "carried_gone");
    holder.run("LOCK TABLES t WRITE");
    life.begin_execution();
    eventually("the statement is prepared", || {
        let waiting = "SELECT COUNT(*) FROM information_schema.PROCESSLIST \
                       WHERE STATE LIKE 'Waiting for table metadata%'";
        (!database.execute(waiting).trim().ends_with('0')).then_some(())
    });
    drop(life);
    let mut next = Client::new(&door.address(), "carried_gone");
    assert_eq!(next.value("SELECT 1"), "1");
    assert_eq!(door.metric("myriad_orphans_killed_total"), 1);
    holder.run("UNLOCK TABLES");
}
