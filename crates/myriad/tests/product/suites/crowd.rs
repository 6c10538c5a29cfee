//! Sessions that go on meanwhile on the same connections, so that a file's sessions move, and find there what is not
//! theirs. They are played by the same program with the same arguments, and as the same account: only such sessions share
//! connections with the file's.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Child, Stdio};

use super::files::Files;
use crate::support::{Address, in_time};

/// What they work in.
pub(super) const SCHEMA: &str = "
    CREATE DATABASE crowd; CREATE TABLE crowd.narrow (a TINYINT); INSERT INTO crowd.narrow VALUES (1), (2), (3);
    CREATE TABLE crowd.counted (id INT AUTO_INCREMENT PRIMARY KEY);";

/// As few as disturb the file; each begins all statements in turn.
const SESSIONS: usize = 4;

/// Between two of their statements, in seconds: not for something to happen, but so that the file has most of the machine.
const PAUSE: &str = "0.002";

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

/// The program that plays them.
struct Crowd(Child);

impl Drop for Crowd {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// Does something while they go on.
pub(super) fn amid<T>(
    files: &Files,
    (address, vardir): (&Address, &Path),
    act: impl FnOnce() -> T,
) -> T {
    let path = |name: &str| vardir.join("log").join(name);
    let (script, are_there) = (path("crowd.test"), path("crowd.there"));
    std::fs::write(&script, text(&are_there)).unwrap();
    let mut player = files.player(&script, address, vardir);
    player.stdout(Stdio::null()).stderr(Stdio::null());
    let mut crowd = Crowd(player.spawn().unwrap());
    // Files count the sessions that there are. The database may not let anybody in any more.
    let are_there = in_time(|| {
        let has_ended = crowd.0.try_wait().unwrap().is_some();
        (has_ended || are_there.exists()).then_some(())
    });
    are_there.expect("the crowd's sessions have not begun");
    act()
}

/// A file that never ends, whatever becomes of its sessions. It tells in another one that all have begun.
fn text(are_there: &Path) -> String {
    let mut text =
        "--disable_query_log\n--disable_result_log\n--disable_warnings\n--disable_abort_on_error\n"
            .to_owned();
    for session in 0..SESSIONS {
        writeln!(text, "connect (crowd{session},localhost,root,,crowd);").unwrap();
    }
    let are_there = are_there.display();
    write!(
        text,
        "--write_file {are_there}\nEOF\nlet $goes_on = 1;\nwhile ($goes_on)\n{{\n"
    )
    .unwrap();
    for turn in 0..STATEMENTS.len() * SESSIONS {
        let (session, statement) = (turn % SESSIONS, STATEMENTS[turn % STATEMENTS.len()]);
        writeln!(
            text,
            "  connection crowd{session};\n  {statement};\n  --real_sleep {PAUSE}"
        )
        .unwrap();
    }
    text + "}\n"
}
