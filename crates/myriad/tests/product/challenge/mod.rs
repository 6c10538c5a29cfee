//! `myriad challenge` for real, with tiny steps: what it reports, and that it leaves nothing behind.

mod endings;
mod report;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use localdb::Installation;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::{Server, eventually};

/// The longest that a whole challenge may take here: a bound, not an expectation.
const WHOLE: Duration = Duration::from_secs(300);

/// A running challenge with a folder of its own. Dropping it ends it.
struct Challenge {
    folder: TempDir,
    child: Child,
    /// What it says on standard error.
    said: Receiver<String>,
}

/// Whether these tests are for the server that was chosen: a challenge always runs this machine's own.
fn is_for_this_server() -> bool {
    Server::chosen().installation() == Installation::default()
}

impl Challenge {
    /// Starts `myriad challenge` by way of `before`, which runs the program it is given.
    fn start(before: &[&str], arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self::start_in(folder, before, arguments)
    }

    /// In the folder of an earlier one.
    fn start_in(folder: TempDir, before: &[&str], arguments: &[&str]) -> Self {
        let program = env!("CARGO_BIN_EXE_myriad");
        let all: Vec<&str> = before
            .iter()
            .copied()
            .chain([program, "challenge"])
            .collect();
        let below = |name: &str| folder.path().join(name).display().to_string();
        let mut child = Command::new(all[0])
            .args(&all[1..])
            .args(arguments)
            .args(["--table-size=1000", "--duration=1s"])
            .arg(format!("--out={}", below("out")))
            .arg(format!("--local-folder={}", below("mariadb")))
            .arg(format!("--state={}", below("state.json")))
            .stdin(Stdio::null())
            .stdout(std::fs::File::create(below("stdout")).unwrap())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (to, said) = channel();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                if to.send(line).is_err() {
                    break;
                }
            }
        });
        Self {
            folder,
            child,
            said,
        }
    }

    /// Waits until it says a line with `part` in it, and returns that line.
    fn await_line(&self, part: &str) -> String {
        let (deadline, mut all) = (Instant::now() + WHOLE, Vec::new());
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.said.recv_timeout(left) {
                Ok(line) if line.contains(part) => return line,
                Ok(line) => all.push(line),
                Err(_) => panic!("it never said {part}, but: {all:#?}"),
            }
        }
    }

    /// Waits for its end: its exit code, and what it said since it was last listened to.
    fn finish(&mut self) -> (Option<i32>, Vec<String>) {
        let (deadline, mut all) = (Instant::now() + WHOLE, Vec::new());
        // Disconnected at its end.
        while let Ok(line) = self.said.recv_timeout(deadline - Instant::now()) {
            all.push(line);
        }
        let status = eventually("the end of the challenge", || {
            self.child.try_wait().unwrap()
        });
        (status.code(), all)
    }

    fn pid(&self) -> u32 {
        self.child.id()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.file(name)).unwrap()
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.read("out/challenge.json")).unwrap()
    }

    /// Waits until no process names its folder any more.
    fn await_no_process(&self) {
        eventually("the end of all processes of the challenge", || {
            processes_in(self.folder.path()).is_empty().then_some(())
        });
    }
}

impl Drop for Challenge {
    fn drop(&mut self) {
        // Ended already, unless the test failed.
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }
}

/// Command lines of processes that name a folder.
fn processes_in(folder: &Path) -> Vec<String> {
    let folder = folder.display().to_string();
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .filter(|line| line.contains(&folder))
        .collect()
}
