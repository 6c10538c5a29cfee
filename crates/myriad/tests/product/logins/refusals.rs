//! A wrong password and an account that is not there are told alike, and what either costs is printed. That both
//! take the same steps is tested where the steps can be counted: in the engine.

use std::time::{Duration, Instant};

use super::crowd::how_many;
use crate::from_server::{MONITOR, add_monitor};
use crate::support::{Client, Database, FrontDoor, Login, Outcome};

const THERE: &str = "lr_there";
const NOT_THERE: &str = "lr_nobdy";

/// A login that is refused: how long that takes, and what is told.
fn refusal(door: &FrontDoor, user: &str) -> (Duration, String) {
    let login = Login {
        user,
        password: "wrong",
        ..Login::default()
    };
    let begun = Instant::now();
    match Client::login(&door.address(), &login).map(drop) {
        Err(Outcome::Err(1045, text)) => (begun.elapsed(), text.replace(user, "somebody")),
        other => panic!("{user}: {other:?}"),
    }
}

/// The processor's time that the front door has taken.
fn processor_time(door: &FrontDoor) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", door.pid())).unwrap();
    let (_, fields) = stat.rsplit_once(')').unwrap();
    let ticks = fields.split_whitespace().skip(11).take(2);
    let ticks: u64 = ticks.map(|ticks| ticks.parse::<u64>().unwrap()).sum();
    // In hundredths of a second, whatever the machine.
    Duration::from_millis(10 * ticks)
}

fn percentiles(times: &mut [Duration]) -> [Duration; 3] {
    times.sort_unstable();
    [times.len() / 4, times.len() / 2, times.len() * 3 / 4].map(|at| times[at])
}

/// Both by turns, so that whatever else the machine does is the same for both.
fn assert_told_alike(door: &FrontDoor, what: &str) {
    let tries = how_many(40);
    let before = processor_time(door);
    let (mut there, mut not_there) = (Vec::new(), Vec::new());
    for _ in 0..tries {
        let (wrong, unknown) = (refusal(door, THERE), refusal(door, NOT_THERE));
        assert_eq!(wrong.1, unknown.1);
        there.push(wrong.0);
        not_there.push(unknown.0);
    }
    let each = (processor_time(door) - before) / (2 * tries as u32);
    println!(
        "{what}, {tries} tries of each (25 %, 50 %, 75 %): a wrong password {:?}, an unknown account {:?}; {each:?} of a \
         processor each",
        percentiles(&mut there),
        percentiles(&mut not_there)
    );
}

#[test]
fn a_wrong_password_and_an_unknown_account_are_told_alike() {
    let database = Database::shared();
    add_monitor(&database);
    database.execute(&format!("CREATE USER '{THERE}'@'%' IDENTIFIED BY 'right'"));
    let door = FrontDoor::start(database.address(), &[MONITOR]);
    assert_told_alike(&door, "accounts of the database");
    let there = format!("[[account]]\nuser = \"{THERE}\"\npassword = \"right\"");
    for plugin in ["mysql_native_password", "caching_sha2_password"] {
        let plugin_setting = format!("server.default_authentication_plugin = {plugin:?}");
        let door = FrontDoor::start(database.address(), &[&plugin_setting, &there]);
        assert_told_alike(&door, &format!("accounts of the configuration, {plugin}"));
    }
}
