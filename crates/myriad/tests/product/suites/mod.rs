//! The servers' own test files, each played directly and through the front door: what comes out must be the same.
//!
//! The files, and the program that plays them (`mysqltest`), come with the packages of the servers; `scripts/setup
//! suites` unpacks them. What the servers' authors have recorded beside a file is not asked: it is compared with what
//! the same server answers directly. Left out are files that ask for a server with options of their own, unless
//! `MYRIAD_SUITE_OPTIONS=1` says otherwise, and what fails directly, for it needs what the servers' own test driver sets up.
//!
//! Unless the environment says otherwise, some files of the suite `main` are played, spread over it:
//! `MYRIAD_SUITE` names others (`sys_vars,json`), `MYRIAD_SUITE_EVERY=1` has every file of it played, `MYRIAD_SUITE_FILES` those with
//! one of these in their names, and `MYRIAD_SUITE_ARGUMENTS` are given to the program (`--ps-protocol`). No file is begun after
//! `MYRIAD_SUITE_SECONDS`, and `MYRIAD_SUITE_PLAYERS` are played at a time. What came out of files that differ is left in the folder `MYRIAD_SUITE_OUTPUT`.

mod crowd;
mod files;
mod ground;
mod known;

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use self::files::{File, Files};
use self::ground::{Compared, Ground};
use super::support::{Server, number};

/// One file in so many is played, if nothing says otherwise.
const EVERY: u64 = 25;

/// So many are played at a time, if nothing says otherwise.
const PLAYERS: u64 = 2;

/// The texts of the files of the suites that the environment names; `None` if they have not been unpacked.
pub(crate) fn texts() -> Option<Vec<String>> {
    Files::find().map(|files| files.texts())
}

/// What came of a search.
#[derive(Default)]
struct Found {
    same: usize,
    /// Files that fail directly.
    not_here: usize,
    /// Files whose output is not the same twice.
    unstable: Vec<String>,
    /// Files that differed, and did not when they were played again.
    now_and_then: Vec<String>,
    known: Vec<String>,
    different: Vec<String>,
}

struct Search<'a> {
    files: &'a Files,
    chosen: Vec<File>,
    next: AtomicUsize,
    deadline: Instant,
    output: Option<PathBuf>,
    found: Mutex<Found>,
}

impl Search<'_> {
    fn run(&self) {
        let mut ground = Ground::new(self.files);
        while let Some(file) = self.next() {
            let compared = ground.compare(file);
            self.count(file, compared);
        }
    }

    fn next(&self) -> Option<&File> {
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        let file = self.chosen.get(next)?;
        (Instant::now() < self.deadline).then_some(file)
    }

    fn count(&self, file: &File, compared: Compared) {
        let mut found = self.found.lock().unwrap();
        let name = file.name.clone();
        match compared {
            Compared::Same => found.same += 1,
            Compared::FailsDirectly { why } => {
                self.keep(&name, "fails", &why);
                found.not_here += 1;
            }
            Compared::Unstable => found.unstable.push(name),
            Compared::NowAndThen { direct, through } => {
                self.keep(&name, "direct", &direct);
                self.keep(&name, "through", &through);
                println!(
                    "{name}, but not always:\n{}",
                    first_difference(&direct, &through)
                );
                found.now_and_then.push(name);
            }
            Compared::Different { direct, through } => {
                self.keep(&name, "direct", &direct);
                self.keep(&name, "through", &through);
                if known::is_known(&name) {
                    found.known.push(name);
                } else {
                    let shown = format!("{name}:\n{}", first_difference(&direct, &through));
                    println!("{shown}");
                    found.different.push(shown);
                }
            }
        }
    }

    fn keep(&self, name: &str, side: &str, output: &str) {
        if let Some(folder) = &self.output {
            std::fs::write(folder.join(format!("{name}.{side}")), output).unwrap();
        }
    }
}

/// The first lines that differ, with some before them.
fn first_difference(direct: &str, through: &str) -> String {
    let (direct, through): (Vec<_>, Vec<_>) = (direct.lines().collect(), through.lines().collect());
    let pairs = direct.iter().zip(&through);
    let at = pairs
        .take_while(|(direct, through)| direct == through)
        .count();
    let part = |lines: &[&str], side: &str| -> String {
        let (begin, end) = (at.saturating_sub(5), lines.len().min(at + 4));
        let lines = &lines[begin.min(end)..end];
        lines
            .iter()
            .map(|line| format!("{side} {line}\n"))
            .collect()
    };
    part(&direct, "direct ") + &part(&through, "through")
}

#[test]
fn the_servers_own_test_files_come_out_the_same() {
    // Its thread pool is shown by all the other tests.
    if Server::chosen().has_thread_pool() {
        return;
    }
    let Some(files) = Files::find() else {
        println!("left out: no test files of the server; run scripts/setup suites");
        return;
    };
    let chosen = files.chosen(number("MYRIAD_SUITE_EVERY", EVERY) as usize);
    let seconds = number("MYRIAD_SUITE_SECONDS", u64::from(u32::MAX));
    let search = Search {
        next: AtomicUsize::new(0),
        deadline: Instant::now() + Duration::from_secs(seconds),
        output: std::env::var_os("MYRIAD_SUITE_OUTPUT").map(PathBuf::from),
        found: Mutex::default(),
        files: &files,
        chosen,
    };
    std::thread::scope(|scope| {
        for _ in 0..number("MYRIAD_SUITE_PLAYERS", PLAYERS) {
            scope.spawn(|| search.run());
        }
    });
    let found = search.found.into_inner().unwrap();
    println!(
        "{} files the same, {} differ as is known, {} differ, {} differed once of twice, {} are not the same twice \
         directly, {} fail directly, {} are left out",
        found.same,
        found.known.len(),
        found.different.len(),
        found.now_and_then.len(),
        found.unstable.len(),
        found.not_here,
        files.left_out,
    );
    for (what, names) in [
        ("known", &found.known),
        ("once of twice", &found.now_and_then),
        ("not the same twice directly", &found.unstable),
    ] {
        println!("{what}: {}", names.join(" "));
    }
    let different = found.different.join("\n");
    assert!(different.is_empty(), "{different}");
    assert!(found.same > 0, "nothing was played");
}
