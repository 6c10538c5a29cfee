//! The command-line client as a conversation: several at once, statement by statement.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{self, Receiver};

use super::{Address, LIMIT, Tool, program};

/// Stands after the rows of each statement.
const MARK: &str = "-- end of rows --";

/// A command-line client that was left open.
pub(crate) struct Shell {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Shell {
    /// Opens one with a schema.
    pub(crate) fn open(address: &Address, schema: &str) -> Self {
        let mut child = program(Tool::Client, address)
            .args([
                "--batch",
                "--unbuffered",
                "--skip-column-names",
                "--force",
                schema,
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (found, lines) = mpsc::channel();
        std::thread::spawn(move || {
            // Nobody listens any more once the shell is closed.
            output
                .lines()
                .map_while(Result::ok)
                .all(|line| found.send(line).is_ok())
        });
        let input = child.stdin.take();
        Self {
            child,
            input,
            lines,
        }
    }

    /// Runs statements and returns their rows: columns parted by tabs, rows by line feeds. Errors
    /// give no row.
    pub(crate) fn run(&mut self, sql: &str) -> String {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{sql};\nSELECT '{MARK}';").unwrap();
        let mut rows = Vec::new();
        loop {
            let line = self.lines.recv_timeout(LIMIT);
            let line = line.unwrap_or_else(|error| panic!("{sql}: no end of rows: {error}"));
            if line == MARK {
                return rows.join("\n");
            }
            rows.push(line);
        }
    }

    /// Closes it and waits for its end.
    pub(crate) fn close(mut self) {
        drop(self.input.take());
        assert!(self.child.wait().unwrap().code().is_some());
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        // Closed already, unless a test failed.
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }
}
