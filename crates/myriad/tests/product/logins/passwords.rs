//! A password that changes under very many sessions: the new one is right at once, the old one soon wrong, and
//! nobody who was logged in notices.

use std::time::Instant;

use super::crowd::{Crowd, how_many};
use crate::from_server::{MONITOR, add_monitor, admin, run};
use crate::support::{Address, Client, Database, FrontDoor, Login, Outcome, eventually};

fn log_in(address: &Address, password: &str) -> Result<(), u16> {
    let login = Login {
        user: "lp_a",
        password,
        ..Login::default()
    };
    match Client::login(address, &login) {
        Ok(mut client) => match &client.run("SELECT CURRENT_USER()")[..] {
            [Outcome::Rows(rows)] => {
                assert_eq!(rows[0][0], "lp_a@%");
                Ok(())
            }
            // It was let in by what was known, and the database did not let it in.
            [Outcome::Err(code, _)] => Err(*code),
            other => panic!("{other:?}"),
        },
        Err(Outcome::Err(code, _)) => Err(code),
        Err(other) => panic!("{other:?}"),
    }
}

/// Every session has gone on, and backend connections have been made for them with the password of now. The server
/// cannot keep a session alive whose connection was not made yet.
fn settled(door: &FrontDoor, crowd: &mut Crowd) {
    let commands = || door.metric("myriad_commands_total");
    let before = commands();
    eventually("sessions that go on", || {
        let going = commands() >= before + 2 * how_many(1_000) as u64;
        let connecting = door.metric(r#"myriad_backends{state="connecting"}"#);
        (going && connecting == 0 || !crowd.runs()).then_some(())
    });
}

#[test]
fn a_password_changes_under_a_thousand_sessions_and_none_notices() {
    let database = Database::private();
    add_monitor(&database);
    database.execute("CREATE USER 'lp_a'@'%' IDENTIFIED BY 'p0'");
    // Each worker has connections of its own. A second one may have none yet although many sessions go on.
    let door = FrontDoor::start(database.address(), &[MONITOR, "server.workers = 1"]);
    let (address, folder) = (door.address(), tempfile::tempdir().unwrap());
    // MySQL's plugin has to see it once, and the generator shows it over TLS only.
    assert_eq!(log_in(&address, "p0"), Ok(()));
    let mut crowd = Crowd::selecting(&door, ("lp_a", "p0"), folder.path());
    let mut admin = admin(&door);
    let (mut number, mut slowest) = (0, std::time::Duration::ZERO);
    while crowd.runs() {
        let names = [0, 1, 2].map(|more| format!("p{}", number + more));
        let [old, new, newer] = names.each_ref().map(String::as_str);
        let change = |to: &str| format!("ALTER USER 'lp_a'@'%' IDENTIFIED BY '{to}'");
        settled(&door, &mut crowd);
        run(&mut admin, &change(new));
        assert_eq!(log_in(&address, old), Err(1045), "through the front door");
        assert_eq!(log_in(&address, new), Ok(()), "through the front door");
        settled(&door, &mut crowd);
        database.execute(&change(newer));
        let changed = Instant::now();
        // Every second time the old one is tried first, so that it is not the new one that has the database asked.
        if number % 4 == 0 {
            assert_eq!(log_in(&address, newer), Ok(()), "behind its back");
        }
        eventually("the old password is refused", || {
            (log_in(&address, new) == Err(1045)).then_some(())
        });
        slowest = slowest.max(changed.elapsed());
        assert_eq!(log_in(&address, newer), Ok(()), "behind its back");
        number += 2;
    }
    assert!(number > 0, "it ended early:\n{}", crowd.said());
    println!(
        "{} sessions, {number} changes; an old password was refused {slowest:?} after it at the latest\n{}",
        how_many(1_000),
        crowd.said(),
    );
    crowd.assert_undisturbed();
}
