//! Counts of a session's last statement, asked for by prepared statements: told wherever these are executed, as the
//! database itself tells them.

use wire::Capabilities;

use crate::binary::{ENDINGS, prepare_schema};
use crate::carried::Mover;
use crate::support::{
    Address, Answer, Client, Database, FrontDoor, Login, Packet, Part, Server, Shape,
};

const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;
const COM_STMT_CLOSE: u8 = 0x19;
const COM_STMT_FETCH: u8 = 0x1c;

/// What asks.
const QUESTIONS: [&str; 6] = [
    "SELECT ROW_COUNT()",
    "SELECT FOUND_ROWS() AS n",
    "SELECT @@warning_count",
    "SELECT @@error_count AS `n``n`",
    "SHOW COUNT(*) WARNINGS",
    "SHOW COUNT(*) ERRORS",
];

/// What they are asked about.
const STATEMENTS: [&str; 15] = [
    "UPDATE t SET a = a + 1 WHERE id < 4",
    "SELECT id FROM t WHERE id < 3",
    "SELECT SQL_CALC_FOUND_ROWS id FROM t LIMIT 1",
    "DROP TABLE IF EXISTS nothing, neither",
    "SELECT * FROM nothing",
    "INSERT INTO t (a) VALUES (7)",
    "SET NAMES binary",
    "SELECT CAST('x' AS SIGNED) FROM t WHERE id < 3",
    "BEGIN",
    "SELECT SQL_CALC_FOUND_ROWS id FROM t LIMIT 1",
    "SELECT CAST('x' AS SIGNED) FROM t WHERE id < 3",
    "SELECT * FROM nothing",
    "INSERT IGNORE INTO t (id, a) VALUES (1, 1), (2, 2)",
    "INSERT INTO t (a) VALUES (8)",
    "ROLLBACK",
];

/// What a session is told: of its statement, of the question about it asked twice, and of what is left by that.
fn told(
    address: &Address,
    capabilities: Capabilities,
    (statement, question): (&str, &str),
    mut between: impl FnMut(),
) -> Vec<Answer> {
    let login = Login {
        capabilities: capabilities | Capabilities::CONNECT_WITH_DB,
        ..Login::to("carried_counts")
    };
    let mut client = Client::login(address, &login).unwrap();
    let transaction = STATEMENTS.iter().position(|&sql| sql == "BEGIN");
    let within = STATEMENTS.iter().rposition(|&sql| sql == statement) > transaction;
    let begin = if within { "BEGIN" } else { "COMMIT" };
    let mut told = Vec::new();
    // Until rows were counted, MariaDB may tell of somebody else's.
    for sql in ["SELECT 1", begin, "INSERT INTO t (a) VALUES (9)", statement] {
        client.query(sql);
        told.push(client.answer().unwrap());
    }
    between();
    for _ in 0..2 {
        told.push(client.execute(question, &mut between));
        between();
    }
    for sql in ["SHOW WARNINGS", "SELECT LAST_INSERT_ID()", "ROLLBACK"] {
        client.query(sql);
        told.push(client.answer().unwrap());
        between();
    }
    told
}

/// Has the table hold what it held at first, directly: a schema made anew for each pair took most of the test's time.
fn refill(keeper: &mut Client) {
    for sql in [
        "TRUNCATE t",
        "INSERT INTO t (a) VALUES (1), (2), (3), (4), (5)",
    ] {
        keeper.query(sql);
        let answer = keeper.answer().unwrap();
        assert!(
            answer.packets.iter().all(|(part, _)| *part == Part::Ok),
            "{sql}: {answer:?}"
        );
    }
}

/// On MySQL executions may be told of rows that a write has read. It warns of SQL_CALC_FOUND_ROWS, and says so between
/// columns and rows already.
fn is_carried_on_mysql((statement, question): (&str, &str), capabilities: Capabilities) -> bool {
    let reads = statement.starts_with("SELECT");
    let warns = statement.contains("SQL_CALC_FOUND_ROWS");
    (reads || !question.contains("FOUND_ROWS"))
        && (capabilities.contains(Capabilities::DEPRECATE_EOF) || !warns)
}

#[test]
fn counts_are_told_to_prepared_statements_wherever_they_run() {
    // On MySQL the others stay on their backend.
    let moves = |question: &&str| {
        Server::is_mariadb() || !question.contains("@@") && !question.contains("COUNT(*)")
    };
    let questions: Vec<_> = QUESTIONS.into_iter().filter(moves).collect();
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 3"]);
    prepare_schema(&database, "carried_counts");
    let mut mover = Mover::new(&door, "carried_counts");
    let mut keeper = Client::login(database.address(), &Login::to("carried_counts")).unwrap();
    for capabilities in ENDINGS {
        let pairs = STATEMENTS.into_iter().flat_map(|statement| {
            let of_each = questions.iter().map(move |&question| (statement, question));
            of_each.filter(|&pair| Server::is_mariadb() || is_carried_on_mysql(pair, capabilities))
        });
        for pair in pairs {
            refill(&mut keeper);
            let direct = told(database.address(), capabilities, pair, || {});
            refill(&mut keeper);
            let through = told(&door.address(), capabilities, pair, || mover.turn());
            for (place, (direct, through)) in direct.iter().zip(&through).enumerate() {
                assert_eq!(direct, through, "{place} of {pair:?}, {capabilities:?}");
            }
        }
    }
    let pins = door.metric("myriad_pins_total{reason=\"prepared_statement\"}");
    assert_eq!(pins, 0);
}

/// The backend connection keeps the counts of what runs on it, so the session stays there.
#[test]
fn a_prepared_statement_that_asks_for_a_count_beside_other_things_pins() {
    let database = Database::shared();
    prepare_schema(&database, "counts_beside");
    for question in [
        "SELECT ROW_COUNT(), FOUND_ROWS()",
        "SELECT ROW_COUNT() + 1",
        "SELECT id FROM t WHERE id = FOUND_ROWS()",
    ] {
        let door = FrontDoor::start(database.address(), &["backend.max_connections = 3"]);
        let mut mover = Mover::new(&door, "counts_beside");
        let mut told = |address: &Address, is_through: bool| {
            let mut client = Client::new(address, "counts_beside");
            client.send(COM_STMT_PREPARE, question.as_bytes());
            let prepared = client.answer_of(Shape::Prepare).unwrap();
            let id = prepared.packets[0].1.payload[1..5].to_vec();
            let read = client.run("SELECT id FROM t WHERE id < 4");
            if is_through {
                mover.turn();
            }
            client.send(COM_STMT_EXECUTE, &[&id[..], &[0, 1, 0, 0, 0]].concat());
            (read, client.answer_of(Shape::Any).unwrap())
        };
        let direct = told(database.address(), false);
        assert_eq!(told(&door.address(), true), direct, "{question}");
        let pins = door.metric("myriad_pins_total{reason=\"prepared_statement\"}");
        assert_eq!(pins, 1, "{question}");
    }
}

/// What a session is told that reads from a cursor and asks a question `at` a place: after it was opened, after
/// its first rows were fetched, after its last ones, or once its statement is closed.
fn told_of_cursor(
    address: &Address,
    capabilities: Capabilities,
    (sql, question, at): (&str, &str, usize),
    between: &mut dyn FnMut(),
) -> Vec<Answer> {
    let login = Login {
        capabilities: capabilities | Capabilities::CONNECT_WITH_DB,
        ..Login::to("carried_cursors")
    };
    let mut client = Client::login(address, &login).unwrap();
    client.send(COM_STMT_PREPARE, sql.as_bytes());
    let prepared = client.answer_of(Shape::Prepare).unwrap();
    let id = &prepared.packets[0].1.payload[1..5];
    let mut told = Vec::new();
    let steps: [(u8, &[u8], Option<Shape>); 4] = [
        (COM_STMT_EXECUTE, &[1, 1, 0, 0, 0], Some(Shape::Any)),
        (COM_STMT_FETCH, &[1, 0, 0, 0], Some(Shape::Rows)),
        (COM_STMT_FETCH, &[9, 0, 0, 0], Some(Shape::Rows)),
        (COM_STMT_CLOSE, &[], None),
    ];
    for (place, (command, argument, shape)) in steps.into_iter().enumerate() {
        client.send(command, &[id, argument].concat());
        if let Some(shape) = shape {
            let mut answer = client.answer_of(shape).unwrap();
            let number = u32::from_le_bytes([id[0], id[1], id[2], id[3]]);
            let packets = answer.packets.iter_mut();
            packets.for_each(|(_, packet)| packet.replace(&format!("({number})"), "(id)"));
            told.push(answer);
        }
        if place == at {
            between();
            client.query(question);
            told.push(client.answer().unwrap());
            told.push(client.execute(question, &mut *between));
        }
    }
    told
}

/// What is told but for the packet between columns and rows, whose flags and warnings are the backend's own.
fn without_middle(answer: &Answer) -> Vec<&(Part, Packet)> {
    let packets = answer.packets.iter();
    packets
        .filter(|(part, _)| *part != Part::ColumnsEnd)
        .collect()
}

#[test]
fn counts_are_told_of_cursors() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 3"]);
    prepare_schema(&database, "carried_cursors");
    let mut mover = Mover::new(&door, "carried_cursors");
    let statements = [
        "SELECT id FROM t WHERE id < 4",
        "SELECT id FROM t WHERE id < 0",
        "SELECT SQL_CALC_FOUND_ROWS id FROM t LIMIT 2",
        "SELECT SQL_CALC_FOUND_ROWS id FROM t LIMIT 0",
    ];
    let questions = ["SELECT FOUND_ROWS()", "SELECT ROW_COUNT()"];
    for capabilities in ENDINGS {
        for sql in statements {
            for question in questions {
                for at in 0..4 {
                    let asked = (sql, question, at);
                    let direct =
                        told_of_cursor(database.address(), capabilities, asked, &mut || {});
                    let mut between = || mover.turn();
                    let through =
                        told_of_cursor(&door.address(), capabilities, asked, &mut between);
                    for (place, (direct, through)) in direct.iter().zip(&through).enumerate() {
                        let [direct, through] = [direct, through].map(without_middle);
                        assert_eq!(through, direct, "{place} of {asked:?}, {capabilities:?}");
                    }
                }
            }
        }
    }
}

/// LAST_INSERT_ID() brings a count across, so that the connection has another one than the session. Setting it back must
/// not empty the list that is asked about, which stays on the connection of a pinned session.
#[test]
fn a_count_of_conditions_is_told_together_with_the_last_insert_id() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &[]);
    for auto_is_null in ["SET sql_auto_is_null = 0", "SET sql_auto_is_null = 1"] {
        for question in [
            "SELECT @@warning_count, LAST_INSERT_ID()",
            "SELECT @@warning_count",
            "SHOW COUNT(*) WARNINGS",
            "SHOW WARNINGS",
        ] {
            let told = |address: &Address| {
                let mut client = Client::login(address, &Login::default()).unwrap();
                let [count, pin] = ["SELECT FOUND_ROWS()", "SELECT GET_LOCK('pins_counts', 9)"];
                let read = "SELECT CAST('x' AS SIGNED) UNION SELECT 2";
                let texts = [auto_is_null, pin, read, count, question, read, question];
                texts.map(|text| client.run(text))
            };
            let (direct, through) = (told(database.address()), told(&door.address()));
            assert_eq!(through, direct, "{auto_is_null}; {question}");
        }
    }
}
