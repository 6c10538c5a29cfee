//! A thousand sessions that go on meanwhile, on the same few connections of the database: all that could
//! be mistaken for a session's own.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use wire::Capabilities;

use super::Doors;
use super::grammar::Grammar;
use super::ground::offered;
use super::player::Player;
use super::session::with;
use crate::support::{Address, Client, Database, FrontDoor, Login, Numbers, Stop};

/// Threads that play its sessions, if nothing says how many.
pub(super) const THREADS: u64 = 8;

/// Its sessions.
const CLIENTS: usize = 1_000;

/// The schema that the crowd works in.
const SCHEMA: &str = "differential_crowd";

/// So many rows the crowd finds, and changes.
const MANY: usize = 43;
const CHANGED: usize = 47;

fn values(rows: usize) -> String {
    vec!["(1)"; rows].join(", ")
}

/// What a crowd works with.
pub(super) struct Crowd<'a> {
    pub(super) grammar: &'a Grammar,
    pub(super) database: &'a Database,
    pub(super) doors: Doors<'a>,
    pub(super) threads: usize,
    /// The same doors over TCP.
    pub(super) over_tcp: [OverTcp; 2],
    /// How many hung up.
    pub(super) hang_ups: &'a AtomicU64,
}

/// A front door over TCP, and the certificate that it has made.
#[derive(Clone, Debug)]
pub(super) struct OverTcp {
    address: Address,
    certificate: Vec<u8>,
}

impl OverTcp {
    pub(super) fn of(door: &FrontDoor) -> Self {
        let certificate = door.folder().join("myriad-auto-cert.pem");
        Self {
            address: Address::Tcp(door.tcp()),
            certificate: std::fs::read(certificate).unwrap(),
        }
    }
}

impl Crowd<'_> {
    /// Does something while the crowd works. Returns what came of it, and how many statements the
    /// crowd ran meanwhile.
    pub(super) fn around<T>(&self, act: impl FnOnce() -> T) -> (T, u64) {
        self.database.schema(SCHEMA);
        self.database.execute(&format!(
            "USE {SCHEMA}; CREATE TABLE narrow (theirs TINYINT); INSERT INTO narrow VALUES (1), (2), (3);
             CREATE TABLE counted (id INT AUTO_INCREMENT PRIMARY KEY, b INT) AUTO_INCREMENT = 6600000;
             CREATE TABLE many (a INT); INSERT INTO many VALUES {};
             CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(10), n TINYINT);
             CREATE TABLE slow (id INT AUTO_INCREMENT PRIMARY KEY, b INT);
             CREATE TABLE loaded (id INT PRIMARY KEY, b INT);
             CREATE PROCEDURE theirs() SELECT a, IF(a = 1, SLEEP(0.02), 0) FROM many LIMIT 5;
             COMMIT",
            values(MANY),
        ));
        let clients = std::thread::scope(|scope| {
            let logins: Vec<_> = (0..self.threads)
                .map(|thread| scope.spawn(move || self.clients(thread)))
                .collect();
            let joined = logins.into_iter().map(|login| login.join().unwrap());
            joined.collect::<Vec<_>>()
        });
        let (stop, run) = (AtomicBool::new(false), AtomicU64::new(0));
        let done = std::thread::scope(|scope| {
            let (stop, run) = (&stop, &run);
            for clients in clients {
                scope.spawn(move || {
                    let _stop = Stop(stop);
                    self.churn(clients, (stop, run));
                });
            }
            for door in self.doors {
                scope.spawn(move || self.pin(door, stop));
            }
            for (door, over_tcp) in self.doors.into_iter().zip(&self.over_tcp) {
                scope.spawn(move || self.hang_up((door, over_tcp), stop));
            }
            let _stop = Stop(stop);
            act()
        });
        (done, run.into_inner())
    }

    fn line(&self, rule: &str, numbers: &mut Numbers) -> String {
        let line = self.grammar.line(rule, numbers);
        line.replace("$s", SCHEMA)
            .replace("$changed", &values(CHANGED))
    }

    fn clients(&self, thread: usize) -> Vec<(Player, Numbers)> {
        let door = self.doors[thread % self.doors.len()];
        let offered = offered(door);
        let numbers = |client| Numbers((thread * CLIENTS + client) as u64);
        let players = (0..CLIENTS / self.threads).map(numbers);
        let login = |mut numbers: Numbers| {
            let player = self.log_in((door, offered), &mut numbers);
            (player, numbers)
        };
        players.map(login).collect()
    }

    /// One with autocommit, whatever sessions begin with: without it each would soon hold a connection for good.
    fn log_in(&self, (door, offered): (&Address, Capabilities), numbers: &mut Numbers) -> Player {
        let login = self.line("crowd_login", numbers);
        let mut player = Player::login(door, offered, &login).unwrap();
        player.step("SET autocommit = 1").unwrap();
        player
    }

    fn churn(&self, mut clients: Vec<(Player, Numbers)>, (stop, run): (&AtomicBool, &AtomicU64)) {
        let mut which = Numbers(clients.len() as u64);
        while !stop.load(Ordering::Relaxed) {
            let which = which.below(clients.len());
            let (player, numbers) = &mut clients[which];
            let line = self.line("crowd", numbers);
            player
                .step(&line)
                .unwrap_or_else(|error| panic!("the crowd: {line}: {error}"));
            run.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Sessions that hold a connection, one at a time, and go.
    fn pin(&self, door: &Address, stop: &AtomicBool) {
        let (offered, mut numbers) = (offered(door), Numbers(1));
        while !stop.load(Ordering::Relaxed) {
            let mut player = self.log_in((door, offered), &mut numbers);
            let line = self.line("pinning", &mut numbers);
            player
                .step(&line)
                .unwrap_or_else(|error| panic!("the crowd: {line}: {error}"));
        }
    }

    /// Sessions that hang up while something of theirs is under way, one at a time. They are of the same account and have
    /// the same flags as those that are compared, and so use the same connections.
    fn hang_up(&self, (door, over_tcp): (&Address, &OverTcp), stop: &AtomicBool) {
        let (offered, mut numbers) = (offered(door), Numbers(2));
        while !stop.load(Ordering::Relaxed) {
            let mut line = self.line("crowd_login", &mut numbers);
            let way = numbers.below(4);
            if way == 1 {
                line = with("+COMPRESS", &line);
            }
            let connect = |login: &Login<'_>| match way {
                0 => Client::login(door, login),
                1 | 2 => Client::login(&over_tcp.address, login),
                _ => Client::login_over_tls(&over_tcp.address, login, &over_tcp.certificate),
            };
            let mut player = Player::login_by(offered, &line, connect).unwrap();
            for _ in 0..numbers.below(3) {
                let line = self.line("hanging", &mut numbers);
                if !line.starts_with("\\load") {
                    player
                        .step(&line)
                        .unwrap_or_else(|error| panic!("who hangs up: {line}: {error}"));
                }
            }
            let line = self.line("hanging", &mut numbers);
            player.hang_up_in(&line, &mut numbers);
            self.hang_ups.fetch_add(1, Ordering::Relaxed);
        }
    }
}
