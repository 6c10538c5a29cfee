//! COM_CHANGE_USER: what the server says, and what is left of the session, directly and through the front door. Myriad
//! closes the connection of a client that is refused, as MySQL does; MariaDB leaves it to the account of before.

use crate::support::{Address, Client, Database, FrontDoor, Login, Outcome, Server};

const COM_CHANGE_USER: u8 = 0x11;

/// What is run in between, to see that it is gone.
const CHANGES: &str = "SET @a = 5, sql_mode = 'ANSI', NAMES utf8mb3";

/// What is asked of a session that was refused to be somebody else.
const QUESTIONS: [&str; 4] = [
    "SHOW WARNINGS",
    "SELECT CURRENT_USER(), DATABASE(), @a, @@sql_mode",
    "SELECT @@character_set_client, @@collation_connection, @@autocommit",
    "SELECT COUNT(*) FROM customer",
];

/// Who it asks to be, with which password, and in which schema; or nobody at all.
type Change<'a> = Option<(&'a str, &'a str, &'a str)>;

// MySQL asks those whom it does not know for anything.
const STRANGER: Change<'_> = Some(("load", "all", ""));
const WRONG: Change<'_> = Some(("admin", "wrong", "shop"));
const NO_SCHEMA: Change<'_> = Some(("admin", "all", "nosuch"));
const RIGHT: Change<'_> = Some(("admin", "all", "sbtest"));
const ITSELF: Change<'_> = Some(("app", "secret", "shop"));

/// What is told of one change after the other, up to one that is refused, and of the session that is there then. `closes`:
/// the connection of a client that is refused is closed.
fn told(address: &Address, changes: &[Change<'_>], closes: bool) -> Vec<String> {
    let mut client = Client::login(address, &Login::to("shop")).unwrap();
    let mut told = Vec::new();
    for change in changes {
        told.push(format!("{:?}", client.run(CHANGES)));
        let changed = become_other(&mut client, *change);
        told.push(format!("{changed:?}"));
        if changed.is_err() {
            assert!(!closes || client.try_run("SELECT 1").is_err(), "{change:?}");
            break;
        }
        for question in QUESTIONS {
            told.push(format!("{question}: {:?}", client.run(question)));
        }
    }
    told
}

fn become_other(client: &mut Client, change: Change<'_>) -> Result<(), Outcome> {
    let (argument, password) = match change {
        // The plugin is nobody's, so the client is asked to switch.
        Some((user, password, schema)) => {
            let tail = "\0\x2d\0none_of_these\0";
            (format!("{user}\0\0{schema}{tail}"), password)
        }
        None => ("nobody".to_owned(), ""),
    };
    client.send_command_that_goes(COM_CHANGE_USER, argument.as_bytes());
    client.finish_login(password).unwrap()
}

#[test]
fn who_may_not_be_somebody_else_is_told_what_the_server_tells() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &[]);
    let table: [&[Change<'_>]; 8] = [
        &[STRANGER],
        &[WRONG],
        &[NO_SCHEMA],
        &[None],
        &[RIGHT, ITSELF, WRONG],
        &[RIGHT, NO_SCHEMA],
        &[RIGHT, Some(("app", "secret", "nosuch"))],
        &[RIGHT, ITSELF, RIGHT, ITSELF, RIGHT],
    ];
    for changes in table {
        let through = told(&door.address(), changes, true);
        let direct = told(database.address(), changes, !Server::is_mariadb());
        assert_eq!(through, direct, "{changes:?}");
    }
    let sessions = door.metric(r#"myriad_clients{state="idle"}"#);
    assert!(sessions <= 1, "{sessions} sessions");
}

/// What logins with collations in which no statement can be read are told, and a session that asks for one later.
fn told_unreadable(address: &Address) -> Vec<String> {
    let mut told = Vec::new();
    for collation in [17, 35, 54, 56, 60, 90, 101, 124, 128, 151, 159, 160, 183] {
        let login = Login {
            collation,
            ..Login::default()
        };
        let refused = Client::login(address, &login).err();
        told.push(format!("{collation}: {refused:?}"));
    }
    let mut client = Client::login(address, &Login::to("shop")).unwrap();
    client.send_command_that_goes(COM_CHANGE_USER, b"app\0\0shop\0\x23\0none_of_these\0");
    told.push(format!("{:?}", client.finish_login("secret")));
    told
}

#[test]
fn a_character_set_in_which_no_statement_can_be_read_is_refused() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &[]);
    let direct = told_unreadable(database.address());
    assert_eq!(told_unreadable(&door.address()), direct);
    assert!(direct[1].contains("1231"), "{direct:?}");
}

/// The servers ask for a proof, whatever came with the command; some drivers send the password itself.
#[test]
fn who_changes_is_asked_for_a_proof() {
    let told = |address: &Address| {
        let mut told = Vec::new();
        for plugin in ["mysql_native_password", "caching_sha2_password"] {
            for (user, password) in [("app", "secret"), ("admin", "all"), ("admin", "wrong")] {
                let mut client = Client::login(address, &Login::to("shop")).unwrap();
                let len = char::from(u8::try_from(password.len()).unwrap());
                let argument = format!("{user}\0{len}{password}shop\0\x2d\0{plugin}\0");
                client.send_command_that_goes(COM_CHANGE_USER, argument.as_bytes());
                let answer = client.finish_login(password).unwrap();
                told.push(format!("{plugin} {user} {password} {answer:?}"));
            }
        }
        told
    };
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &[]);
    let direct = told(database.address());
    assert_eq!(told(&door.address()), direct);
    assert_eq!(
        door.metric("myriad_auth_switches_total"),
        direct.len() as u64
    );
}
