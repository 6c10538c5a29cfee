//! What the load generator leaves behind, and the figures of a run that are made of it.
//!
//! Not here: running it, and what it counts; see `docs/LOAD.md`.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::course::PROTECTED;
use crate::error::ChallengeError;
use crate::figures::{mean_ms, rounded};
use crate::orders::PROTECTED_NAME;
use crate::storm::{CAPACITY_PER_S, Counted};
use crate::{Beside, Course, Figures, KernelMemory, Latency, Process, Storm, Way, Workload};

/// Kinds of errors that are told.
const ERRORS_TOLD: usize = 5;
/// What errors of the runs to compare with are called.
const ALONE: &str = "errors in the run to compare with";
/// Errors with which the front door refuses a statement under overload.
const REFUSED: [&str; 2] = ["1226", "1203"];

/// The summary, as far as it matters here.
#[derive(Debug, Deserialize)]
pub(crate) struct Summary {
    #[serde(flatten)]
    total: Counts,
    generator_cpu_us_per_statement: Option<f64>,
    generator_busy: f64,
    watched: Vec<Watched>,
    #[serde(default)]
    groups: Vec<Group>,
    /// What the kernel's memory grew by; not the generator's to tell.
    #[serde(skip)]
    pub(crate) kernel_per_connection: Option<KernelMemory>,
}

/// What was counted of all connections, or of a group.
#[derive(Clone, Debug, Deserialize)]
struct Counts {
    statements_per_s: f64,
    latency_ms: Latency,
    errors: BTreeMap<String, u64>,
    wrong_answers: u64,
    reconnects: u64,
    unanswered: u64,
    #[serde(default)]
    timeouts: u64,
}

#[derive(Debug, Deserialize)]
struct Group {
    name: String,
    #[serde(flatten)]
    counts: Counts,
}

#[derive(Debug, Deserialize)]
struct Watched {
    rss_bytes: u64,
    rss_bytes_per_connection: u64,
    cpu_us_per_statement: Option<f64>,
}

impl Summary {
    /// The figures of a run of all connections.
    pub(crate) fn figures(self, course: &Course) -> Result<Figures, ChallengeError> {
        let counts = self.total.clone();
        self.figures_of(course, &counts, course.connections)
    }

    /// Those of the protected account beside the other one; `alone` is what it had alone.
    pub(crate) fn beside(
        self,
        course: &Course,
        alone: &[Figures; 2],
    ) -> Result<Figures, ChallengeError> {
        let (own, others): (Vec<&Group>, Vec<&Group>) = self
            .groups
            .iter()
            .partition(|group| group.name == PROTECTED_NAME);
        let own = own
            .first()
            .ok_or_else(|| missing("a group"))?
            .counts
            .clone();
        let mut errors = own.clone();
        for group in &others {
            // Its statements wait for long by design, and are not awaited in the end.
            errors.add_errors(&group.counts);
        }
        let other_per_s: f64 = others
            .iter()
            .map(|group| group.counts.statements_per_s)
            .sum();
        errors.add_alone(alone);
        let mut figures = self.figures_of(course, &errors, PROTECTED)?;
        let mean = |of: fn(&Figures) -> f64| (of(&alone[0]) + of(&alone[1])) / 2.0;
        let alone_per_s = mean(|figures| figures.statements_per_s);
        let alone_p95_ms = mean(|figures| figures.latency_ms.p95);
        figures.beside = Some(Beside {
            alone_per_s: rounded(alone_per_s),
            share: ratio(own.statements_per_s, alone_per_s),
            alone_p95_ms: rounded(alone_p95_ms),
            p95_ratio: ratio(own.latency_ms.p95, alone_p95_ms),
            other_per_s: rounded(other_per_s),
            other_share: ratio(other_per_s, alone_per_s),
        });
        Ok(figures)
    }

    /// Those of a storm; `calm` is what was answered without it.
    pub(crate) fn storm(
        self,
        course: &Course,
        calm: &Figures,
        counted: Counted,
    ) -> Result<Figures, ChallengeError> {
        let mut counts = self.total.clone();
        let mut refused = 0;
        if course.way == Way::Myriad {
            refused = REFUSED
                .iter()
                .filter_map(|number| counts.errors.remove(*number))
                .sum();
        }
        let given_up = counts.timeouts;
        counts.add_alone(std::slice::from_ref(calm));
        let mut figures = self.figures_of(course, &counts, course.connections)?;
        // Its clients do not always have a statement under way.
        figures.mean_ms = None;
        figures.storm = Some(Storm {
            capacity_per_s: CAPACITY_PER_S,
            goodput: ratio(figures.statements_per_s, CAPACITY_PER_S),
            calm_per_s: calm.statements_per_s,
            refused,
            given_up,
            ran: counted.ran,
            late: counted.late,
        });
        Ok(figures)
    }

    /// The database was watched first, then the front door if there was one.
    fn figures_of(
        self,
        course: &Course,
        counts: &Counts,
        connections: u32,
    ) -> Result<Figures, ChallengeError> {
        let keeps = !matches!(course.workload, Workload::Reconnect | Workload::Storm);
        let mut watched = self.watched.iter().map(|watched| watched.process(keeps));
        let latency = counts.latency_ms;
        let (errors, errors_text) = counts.told();
        let per_s = rounded(counts.statements_per_s);
        Ok(Figures {
            statements_per_s: per_s,
            latency_ms: Latency {
                p50: rounded(latency.p50),
                p95: rounded(latency.p95),
                p99: rounded(latency.p99),
                max: rounded(latency.max),
            },
            mean_ms: Some(mean_ms(connections, per_s)),
            errors,
            errors_text,
            kernel_per_connection: self.kernel_per_connection.filter(|_| keeps),
            database: watched.next().ok_or_else(|| missing("the database"))?,
            myriad: watched.next(),
            generator_cpu_us: self.generator_cpu_us_per_statement.map(rounded),
            generator_busy: rounded(self.generator_busy),
            beside: None,
            storm: None,
        })
    }
}

impl Counts {
    /// Takes in the errors of others, but not what they had no answer to.
    fn add_errors(&mut self, other: &Self) {
        for (name, count) in &other.errors {
            *self.errors.entry(name.clone()).or_default() += count;
        }
        self.wrong_answers += other.wrong_answers;
        self.reconnects += other.reconnects;
    }

    /// Takes in the errors of runs to compare with.
    fn add_alone(&mut self, alone: &[Figures]) {
        let count: u64 = alone.iter().map(|figures| figures.errors).sum();
        if count > 0 {
            self.errors.insert(ALONE.to_owned(), count);
        }
    }

    /// How many errors there were, and which.
    fn told(&self) -> (u64, String) {
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
        (all.iter().map(|(_, count)| count).sum(), told.join(", "))
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

/// A part of a whole; 0 of nothing.
fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 {
        rounded(part / whole)
    } else {
        0.0
    }
}

fn missing(what: &str) -> ChallengeError {
    ChallengeError::Child {
        name: "myriad load",
        what: format!("did not watch {what}"),
        said: "report this as a defect".to_owned(),
    }
}

#[cfg(test)]
mod tests;
