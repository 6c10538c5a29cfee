//! Clients that hang up while a statement of theirs runs: what the statement counted, found or left is no answer to the next
//! session of the backend.

use crate::support::{Client, Database, FrontDoor, HangUp, eventually};

const SCHEMA: &str = "hang_ups";

const RESETS: &str = "myriad_backend_resets_total";

/// What runs when a client hangs up. Those that Myriad does not kill, because they may write, end by themselves soon.
const RUNNING: [&str; 4] = [
    "SELECT a, IF(a = 5, SLEEP(60), 0) FROM t",
    "SELECT SLEEP(60)",
    "SELECT SQL_CALC_FOUND_ROWS a, SLEEP(60) FROM t LIMIT 1",
    "SELECT 1; SELECT a FROM t; SELECT SLEEP(0.5)",
];

/// What another session runs before, and asks for afterwards.
const ASKED: [(&str, &str, &str); 5] = [
    (
        "SELECT SQL_CALC_FOUND_ROWS a FROM t WHERE a < 8 LIMIT 1",
        "SELECT FOUND_ROWS()",
        "7",
    ),
    (
        "UPDATE t SET b = b + 1 WHERE a < 5",
        "SELECT ROW_COUNT()",
        "4",
    ),
    ("SELECT LAST_INSERT_ID(77)", "SELECT LAST_INSERT_ID()", "77"),
    ("SELECT CAST('x' AS SIGNED)", "SELECT @@warning_count", "1"),
    ("SET @a = 'mine'", "SELECT @a", "mine"),
];

#[test]
fn the_next_session_is_told_its_own_counts_ids_and_variables() {
    let database = Database::shared();
    database.schema(SCHEMA);
    let rows = (1..=20).map(|a| format!("({a}, 0)")).collect::<Vec<_>>();
    database.execute(&format!(
        "CREATE TABLE {SCHEMA}.t (a INT PRIMARY KEY, b INT); INSERT INTO {SCHEMA}.t VALUES {}",
        rows.join(", ")
    ));
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 1"]);
    let mut session = Client::new(&door.address(), SCHEMA);
    let mut direct = Client::new(database.address(), SCHEMA);
    let at_work = format!(
        "SELECT COUNT(*) FROM information_schema.PROCESSLIST
         WHERE STATE = 'User sleep' AND DB = '{SCHEMA}'"
    );
    for how in [HangUp::Closed, HangUp::Reset] {
        for running in RUNNING {
            for (before, question, expected) in ASKED {
                session.run(before);
                let resets = door.metric(RESETS);
                let mut other = Client::new(&door.address(), SCHEMA);
                other.query(running);
                eventually("the statement runs", || {
                    direct.lists(&at_work, "1").then_some(())
                });
                other.hang_up(how);
                assert_eq!(
                    session.value(question),
                    expected,
                    "{question} behind {running}"
                );
                assert!(
                    door.metric(RESETS) > resets,
                    "{running} left its backend as it was"
                );
            }
        }
    }
}
