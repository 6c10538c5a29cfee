//! What clients negotiate beyond what most do: column definitions that they keep, and progress reports (MariaDB), column
//! definitions that they do without (MySQL). Packet by packet what the database itself says.

use wire::{Capabilities, ExtendedCapabilities};

use crate::binary::Step::{Close, Execute, Fetch, Prepare, Reset, Text};
use crate::binary::{ENDINGS, Life, Step, prepare_schema};
use crate::support::{Address, Client, Database, FrontDoor, Login, Packet, Server};

const CURSOR: u8 = 1;
const SCHEMA: &str = "extended";

const SCRIPT: [Step<'_>; 23] = [
    Text("SELECT id, a FROM t ORDER BY id"),
    Prepare("SELECT id, a FROM t WHERE id > ? ORDER BY id LIMIT 2"),
    Execute(0, &[1]),
    Execute(0, &[2]),
    Execute(0, &[100]),
    // A report of its progress comes first.
    Text("ALTER TABLE t MODIFY a BIGINT, ALGORITHM=COPY"),
    Execute(0, &[1]),
    Execute(0, &[1]),
    Text("ALTER TABLE t MODIFY a INT, ALGORITHM=COPY"),
    Execute(0, &[1]),
    Reset,
    Execute(0, &[1]),
    Close,
    Prepare("SELECT ? AS a, b FROM t LIMIT 1"),
    Execute(0, &[7]),
    Execute(0, &[8]),
    Prepare("SELECT 1 + ?"),
    Execute(0, &[1]),
    Prepare("SELECT id FROM t ORDER BY id"),
    Execute(CURSOR, &[]),
    Fetch(100),
    Execute(0, &[]),
    Prepare("INSERT INTO t (a) VALUES (?)"),
];

/// Two clients that take turns.
fn lives(address: &Address, capabilities: Capabilities) -> [Life; 2] {
    let login = Login {
        capabilities: (capabilities | Capabilities::CONNECT_WITH_DB) - Capabilities::LONG_PASSWORD,
        extended: ExtendedCapabilities::CACHE_METADATA | ExtendedCapabilities::PROGRESS,
        ..Login::to(SCHEMA)
    };
    [(); 2].map(|()| Life::of(Client::login(address, &login).unwrap()))
}

fn told(database: &Database, address: &Address, capabilities: Capabilities) -> Vec<Vec<Packet>> {
    prepare_schema(database, SCHEMA);
    let mut lives = lives(address, capabilities);
    let steps = SCRIPT.iter().flat_map(|&step| [(0, step), (1, step)]);
    steps.map(|(who, step)| lives[who].step(step)).collect()
}

#[test]
fn definitions_are_told_once_and_progress_is_told() {
    if !Server::is_mariadb() {
        return;
    }
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 4"]);
    for capabilities in ENDINGS {
        let direct = told(&database, database.address(), capabilities);
        let through = told(&database, &door.address(), capabilities);
        for (place, (through, direct)) in through.iter().zip(&direct).enumerate() {
            let step = SCRIPT[place / 2];
            assert_eq!(through, direct, "{place}: {step:?}, {capabilities:?}");
        }
        // The second execution has no definitions, and the change of a table its progress.
        let [second, change] = [3, 5].map(|step| &direct[2 * step]);
        assert_eq!(second[0].payload, [2, 0]);
        assert_eq!(change[0].payload[..3], [0xff; 3]);
    }
    assert_eq!(door.metric("myriad_backend_losses_total"), 0);
}

/// With definitions, without them, and with them again.
const WITHOUT: [Step<'_>; 21] = [
    Text("SELECT id, a FROM t ORDER BY id"),
    Prepare("SELECT id, a FROM t WHERE id > ? ORDER BY id LIMIT 2"),
    Text("SET @v = 'kept', resultset_metadata = NONE"),
    Execute(0, &[1]),
    Text("SELECT id, a FROM t ORDER BY id"),
    Text("SELECT @@resultset_metadata, @v"),
    Text("SELECT id FROM t WHERE id < 0"),
    Text("SELECT 1; DO 1; SELECT 2, 3"),
    Text("CALL several()"),
    Text("SELECT CONCAT(@v, '!'), 1.50 INTO @v, @w"),
    Text("SELECT @v, @w"),
    Prepare("SELECT ? AS a, b FROM t LIMIT 1"),
    Execute(0, &[7]),
    Execute(CURSOR, &[7]),
    Fetch(100),
    Close,
    Prepare("INSERT INTO t (a) VALUES (?)"),
    Execute(0, &[3]),
    Text("SELECT no FROM t; SELECT 1"),
    Text("SET resultset_metadata = FULL"),
    Text("SELECT id, a FROM t ORDER BY id"),
];

fn told_without(database: &Database, address: &Address, ending: Capabilities) -> Vec<Vec<Packet>> {
    prepare_schema(database, SCHEMA);
    database.execute(
        "USE extended;
         DELIMITER //
         CREATE PROCEDURE several() BEGIN SELECT 1; SELECT id, a FROM t ORDER BY id; END//
         DELIMITER ;",
    );
    let all = Capabilities::OPTIONAL_RESULTSET_METADATA
        | Capabilities::MULTI_STATEMENTS
        | Capabilities::MULTI_RESULTS
        | Capabilities::PS_MULTI_RESULTS;
    // The second does not want to do without, and is told so where it says NONE.
    let wants = [all, all - Capabilities::OPTIONAL_RESULTSET_METADATA];
    let mut lives = wants.map(|wants| Life::begin(address, SCHEMA, ending | wants));
    let steps = WITHOUT.iter().flat_map(|&step| [(0, step), (1, step)]);
    steps.map(|(who, step)| lives[who].step(step)).collect()
}

#[test]
fn definitions_are_left_out_for_who_does_without() {
    if Server::is_mariadb() {
        return;
    }
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 4"]);
    for ending in ENDINGS {
        let direct = told_without(&database, database.address(), ending);
        let through = told_without(&database, &door.address(), ending);
        for (place, (through, direct)) in through.iter().zip(&direct).enumerate() {
            let step = WITHOUT[place / 2];
            assert_eq!(through, direct, "{place}: {step:?}, {ending:?}");
        }
        let [full, without] = [0, 4].map(|step| &direct[2 * step]);
        assert_eq!(full[0].payload, [2, 1]);
        assert_eq!(without[0].payload, [2, 0]);
    }
    assert_eq!(door.metric("myriad_backend_losses_total"), 0);
}
