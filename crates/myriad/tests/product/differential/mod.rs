//! Random sessions, run directly and through the front door while a thousand others churn the same few
//! backend connections: not one packet may differ, but for what `known` lists. Every other session goes through a front door
//! that is `restless`, where it changes its connection wherever it can.
//!
//! A session is made from a seed and the grammar in `grammar/*.txt`: capability flags, and lines that are
//! statements or commands. One that differs is shortened and printed; once that is mended, its lines belong
//! in `once.txt`, whose sessions are compared first.
//!
//! `MYRIAD_DIFFERENTIAL_SECONDS` has it search for so long, beyond the first seeds, or until it has compared
//! `MYRIAD_DIFFERENTIAL_SESSIONS`; `MYRIAD_DIFFERENTIAL_SEED` says with which seed to begin. For a long search:
//! `MYRIAD_DIFFERENTIAL_TESTERS` compare at a time, `MYRIAD_DIFFERENTIAL_CROWD` threads churn, and it goes on until
//! `MYRIAD_DIFFERENTIAL_ENOUGH` have differed. `MYRIAD_DIFFERENTIAL_FILE` is played in place of `once.txt`.
//! `MYRIAD_DIFFERENTIAL_CLASS` leaves the classes of the grammar with this in their names, to search in one kind of sessions.
//! `MYRIAD_DIFFERENTIAL_OF=suites` makes sessions of the statements in the servers' own test files, those of the suites that
//! `MYRIAD_SUITE` names. With `MYRIAD_DIFFERENTIAL_GLOBALS`, such as `autocommit = 0`, sessions begin with other values than the server's own.

mod case;
mod conditions;
mod crowd;
mod definitions;
mod grammar;
mod ground;
mod known;
mod mixed;
mod plain;
mod player;
mod session;
mod step;
mod theirs;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use self::crowd::{Crowd, OverTcp};
use self::ground::{Compared, Difference, Ground};
use crate::support::{Address, Database, FrontDoor, number};

/// So many are compared if nothing says how long to search, and at least so many if something does.
const SESSIONS: u64 = 60;

/// A search whose sessions changed their backends less often shows little, so it goes on until they have; but
/// not for ever.
const MOVES: usize = 20;
const SESSIONS_MAX: u64 = 10 * SESSIONS;

/// Few connections, so that sessions move. However slow the machine is, no time of the front door's own may run
/// out: directly nobody waits.
const SETTINGS: [&str; 5] = [
    "backend.max_connections = 8",
    "backend.queue_timeout = \"1h\"",
    "backend.connect_timeout = \"1m\"",
    "server.login_timeout = \"1m\"",
    "server.idle_transaction_timeout = \"1h\"",
];

/// What one of the front doors has besides.
const RESTLESS: &str = "backend.restless = \"on\"";

/// The front doors: one that leaves sessions where they are if it can, and one that does not.
type Doors<'a> = [&'a Address; 2];

/// Threads that compare, if nothing says how many.
const TESTERS: u64 = 3;

/// The search ends when so many sessions have differed, if nothing says how many.
const ENOUGH: u64 = 6;

/// What came of a search.
#[derive(Default)]
struct Found {
    different: Vec<String>,
    compared: u64,
    /// How many ended at each known difference.
    known: BTreeMap<&'static str, u64>,
    unstable: u64,
    /// How often sessions were seen on another connection of the database than before.
    moves: usize,
    /// What took longest, and its name.
    slowest: (Duration, String),
}

/// What testers share.
struct Search<'a> {
    direct: &'a Address,
    through: Doors<'a>,
    grammar: &'a grammar::Grammar,
    /// What sessions are made of in place of the grammar's lines, if somebody has asked for that.
    mixed: Option<mixed::Mixed>,
    next: AtomicU64,
    first: u64,
    most: u64,
    testers: usize,
    enough: usize,
    deadline: Instant,
    found: Mutex<Found>,
}

impl Search<'_> {
    /// Compares one session after the other until time is up; first those that differed once.
    fn run(&self, tester: usize) {
        let mut ground = Ground::new(self.direct, self.through, &format!("differ_{tester}"));
        let once = session::once().into_iter().enumerate();
        for (number, lines) in once.filter(|(number, _)| number % self.testers == tester) {
            for door in 0..self.through.len() {
                let name = format!("session {number} of once.txt");
                self.compare(&mut ground, (&lines, door), &name);
            }
        }
        while let Some(seed) = self.next_seed() {
            let lines = match &self.mixed {
                Some(mixed) => mixed.session(seed),
                None => session::session(self.grammar, seed),
            };
            let door = (seed % self.through.len() as u64) as usize;
            self.compare(&mut ground, (&lines, door), &format!("seed {seed}"));
        }
    }

    fn compare(&self, ground: &mut Ground<'_>, (lines, door): (&[String], usize), name: &str) {
        let begin = Instant::now();
        let _named = NamedIfPanics { name, lines };
        let compared = ground.compare(lines, door);
        self.took(begin.elapsed(), (name, lines));
        if let Some(difference) = self.count(compared) {
            let shortened = shown(name, &ground.shortened(difference, door));
            println!("{shortened}");
            self.found.lock().unwrap().different.push(shortened);
        }
    }

    fn took(&self, time: Duration, (name, lines): (&str, &[String])) {
        if time >= player::PATIENCE {
            println!("{name} had no answer for long:\n{}", lines.join("\n"));
        }
        let mut found = self.found.lock().unwrap();
        if time > found.slowest.0 {
            found.slowest = (time, name.to_owned());
        }
    }

    fn next_seed(&self) -> Option<u64> {
        let seed = self.next.fetch_add(1, Ordering::Relaxed);
        let compared = seed - self.first;
        let is_late = Instant::now() > self.deadline && compared >= SESSIONS;
        let found = self.found.lock().unwrap();
        let has_moved = found.moves >= MOVES || compared >= SESSIONS_MAX;
        let ends =
            found.different.len() >= self.enough || is_late && has_moved || compared >= self.most;
        (!ends).then_some(seed)
    }

    fn count(&self, compared: Compared) -> Option<Difference> {
        let mut found = self.found.lock().unwrap();
        found.compared += 1;
        match compared {
            Compared::Same { places } => found.moves += places.saturating_sub(1),
            Compared::Known(words) => *found.known.entry(words).or_default() += 1,
            Compared::Unstable => found.unstable += 1,
            Compared::Different(difference) => return Some(*difference),
        }
        None
    }
}

/// Says whose answer it was that could not be read.
struct NamedIfPanics<'a> {
    name: &'a str,
    lines: &'a [String],
}

impl Drop for NamedIfPanics<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("{} ended this:\n{}", self.name, self.lines.join("\n"));
        }
    }
}

fn shown(name: &str, difference: &Difference) -> String {
    format!(
        "{name}, after these lines:\n{}\ndirect {:#?}\nthrough {:#?}",
        difference.lines.join("\n"),
        difference.direct,
        difference.through
    )
}

fn mixed() -> Option<mixed::Mixed> {
    let of = std::env::var("MYRIAD_DIFFERENTIAL_OF").ok()?;
    assert_eq!(of, "suites", "MYRIAD_DIFFERENTIAL_OF");
    let mixed = mixed::Mixed::find();
    Some(mixed.expect("no test files of the server; run scripts/setup suites"))
}

#[test]
fn random_sessions_are_told_what_the_database_tells() {
    let database = match std::env::var("MYRIAD_DIFFERENTIAL_GLOBALS") {
        Ok(globals) => {
            let own = Database::private();
            own.execute(&format!("SET GLOBAL {globals}"));
            Arc::new(own)
        }
        Err(_) => Database::shared(),
    };
    let restless = [&SETTINGS[..], &[RESTLESS]].concat();
    let doors =
        [&SETTINGS[..], &restless].map(|settings| FrontDoor::start(database.address(), settings));
    let addresses = [doors[0].address(), doors[1].address()];
    let (through, grammar) = (addresses.each_ref(), session::grammar());
    let first = number("MYRIAD_DIFFERENTIAL_SEED", 0);
    let seconds = Duration::from_secs(number("MYRIAD_DIFFERENTIAL_SECONDS", 0));
    let hang_ups = AtomicU64::new(0);
    let crowd = Crowd {
        grammar: &grammar,
        database: &database,
        doors: through,
        over_tcp: doors.each_ref().map(OverTcp::of),
        hang_ups: &hang_ups,
        threads: number("MYRIAD_DIFFERENTIAL_CROWD", crowd::THREADS) as usize,
    };
    let (found, churned) = crowd.around(|| {
        let search = Search {
            direct: database.address(),
            through,
            grammar: &grammar,
            mixed: mixed(),
            next: AtomicU64::new(first),
            first,
            most: number("MYRIAD_DIFFERENTIAL_SESSIONS", u64::MAX),
            testers: number("MYRIAD_DIFFERENTIAL_TESTERS", TESTERS) as usize,
            enough: number("MYRIAD_DIFFERENTIAL_ENOUGH", ENOUGH) as usize,
            deadline: Instant::now() + seconds,
            found: Mutex::default(),
        };
        std::thread::scope(|scope| {
            for tester in 0..search.testers {
                let search = &search;
                scope.spawn(move || search.run(tester));
            }
        });
        search.found.into_inner().unwrap()
    });
    let report = format!(
        "{} sessions from seed {first}, {} moves, {} ended at a known difference, {} unstable; the crowd ran {churned} statements; {} took longest: {:?}",
        found.compared,
        found.moves,
        found.known.values().sum::<u64>(),
        found.unstable,
        found.slowest.1,
        found.slowest.0
    );
    println!("{report}");
    for (words, times) in &found.known {
        println!("{times:5} known: {words}");
    }
    let different = found.different.join("\n\n");
    assert!(different.is_empty(), "{report}\n\n{different}");
    assert!(found.moves >= MOVES, "too few moves: {report}");
    assert!(churned > found.compared, "no crowd: {report}");
    let hang_ups = hang_ups.into_inner();
    println!("{hang_ups} of the crowd hung up");
    assert!(
        hang_ups > found.compared,
        "hardly anybody hung up: {report}"
    );
}
