//! `@@last_gtid`, which MariaDB has: the transaction that the session has written to the binary log last, whichever
//! connection it ran on.

use crate::binary::Life;
use crate::binary::Step::{self, Command, Execute, Prepare, Text};
use crate::session_state::pinned;
use crate::support::{Address, Database, FrontDoor, Packet, Server, USUAL};

const COM_RESET_CONNECTION: u8 = 0x1f;

/// One of two sessions does something.
type Act = (usize, Step<'static>);

const ACTS: [Act; 30] = [
    (0, Text("SELECT @@last_gtid")),
    (1, Text("INSERT INTO t VALUES (1)")),
    (0, Text("SELECT @@last_gtid")),
    (0, Text("INSERT INTO t VALUES (2)")),
    (
        1,
        Text("SELECT @@last_gtid, @@session.last_gtid AS g, CONCAT(@@last_gtid, 'x')"),
    ),
    (0, Text("SELECT @@last_gtid FROM t")),
    (0, Text("BEGIN")),
    (0, Text("INSERT INTO t VALUES (3)")),
    (0, Text("SELECT @@last_gtid")),
    (0, Text("COMMIT")),
    (1, Text("SELECT @@last_gtid")),
    (0, Text("SELECT @@last_gtid")),
    (
        1,
        Text("SET STATEMENT max_statement_time = 50 FOR INSERT INTO t VALUES (4)"),
    ),
    (0, Text("SELECT @@last_gtid")),
    (1, Text("SET @mine = @@last_gtid")),
    (
        1,
        Text("SELECT @mine, COLLATION(@mine), @@last_gtid = @mine"),
    ),
    (0, Prepare("INSERT INTO t VALUES (?)")),
    (0, Execute(0, &[5])),
    (1, Text("SELECT @@last_gtid")),
    (0, Text("SELECT @@last_gtid")),
    (0, Text("CREATE TABLE u (a INT)")),
    (1, Text("SELECT @@last_gtid")),
    (0, Text("SELECT @@last_gtid")),
    (0, Text("SELECT @@global.last_gtid")),
    (
        0,
        Text("INSERT INTO u VALUES (1); SELECT @@last_gtid <> ''"),
    ),
    (0, Text("SELECT @@last_gtid")),
    (1, Command(COM_RESET_CONNECTION, b"")),
    (1, Text("SELECT @@last_gtid")),
    // It pins, since the account may not read what it does.
    (1, Text("CALL adds(6)")),
    (1, Text("SELECT @@last_gtid")),
];

fn begin() -> Database {
    let database = Database::private_with(&[
        "--log-bin",
        "--server-id=9",
        "--log-bin-trust-function-creators=1",
    ]);
    database.schema("written");
    database.execute(
        "USE written; CREATE TABLE t (a INT);
         CREATE PROCEDURE adds(n INT) INSERT INTO t VALUES (n)",
    );
    database.execute(&Server::chosen().hiding_routines("written"));
    database
}

/// What both are told in turn.
fn play(address: &Address) -> Vec<Vec<Packet>> {
    let flags = wire::Capabilities::DEPRECATE_EOF | USUAL;
    let mut both = [0, 1].map(|_| Life::begin(address, "written", flags));
    ACTS.map(|(who, step)| both[who].step(step)).into()
}

#[test]
fn the_last_gtid_is_that_of_the_session() {
    if !Server::is_mariadb() {
        return;
    }
    let direct = play(begin().address());
    let database = begin();
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 1"]);
    let through = play(&door.address());
    for ((act, direct), through) in ACTS.iter().zip(&direct).zip(&through) {
        assert_eq!(direct, through, "{act:?}");
    }
    assert_eq!(pinned(&door, "call"), 1);
}
