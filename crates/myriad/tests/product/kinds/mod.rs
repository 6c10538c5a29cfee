//! Kinds of statements, each as a session of its own and several mixed into one, run directly and
//! through the front door while 200 others churn the same eight backend connections: not one packet
//! may differ, whichever way answers end.
//!
//! The statements stand in `scripts`. What is known to differ is exempted by name, and only as long
//! as it does differ and `docs/DIFFERENCES.md` says so.

mod scripts;

use wire::Capabilities;

use self::scripts::KINDS;
use crate::packets::{INDEX, shown};
use crate::support::{
    Address, Client, Database, FrontDoor, Login, Numbers, Server, USUAL, amid_churn, differences,
};

/// Kinds that differ, and the words of `docs/DIFFERENCES.md` that say so.
const EXEMPT: [(&str, &str); 0] = [];

const KINDS_PER_SESSION: usize = 4;

/// How much is compared.
struct Extent {
    /// Each kind with both ways in which answers end, not with one of them.
    both_endings: bool,
    /// Sessions of several kinds in a row.
    mixed: u64,
}

/// Both ways in which result sets end.
const ENDINGS: [Capabilities; 2] = [Capabilities::DEPRECATE_EOF, Capabilities::empty()];

/// The state of the database that every session begins with.
fn begin(database: &Database) {
    database.schema("kinds");
    database.execute(
        "CREATE ROLE IF NOT EXISTS kinds_clerk; GRANT kinds_clerk TO 'app'@'localhost';
         USE kinds;
         CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, a VARCHAR(10), n TINYINT, UNIQUE (a));
         INSERT INTO t VALUES (1, 'one', 1), (2, 'two', 2), (3, 'three', 3);
         CREATE TABLE u (id INT PRIMARY KEY, t_id INT, FOREIGN KEY (t_id) REFERENCES t (id));
         INSERT INTO u VALUES (1, 1), (2, 2);
         CREATE VIEW v AS SELECT id, a FROM t WHERE id < 3;
         CREATE FUNCTION f(x INT) RETURNS INT DETERMINISTIC RETURN x + 1;
         DELIMITER //
         CREATE FUNCTION writes() RETURNS INT BEGIN
             INSERT INTO u VALUES (70, NULL); SET @written = 70; RETURN ROW_COUNT(); END//
         CREATE PROCEDURE several() BEGIN
             SELECT 1 AS one; SELECT * FROM t; UPDATE t SET n = 9; SELECT id FROM t WHERE 0; END//
         CREATE PROCEDURE gives(IN i INT, OUT o INT, INOUT io INT) BEGIN
             SET o = i * 2, io = io + 1; END//
         CREATE PROCEDURE fails() BEGIN
             SELECT 1; INSERT INTO u VALUES (1, 1); SELECT 2; END//
         CREATE PROCEDURE signals() BEGIN
             SIGNAL SQLSTATE '01000' SET MESSAGE_TEXT = 'careful';
             SELECT 1; SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'enough', MYSQL_ERRNO = 3001; END//
         CREATE TRIGGER counts AFTER INSERT ON u FOR EACH ROW SET @inserted = NEW.id//
         DELIMITER ;",
    );
}

/// What a session of these statements is told.
fn told(address: &Address, ending: Capabilities, script: &[&str]) -> Vec<Vec<String>> {
    let capabilities = (USUAL - Capabilities::DEPRECATE_EOF) | ending;
    let login = Login {
        capabilities: capabilities | Capabilities::CONNECT_WITH_DB,
        ..Login::to("kinds")
    };
    let mut client = Client::login(address, &login).unwrap();
    let ask = |text: &&str| {
        client.query(&Server::words(text));
        let answer = client.answer();
        let mut answer = answer.unwrap_or_else(|error| panic!("{text}: {error}"));
        answer.ignore_after_columns(INDEX);
        shown(&answer)
    };
    script.iter().map(ask).collect()
}

/// The first difference between a direct session and one through the front door.
fn difference(
    database: &Database,
    through: &Address,
    ending: Capabilities,
    script: &[&str],
) -> Option<String> {
    let addresses = [database.address(), through];
    let [direct, through] = addresses.map(|address| {
        begin(database);
        told(address, ending, script)
    });
    let place = (0..script.len()).find(|&place| direct[place] != through[place])?;
    Some(format!(
        "with {ending:?}, after {:#?}\ndirect {:#?}\nthrough {:#?}",
        &script[..=place],
        direct[place],
        through[place]
    ))
}

fn is_exempt(name: &str) -> bool {
    EXEMPT.iter().any(|(exempt, _)| *exempt == name)
}

/// Compares each kind by itself, and then sessions of several.
fn compare(database: &Database, address: &Address, extent: &Extent) {
    let mut wrong = Vec::new();
    for (number, (name, script)) in KINDS.into_iter().enumerate() {
        let endings = match extent.both_endings {
            true => &ENDINGS[..],
            false => &ENDINGS[number % 2..][..1],
        };
        for &ending in endings {
            let difference = difference(database, address, ending, script);
            match (difference, is_exempt(name)) {
                (Some(difference), false) => wrong.push(format!("{name}: {difference}")),
                (None, true) => wrong.push(format!("{name} does not differ: exempt it no longer")),
                (Some(_), true) | (None, false) => {}
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    let kinds = KINDS.iter().filter(|(name, _)| !is_exempt(name));
    let kinds: Vec<_> = kinds.map(|(_, script)| *script).collect();
    for seed in 0..extent.mixed {
        let mut numbers = Numbers(seed);
        let picked = (0..KINDS_PER_SESSION).map(|_| {
            let script = kinds[numbers.below(kinds.len())];
            // Sometimes one is broken off.
            &script[..script.len() - numbers.below(3) * script.len() / 4]
        });
        let script = picked.collect::<Vec<_>>().concat();
        let ending = ENDINGS[numbers.below(2)];
        let difference = difference(database, address, ending, &script);
        assert!(difference.is_none(), "seed {seed}: {}", difference.unwrap());
    }
}

fn show(schema: &str, extent: &Extent) {
    let differences = differences();
    for (name, words) in EXEMPT {
        assert!(differences.contains(words), "{name}: {words}");
        assert!(KINDS.iter().any(|(kind, _)| *kind == name), "{name}");
    }
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 8"]);
    let address = door.address();
    amid_churn((&database, schema), &address, || {
        compare(&database, &address, extent);
    });
}

#[test]
fn all_kinds_of_statements_are_answered_as_by_the_database() {
    let extent = Extent {
        both_endings: false,
        mixed: 8,
    };
    show("kinds_churn", &extent);
}

#[test]
#[ignore = "takes four minutes"]
fn long_mixes_of_all_kinds_are_answered_as_by_the_database() {
    let extent = Extent {
        both_endings: true,
        mixed: 300,
    };
    show("kinds_long_churn", &extent);
}
