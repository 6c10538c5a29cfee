//! Where sessions are compared: a schema that is made anew for each, directly and through the front
//! door, and the search for the shortest session that still differs.

use std::time::{Duration, Instant};

use wire::{Capabilities, InitialHandshake};

use super::Doors;
use super::case::Case;
use super::player::{NO_ANSWER, Told, play};
use crate::support::{Address, Client, LIMIT, Login, Outcome, Server, in_time};

/// How often a session that differed is tried again directly, and without one of its lines: what else goes on
/// decides.
const TRIES: usize = 3;

/// How many sessions shortening may take.
const SEARCH: usize = 120;

/// One tester's part of the database.
pub(super) struct Ground<'a> {
    direct: &'a Address,
    through: Doors<'a>,
    /// The flags that both offer.
    offered: Capabilities,
    /// Makes the schema, and sees to what a session leaves behind.
    keeper: Client,
    schema: String,
    /// Counts the sessions, for names that are the whole server's.
    sessions: u64,
}

/// What a session was told otherwise, at its last line.
pub(super) struct Difference {
    pub(super) lines: Vec<String>,
    pub(super) direct: Vec<String>,
    pub(super) through: Vec<String>,
}

/// What came of a comparison.
pub(super) enum Compared {
    /// Nothing differed. On so many connections of the database was the session.
    Same {
        places: usize,
    },
    /// What differs is told in `docs/DIFFERENCES.md`, in these words.
    Known(&'static str),
    /// The database itself does not say the same twice.
    Unstable,
    Different(Box<Difference>),
}

/// True of a line by which the server ends something after a while.
fn is_timed(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    ["max_execution_time", "max_statement_time"]
        .iter()
        .any(|limit| line.contains(limit))
}

impl<'a> Ground<'a> {
    pub(super) fn new(direct: &'a Address, through: Doors<'a>, schema: &str) -> Self {
        let mut keeper = keeper(direct);
        // Whoever still has a table, or a row of it, will be asked again.
        keeper.run("SET lock_wait_timeout = 1, innodb_lock_wait_timeout = 1, autocommit = 1");
        if std::env::var_os("MYRIAD_DIFFERENTIAL_GLOBALS").is_some() {
            // The schema is made in words that these might forbid.
            keeper.run("SET sql_mode = 'STRICT_TRANS_TABLES'");
            keeper.run("SET SESSION TRANSACTION READ WRITE");
        }
        let mut ground = Self {
            direct,
            through,
            offered: offered(direct) & offered(through[0]),
            keeper,
            schema: schema.to_owned(),
            sessions: 0,
        };
        ground.grant();
        ground
    }

    /// Runs a session directly and through one of the front doors.
    pub(super) fn compare(&mut self, lines: &[String], door: usize) -> Compared {
        match self.try_compare(lines, self.through[door]) {
            Some(compared) => compared,
            None => {
                self.move_on();
                Compared::Unstable
            }
        }
    }

    /// The same; `None` if the schema cannot be made anew any more.
    fn try_compare(&mut self, lines: &[String], door: &Address) -> Option<Compared> {
        let direct = self.play_directly(lines)?;
        let through = self.play(door, lines)?;
        let place =
            (0..lines.len()).find(|&place| direct.answers.get(place) != through.answers.get(place));
        let Some(place) = place else {
            let places = through.places.len();
            return Some(Compared::Same { places });
        };
        let before = direct.answers[..place].to_vec();
        let answer = |told: &Told| told.answers.get(place).cloned().unwrap_or_default();
        let (direct, through) = (answer(&direct), answer(&through));
        let lines = lines[..=place].to_vec();
        let case = Case {
            lines: &lines,
            direct: &direct,
            through: &through,
            before: &before,
        };
        if let Some(words) = case.known() {
            return Some(Compared::Known(words));
        }
        for _ in 0..TRIES {
            let again = answer(&self.play_directly(&lines)?);
            if again != direct {
                let told = format!("direct {direct:#?}\nagain {again:#?}\nthrough {through:#?}");
                println!("not the same twice:\n{}\n{told}", lines.join("\n"));
                return Some(Compared::Unstable);
            }
        }
        // The server's timers are late on a busy machine.
        let is_timed = lines.last().is_some_and(|line| is_timed(line));
        for _ in 0..if is_timed { TRIES } else { 0 } {
            if answer(&self.play(door, &lines)?) == direct {
                return Some(Compared::Unstable);
            }
        }
        Some(Compared::Different(Box::new(Difference {
            lines,
            direct,
            through,
        })))
    }

    /// The same difference, or another one, with as few lines as were found.
    pub(super) fn shortened(&mut self, difference: Difference, door: usize) -> Difference {
        let (mut shortest, mut left) = (difference, SEARCH);
        let mut place = shortest.lines.len().saturating_sub(1);
        let mut dropped = false;
        // Waiting for an answer again and again would take hours.
        if shortest
            .through
            .first()
            .is_some_and(|told| told == NO_ANSWER)
        {
            return shortest;
        }
        // The first line is the login.
        while left > 0 {
            if place <= 1 {
                if !std::mem::take(&mut dropped) {
                    break;
                }
                place = shortest.lines.len();
            }
            place -= 1;
            if place == 0 || place >= shortest.lines.len() {
                continue;
            }
            let mut lines = shortest.lines.clone();
            lines.remove(place);
            for _ in 0..TRIES {
                left = left.saturating_sub(1);
                if let Compared::Different(shorter) = self.compare(&lines, door) {
                    (shortest, dropped) = (*shorter, true);
                    break;
                }
            }
        }
        shortest
    }

    fn play_directly(&mut self, lines: &[String]) -> Option<Told> {
        let told = self.play(self.direct, lines)?;
        // What it held must be free before the next session wants it.
        // MySQL refuses to list processes while one runs a text that is not of its character set.
        let listed = match Server::is_mariadb() {
            true => "information_schema.processlist WHERE id",
            false => "performance_schema.threads WHERE processlist_id",
        };
        let id = told.connection_id;
        let count = format!("SELECT COUNT(*) FROM {listed} = {id}");
        let is_gone = || (self.keeper.value(&count) == "0").then_some(());
        if in_time(is_gone).is_none() {
            let (runs, lines) = (self.what_runs().join("\n"), lines.join("\n"));
            println!("{id} does not end while this runs:\n{runs}\nIts lines were:\n{lines}");
            return None;
        }
        Some(told)
    }

    fn play(&mut self, address: &Address, lines: &[String]) -> Option<Told> {
        self.begin().then_some(())?;
        self.sessions += 1;
        let unique = format!("{} {:06}", self.schema, self.sessions);
        let lines: Vec<_> = lines
            .iter()
            .map(|line| line.replace("$s", &self.schema).replace("$u", &unique))
            .collect();
        let mut told = play(address, self.offered, &lines);
        // It is in names of columns, among others.
        for line in told.answers.iter_mut().flatten() {
            *line = line.replace(&unique, "$u");
        }
        if let Some(last) = told.answers.last_mut()
            && last[..] == [NO_ANSWER]
        {
            last.extend(self.what_runs());
        }
        Some(told)
    }

    /// What everybody does at the database, for whoever wonders why something does not go on.
    fn what_runs(&self) -> Vec<String> {
        let mut witness = keeper(self.direct);
        let asked = [
            "SHOW FULL PROCESSLIST",
            "XA RECOVER",
            "SHOW ENGINE INNODB STATUS",
        ];
        let shown = asked.map(|sql| witness.run(sql));
        let rows = shown
            .into_iter()
            .flatten()
            .flat_map(|outcome| match outcome {
                Outcome::Rows(rows) => rows,
                other => vec![vec![format!("{other:?}")]],
            });
        rows.map(|row| row.join("\t")).collect()
    }

    /// Leaves the schemas as they are, for others: MariaDB loses sight of transactions of XA that were prepared on a
    /// connection which was reset then, and their locks stay.
    fn move_on(&mut self) {
        self.schema.push('_');
        self.grant();
    }

    /// Lets the sessions use the schemas.
    fn grant(&mut self) {
        for name in [self.schema.clone(), format!("{}x", self.schema)] {
            let grant = format!("GRANT ALL ON {name}.* TO 'app'@'localhost'");
            let granted = self.keeper.run(&grant);
            assert!(matches!(granted[..], [Outcome::Ok(_)]), "{granted:?}");
        }
    }

    /// Makes the schemas as every session finds them. False if that cannot be done: somebody has locks on what there was.
    fn begin(&mut self) -> bool {
        let (schema, other) = (self.schema.clone(), format!("{}x", self.schema));
        let drop = format!("DROP DATABASE IF EXISTS {schema}; DROP DATABASE IF EXISTS {other}");
        // Whose routines they are sees their bodies.
        let definer = match std::env::var_os("MYRIAD_DIFFERENTIAL_HIDDEN") {
            Some(_) => "'admin'@'localhost'",
            None => "'app'@'localhost'",
        };
        let tables = include_str!("tables.sql").replace("$s", &schema);
        let tables = tables.replace("$definer", definer);
        let deadline = Instant::now() + LIMIT;
        loop {
            self.end_prepared_transactions();
            let is_done = |outcome: &Outcome| matches!(outcome, Outcome::Ok(_));
            let mut told = self.keeper.run(&drop);
            if told.iter().all(is_done) {
                told = self.keeper.run(&tables);
            }
            let Some(failed) = told.into_iter().find(|outcome| !is_done(outcome)) else {
                return true;
            };
            if Instant::now() > deadline {
                let runs = self.what_runs().join("\n");
                println!("{schema} cannot be made: {failed:?} while this runs:\n{runs}");
                return false;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Transactions that were prepared outlive their session, with their locks.
    fn end_prepared_transactions(&mut self) {
        let found = self.keeper.run("XA RECOVER");
        let [Outcome::Rows(rows)] = &found[..] else {
            panic!("{found:?}");
        };
        let names = rows.iter().map(|row| row[3].clone());
        let ours: Vec<_> = names
            .filter(|name| name.starts_with(&self.schema))
            .collect();
        for name in ours {
            // Its session may not be gone; then it is tried again.
            self.keeper.run(&format!("XA ROLLBACK '{name}'"));
        }
    }
}

/// A connection that may do everything.
fn keeper(direct: &Address) -> Client {
    let login = Login {
        user: "admin",
        password: "all",
        ..Login::default()
    };
    Client::login(direct, &login).unwrap()
}

/// The flags that somebody offers.
pub(super) fn offered(address: &Address) -> Capabilities {
    let (_, handshake) = Client::connect(address).unwrap();
    InitialHandshake::parse(&handshake).unwrap().capabilities
}
