//! Procedures: those whose bodies leave nothing behind unseen move with their sessions, the others pin them.

use crate::carried::Mover;
use crate::session_state::{Scripts, compare, compare_as, pinned};
use crate::support::{Address, Client, Database, FrontDoor, Login, Outcome, Server};

/// What sessions do at the same time.
const SCRIPTS: Scripts<'_> = &[
    &[
        "CREATE PROCEDURE adds(n INT) BEGIN DECLARE c INT DEFAULT 0; \
         INSERT INTO t (id, a) VALUES (n, 'new'); SELECT COUNT(*) INTO c FROM t WHERE id = n; \
         IF (c > 0) THEN UPDATE t SET a = 'newer' WHERE id = n; END IF; END",
        "CALL adds(10)",
        "SELECT ROW_COUNT()",
        "SELECT FOUND_ROWS()",
        "CALL adds(10)",
        "SHOW WARNINGS",
        "SELECT a FROM t WHERE id = 10",
        "CALL adds(11)",
        "SELECT FOUND_ROWS(), LAST_INSERT_ID()",
    ],
    &[
        "CREATE PROCEDURE several() BEGIN SELECT id FROM t WHERE id < 4; SELECT a FROM t WHERE id = 2; \
         INSERT INTO plain (who) VALUES ('several'); END",
        "SELECT id FROM t WHERE id < 3",
        "CREATE TABLE log (id INT PRIMARY KEY AUTO_INCREMENT)",
        "CREATE PROCEDURE logs() INSERT INTO log () VALUES ()",
        "CALL logs()",
        "SELECT LAST_INSERT_ID(), FOUND_ROWS()",
        "SELECT id FROM t WHERE id < 0",
        "CALL logs()",
        "SELECT LAST_INSERT_ID(), FOUND_ROWS()",
    ],
    &[
        "CREATE PROCEDURE sets() BEGIN SET group_concat_max_len = 777; SET SESSION lock_wait_timeout = 99; END",
        "SELECT @@group_concat_max_len",
        "CALL sets()",
        "SELECT @@group_concat_max_len, @@lock_wait_timeout",
        "CREATE PROCEDURE fails() BEGIN DECLARE EXIT HANDLER FOR NOT FOUND SELECT 'nothing'; \
         SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no'; END",
        "CALL fails()",
        "SHOW ERRORS",
        "SELECT @@group_concat_max_len",
    ],
    &["SELECT @@group_concat_max_len, @@lock_wait_timeout > 99, @out"; 10],
];

#[test]
fn a_call_that_leaves_nothing_behind_pins_nobody() {
    // What MySQL says of the third session may as well be about user variables.
    let scripts: Vec<_> = match Server::is_mariadb() {
        true => SCRIPTS.to_vec(),
        false => [&SCRIPTS[..2], &SCRIPTS[3..]].concat(),
    };
    let (door, _clients) = compare("routines_known", &scripts);
    assert_eq!(pinned(&door, "call") + pinned(&door, "user_variable"), 0);
}

/// Whose bodies the account may not see, so that they pin.
const HIDDEN: &str = "USE routines_found;
    CREATE TABLE t (id INT PRIMARY KEY);
    INSERT INTO t VALUES (1), (2), (3), (4), (5);
    DELIMITER //
    CREATE PROCEDURE counts_none() BEGIN SET @counted = 0; END//
    CREATE PROCEDURE sends(few INT) BEGIN IF few THEN SELECT id FROM t WHERE id < 3; END IF; END//
    CREATE PROCEDURE keeps() BEGIN DECLARE n INT; DECLARE c CURSOR FOR SELECT id FROM t WHERE id > 1;
        OPEN c; FETCH c INTO n; CLOSE c; END//
    DELIMITER ;";

#[test]
fn what_a_hidden_procedure_has_counted_is_told() {
    let told =
        |address: &Address, (rows, call): (u32, &str), mut between: Box<dyn FnMut() + '_>| {
            let mut client = Client::new(address, "routines_found");
            let reads = format!("SELECT id FROM t WHERE id <= {rows}");
            let ask = "SELECT FOUND_ROWS()";
            let lines = [&reads, ask, call, ask, &reads, call, ask, call, ask, ask];
            lines.map(|line| {
                between();
                client.run(line)
            })
        };
    let database = Database::shared();
    database.schema("routines_found");
    database.execute(HIDDEN);
    database.execute(&Server::chosen().hiding_routines("routines_found"));
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 3"]);
    let mut mover = Mover::new(&door, "routines_found");
    let calls = ["CALL counts_none()", "CALL sends(1)", "CALL sends(0)"];
    for rows in [0, 1, 4] {
        for call in calls {
            let direct = told(database.address(), (rows, call), Box::new(|| {}));
            let through = told(&door.address(), (rows, call), Box::new(|| mover.turn()));
            assert_eq!(direct, through, "{rows} {call}");
        }
    }
    // Whether it has counted rows that it does not send is not known: the number of before is no other session's.
    let through = told(
        &door.address(),
        (4, "CALL keeps()"),
        Box::new(|| mover.turn()),
    );
    assert_eq!(through[6], through[1]);
    assert_eq!([&through[3], &through[8]], [&through[9]; 2]);
    assert_eq!(door.metric("myriad_pins_total{reason=\"call\"}"), 10);
}

/// The parse error is that of a text within, by when there was a temporary table.
#[test]
fn a_procedure_that_fails_to_prepare_leaves_nothing_to_others() {
    let database = Database::shared();
    database.schema("routines_left");
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 1"]);
    let mut leaves = Client::new(&door.address(), "routines_left");
    leaves.run(
        "CREATE PROCEDURE leaves() BEGIN CREATE TEMPORARY TABLE left_behind (a INT); SET @bad = 'SELEC'; \
         PREPARE s FROM @bad; END",
    );
    let outcomes = leaves.run("CALL leaves()");
    assert!(
        matches!(outcomes[..], [Outcome::Err(1064, _)]),
        "{outcomes:?}"
    );
    assert_eq!(leaves.value("SELECT COUNT(*) FROM left_behind"), "0");
    drop(leaves);
    let mut other = Client::new(&door.address(), "routines_left");
    let outcomes = other.run("SELECT COUNT(*) FROM left_behind");
    assert!(
        matches!(outcomes[..], [Outcome::Err(1146, _)]),
        "{outcomes:?}"
    );
}

/// MariaDB tells everybody which user variables there are, MySQL those who may look.
#[test]
fn what_a_procedure_assigns_follows_its_session() {
    let scripts: Scripts<'_> = &[
        &[
            "CREATE PROCEDURE remembers(OUT n INT) BEGIN SET @kept = 5; SELECT 'text' INTO @other; \
             SELECT COUNT(*) INTO n FROM t WHERE id < 4; END",
            "CALL remembers(@out)",
            "SELECT @kept, @other, @out",
            "CALL remembers(@kept)",
            "SELECT @kept, @other, @out",
            "CREATE PROCEDURE fires() INSERT INTO plain (who) VALUES ('x')",
            "CALL fires()",
            "SELECT @last",
        ],
        &["SELECT @kept, @other, @out, @last"; 8],
    ];
    let who_may_look = Login {
        user: "admin",
        password: "all",
        ..Login::to("routines_variables")
    };
    let (door, _clients) = compare_as(&who_may_look, scripts);
    assert_eq!(pinned(&door, "call") + pinned(&door, "user_variable"), 0);
}

#[test]
fn a_call_that_may_leave_something_behind_pins() {
    let database = Database::shared();
    database.schema("routines_unknown");
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 2"]);
    let client = || Client::new(&door.address(), "routines_unknown");
    let done = |client: &mut Client, text: &str| {
        let told = client.run(text);
        assert!(!matches!(told[..], [Outcome::Err(..)]), "{text}: {told:?}");
    };
    let mut first = client();
    done(&mut first, "CREATE PROCEDURE p() SELECT 1");
    done(&mut first, "CALL p()");
    assert_eq!(pinned(&door, "call"), 0);
    // It is another one now.
    done(&mut first, "DROP PROCEDURE p");
    done(
        &mut first,
        "CREATE PROCEDURE p() CREATE TEMPORARY TABLE made (a INT)",
    );
    done(&mut first, "CALL p()");
    assert_eq!(pinned(&door, "call"), 1);
    assert_eq!(first.value("SELECT COUNT(*) FROM made"), "0");
    drop(first);
    for (place, body) in [
        "DO GET_LOCK('routines', 0)",
        "CALL p()",
        "SET timestamp = 5",
    ]
    .into_iter()
    .enumerate()
    {
        let mut client = client();
        done(&mut client, "DROP PROCEDURE IF EXISTS q");
        done(&mut client, &format!("CREATE PROCEDURE q() {body}"));
        done(&mut client, "CALL q()");
        assert_eq!(pinned(&door, "call"), 2 + place as u64, "{body}");
    }
}
