//! Sessions that go on meanwhile on the same connections, so that a file's sessions move, and find there what is not
//! theirs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::support::{Address, Client, Login, Numbers, Stop};

/// What they work in.
pub(super) const SCHEMA: &str = "
    CREATE DATABASE crowd; CREATE TABLE crowd.narrow (a TINYINT); INSERT INTO crowd.narrow VALUES (1), (2), (3);
    CREATE TABLE crowd.counted (id INT AUTO_INCREMENT PRIMARY KEY);
    GRANT ALL ON crowd.* TO 'app'@'localhost';";

const CLIENTS: usize = 8;

/// Between two of their statements: not for something to happen, but so that the file has most of the machine.
const PAUSE: Duration = Duration::from_millis(2);

const STATEMENTS: [&str; 9] = [
    "INSERT IGNORE INTO narrow VALUES (1000)",
    "INSERT INTO counted () VALUES ()",
    "UPDATE narrow SET a = a LIMIT 1",
    "NO STATEMENT",
    "SELECT * FROM narrow LIMIT 2",
    "SET sql_mode = 'ANSI_QUOTES'",
    "SET time_zone = '+03:00', character_set_results = NULL",
    "SET @x = 'theirs', @a = 66",
    "PREPARE p FROM 'SELECT 66'",
];

/// Does something while they go on.
pub(super) fn amid<T>(address: &Address, act: impl FnOnce() -> T) -> T {
    let stop = AtomicBool::new(false);
    // All at once, as files count the sessions that there are.
    let clients = (0..CLIENTS).map(|_| login(address)).collect();
    std::thread::scope(|scope| {
        let stop = &stop;
        scope.spawn(move || churn(address, clients, stop));
        let _stop = Stop(stop);
        act()
    })
}

/// `None` if the server does not want it, or is gone.
fn login(address: &Address) -> Option<Client> {
    Client::try_login(address, &Login::to("crowd")).ok()?.ok()
}

fn churn(address: &Address, mut clients: Vec<Option<Client>>, stop: &AtomicBool) {
    let mut numbers = Numbers(0);
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(PAUSE);
        let client = &mut clients[numbers.below(CLIENTS)];
        // Files kill sessions that they find, and lock and drop what others work in; then another is begun.
        *client = match client.take() {
            Some(mut client) => {
                let statement = STATEMENTS[numbers.below(STATEMENTS.len())];
                client.try_run(statement).ok().map(|_| client)
            }
            None => login(address),
        };
    }
}
