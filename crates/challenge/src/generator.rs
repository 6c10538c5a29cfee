//! The load generator of a run: its flags, what it says while it runs, and the figures it leaves.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::ChildStdout;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use serde::Deserialize;

use crate::child::Child;
use crate::database::{tables, target};
use crate::error::ChallengeError;
use crate::figures::{Figures, mean_ms, rounded};
use crate::{Course, KernelMemory, Latency, Live, Plan, Process, Stop, Workload};

/// How often somebody who asks for an end is heard.
const LOOK: Duration = Duration::from_millis(50);
/// A generator that says nothing for so long, and for as long as it awaits its last answers, hangs: it
/// else says something each second.
const SILENCE_LIMIT: Duration = Duration::from_secs(60);
/// Kinds of errors that are told.
const ERRORS_TOLD: usize = 5;

/// What the generator leaves behind, as far as it matters here; see `docs/LOAD.md`.
#[derive(Debug, Deserialize)]
pub(crate) struct Summary {
    statements_per_s: f64,
    latency_ms: Latency,
    errors: BTreeMap<String, u64>,
    wrong_answers: u64,
    reconnects: u64,
    unanswered: u64,
    generator_cpu_us_per_statement: Option<f64>,
    generator_busy: f64,
    watched: Vec<Watched>,
}

#[derive(Debug, Deserialize)]
struct Watched {
    rss_bytes: u64,
    rss_bytes_per_connection: u64,
    cpu_us_per_statement: Option<f64>,
}

/// What it is told to do.
pub(crate) struct Orders {
    /// Its arguments.
    pub(crate) arguments: Vec<String>,
    /// How long it may say nothing.
    silence: Duration,
}

/// Its orders for a run to `port`, while `watched` are watched.
pub(crate) fn orders(plan: &Plan, course: &Course, port: u16, watched: &[u32]) -> Orders {
    let workload = match course.workload {
        Workload::PointSelect => "point-select",
        Workload::Reconnect => "reconnect",
    };
    let interval = (course.duration / 4).min(Duration::from_secs(1));
    let ms = |duration: Duration| format!("{}ms", duration.as_millis().max(1));
    let mut arguments = vec!["load".to_owned(), "run".to_owned()];
    arguments.extend(target(port));
    arguments.extend(tables(plan));
    arguments.extend([
        format!("--workload={workload}"),
        format!("--connections={}", course.connections),
        format!("--threads={}", plan.threads()),
        format!("--warmup={}", ms(course.warmup)),
        format!("--duration={}", ms(course.duration)),
        format!(
            "--answer-timeout={}",
            ms(answer_timeout(course.connections))
        ),
        format!("--report-interval={}", ms(interval)),
        format!("--json={}", plan.out.join("load.json").display()),
    ]);
    arguments.extend(watched.iter().map(|pid| format!("--watch-pid={pid}")));
    Orders {
        arguments,
        silence: SILENCE_LIMIT + answer_timeout(course.connections),
    }
}

/// How long answers are awaited in the end: each connection has a statement under way, and a busy
/// machine may answer no more than a thousand of them per second.
fn answer_timeout(connections: u32) -> Duration {
    Duration::from_secs(10) + Duration::from_millis(connections.into())
}

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

impl Summary {
    /// The figures of the run. The database was watched first, then the front door if there was one.
    pub(crate) fn figures(
        self,
        course: &Course,
        kernel_per_connection: Option<KernelMemory>,
    ) -> Option<Figures> {
        let keeps = course.workload != Workload::Reconnect;
        let mut watched = self.watched.iter().map(|watched| watched.process(keeps));
        let latency = self.latency_ms;
        let counted = [
            ("wrong answers", self.wrong_answers),
            ("connections lost", self.reconnects),
            ("unanswered", self.unanswered),
        ];
        let named = self
            .errors
            .iter()
            .map(|(name, count)| (name.as_str(), *count));
        let all: Vec<(&str, u64)> = counted
            .into_iter()
            .chain(named)
            .filter(|(_, n)| *n > 0)
            .collect();
        let told = all.iter().take(ERRORS_TOLD);
        let told: Vec<String> = told
            .map(|(name, count)| format!("{count} × {name}"))
            .collect();
        let per_s = rounded(self.statements_per_s);
        Some(Figures {
            statements_per_s: per_s,
            latency_ms: Latency {
                p50: rounded(latency.p50),
                p95: rounded(latency.p95),
                p99: rounded(latency.p99),
                max: rounded(latency.max),
            },
            mean_ms: mean_ms(course.connections, per_s),
            errors: all.iter().map(|(_, count)| count).sum(),
            errors_text: told.join(", "),
            kernel_per_connection: kernel_per_connection.filter(|_| keeps),
            database: watched.next()?,
            myriad: watched.next(),
            generator_cpu_us: self.generator_cpu_us_per_statement.map(rounded),
            generator_busy: rounded(self.generator_busy),
        })
    }
}

impl Watched {
    fn process(&self, keeps_connections: bool) -> Process {
        Process {
            rss_bytes: self.rss_bytes,
            rss_bytes_per_connection: keeps_connections.then_some(self.rss_bytes_per_connection),
            cpu_us: self.cpu_us_per_statement.map(rounded),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Way;

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

    #[test]
    fn figures_are_those_of_the_generator() {
        let text = r#"{"connections": 1000, "statements_per_s": 2000.00049, "more": [],
            "latency_ms": {"p50": 1.0, "p95": 2.0004, "p99": 3.0, "p999": 3.5, "max": 4.0},
            "errors": {"1040": 7}, "wrong_answers": 1, "reconnects": 2, "unanswered": 0,
            "generator_cpu_us_per_statement": null, "generator_busy": 0.51,
            "watched": [{"pid": 1, "rss_bytes": 9000, "rss_bytes_per_connection": 8,
                         "cpu_us_per_statement": 30.5}]}"#;
        let course = Course {
            way: Way::Alone,
            connections: 1_000,
            workload: Workload::PointSelect,
            warmup: Duration::ZERO,
            duration: Duration::ZERO,
        };
        let summary: Summary = serde_json::from_str(text).unwrap();
        let figures = summary.figures(&course, None).unwrap();
        assert_eq!(
            (figures.statements_per_s, figures.mean_ms),
            (2_000.0, 500.0)
        );
        assert_eq!((figures.latency_ms.p95, figures.errors), (2.0, 10));
        assert_eq!(
            figures.errors_text,
            "1 × wrong answers, 2 × connections lost, 7 × 1040"
        );
        assert_eq!(figures.database.cpu_us, Some(30.5));
        assert_eq!(figures.myriad, None);
    }
}
