//! What clients of MariaDB negotiate beyond MySQL's capabilities: column definitions that they keep, and progress
//! reports. Packet by packet what the database itself says.

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
