//! The load generator of a run: what it says while it runs, and the summary it leaves.
//!
//! Not here: its flags, which are orders, and what the summary says.

use std::io::{BufRead, BufReader};
use std::process::ChildStdout;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use crate::child::Child;
use crate::error::ChallengeError;
use crate::orders::Orders;
use crate::summary::Summary;
use crate::{Live, Plan, Stop};

/// How often somebody who asks for an end is heard.
const LOOK: Duration = Duration::from_millis(50);

/// Runs it to its end. `look` is told what it is doing.
pub(crate) fn run(
    plan: &Plan,
    orders: &Orders,
    stop: &Stop,
    mut look: impl FnMut(Live),
) -> Result<Summary, ChallengeError> {
    let file = plan.out.join("load.json");
    if file.exists() {
        std::fs::remove_file(&file).map_err(ChallengeError::system("remove", &file))?;
    }
    let log = plan.out.join("load.log");
    let name = "myriad load";
    let (child, output) = Child::start_heard(name, &plan.program, &orders.arguments, &log)?;
    let heard = Heard {
        child: &child,
        lines: lines(output),
        silence: orders.silence,
    };
    heard.follow(stop, &mut look)?;
    // It exits with an error, too, when it has counted some: they are among the figures.
    match std::fs::read_to_string(&file) {
        Ok(text) => Ok(serde_json::from_str(&text)?),
        Err(_) => Err(child.error("left no figures")),
    }
}

/// A generator that is listened to.
struct Heard<'a> {
    child: &'a Child,
    lines: Receiver<String>,
    silence: Duration,
}

impl Heard<'_> {
    /// Tells what it says until it says no more.
    fn follow(&self, stop: &Stop, look: &mut impl FnMut(Live)) -> Result<(), ChallengeError> {
        let mut silent = Duration::ZERO;
        loop {
            stop.check()?;
            match self.lines.recv_timeout(LOOK) {
                Ok(line) => {
                    silent = Duration::ZERO;
                    live(&line).into_iter().for_each(&mut *look);
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Err(RecvTimeoutError::Timeout) if silent > self.silence => {
                    return Err(self.child.error("says nothing any more"));
                }
                Err(RecvTimeoutError::Timeout) => silent += LOOK,
            }
        }
    }
}

/// Its lines, as they come; disconnected at their end.
fn lines(output: ChildStdout) -> Receiver<String> {
    let (to, lines) = channel();
    std::thread::spawn(move || {
        let mut output = BufReader::new(output).lines();
        while let Some(Ok(line)) = output.next() {
            if to.send(line).is_err() {
                break;
            }
        }
    });
    lines
}

/// What a line of progress says.
fn live(line: &str) -> Option<Live> {
    let number = |name: &str| -> Option<&str> {
        let (_, rest) = line.split_once(name)?;
        rest.split(',').next()
    };
    Some(Live {
        connections: number("s] connections: ")?.parse().ok()?,
        per_s: number(" tps: ")?.parse().ok()?,
        is_measuring: !line.ends_with("(ramp)") && !line.ends_with("(warm-up)"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_progress_are_understood() {
        let line = "[ 26s] connections: 10000, tps: 20123, reads: 20123, writes: 0, response time: \
                    3.46ms (95%), errors: 0, reconnects: 0";
        let measured = live(line).unwrap();
        assert_eq!((measured.connections, measured.per_s), (10_000, 20_123.0));
        assert!(measured.is_measuring);
        assert!(!live(&format!("{line} (warm-up)")).unwrap().is_measuring);
        assert!(!live(&format!("{line} (ramp)")).unwrap().is_measuring);
        assert_eq!(live("statements:       5, 1.0 per second"), None);
        assert_eq!(live(""), None);
    }
}
