//! What was measured in one run, and the arithmetic of it.

use serde::{Deserialize, Serialize};

/// The figures of one run. As JSON its keys are the names of these fields.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Statements answered rightly per second; with reconnecting users, each with a connection of its own.
    pub statements_per_s: f64,
    /// How long they took.
    pub latency_ms: Latency,
    /// The mean that follows from the other figures, see [`mean_ms`]; `None` of a storm, whose clients do not always
    /// have a statement under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_ms: Option<f64>,
    /// Errors, wrong answers, lost connections and statements without an answer, over the whole run.
    pub errors: u64,
    /// What the errors were, for people; empty if there were none.
    pub errors_text: String,
    /// Memory of the kernel per connection, both ends together; `None` if it cannot be told.
    pub kernel_per_connection: Option<KernelMemory>,
    /// The database's process.
    pub database: Process,
    /// The front door's process, if the run went through it.
    pub myriad: Option<Process>,
    /// CPU time of the generator per statement.
    pub generator_cpu_us: Option<f64>,
    /// The part of the time for which the generator's threads were busy; close to 1 it was the limit.
    pub generator_busy: f64,
    /// Beside what it gets alone, if the run is of an account that another one runs beside: then the
    /// figures above but for processor time and memory are its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<Beside>,
    /// What became of a retry storm, if the run is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storm: Option<Storm>,
}

/// What an account gets beside another one, and alone.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Beside {
    /// Its statements per second alone: the mean of before and after.
    pub alone_per_s: f64,
    /// The part of these that it gets beside the other account.
    pub share: f64,
    /// Milliseconds that 95 % did not exceed alone: the mean of before and after.
    pub alone_p95_ms: f64,
    /// Those beside the other account, divided by these.
    pub p95_ratio: f64,
    /// Statements per second of the other account.
    pub other_per_s: f64,
    /// The same, divided by what the first gets alone.
    pub other_share: f64,
}

/// What became of a retry storm. An answer counts if its client still waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Storm {
    /// Statements per second that can be run: those at once, divided by how long one sleeps.
    pub capacity_per_s: f64,
    /// The answers per second, divided by that.
    pub goodput: f64,
    /// Answers per second if as many clients as may run ask one after the other, without a storm.
    pub calm_per_s: f64,
    /// Statements that were refused, over the whole run.
    pub refused: u64,
    /// Statements and logins that clients gave up, over the whole run.
    pub given_up: u64,
    /// Statements that ran in the database, over the whole run.
    pub ran: u64,
    /// Those of them that were begun after their client had hung up.
    pub late: u64,
}

/// Milliseconds that a part of the statements did not exceed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Half of them.
    pub p50: f64,
    /// 95 %.
    pub p95: f64,
    /// 99 %.
    pub p99: f64,
    /// All.
    pub max: f64,
}

/// A process during a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Process {
    /// Its resident memory with all connections open.
    pub rss_bytes: u64,
    /// How much that grew since there were none, divided by their number; `None` if connections come
    /// and go.
    pub rss_bytes_per_connection: Option<u64>,
    /// Its CPU time per statement.
    pub cpu_us: Option<f64>,
}

/// Memory of the kernel, in bytes. It belongs to the whole machine: what grew while connections
/// were opened is taken to be theirs, and each has two ends here, the generator's and the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelMemory {
    /// Objects: sockets, files, tasks, what waits on them.
    pub slab_bytes: u64,
    /// Stacks of threads.
    pub stack_bytes: u64,
    /// Page tables.
    pub page_table_bytes: u64,
    /// Bytes on their way in sockets.
    pub socket_bytes: u64,
}

impl KernelMemory {
    /// All together.
    pub fn total(&self) -> u64 {
        self.slab_bytes + self.stack_bytes + self.page_table_bytes + self.socket_bytes
    }
}

impl Figures {
    /// Memory that a connection costs, in bytes: what the processes grew by, and the kernel.
    pub(crate) fn bytes_per_connection(&self) -> Option<u64> {
        let myriad = self.myriad.map(|myriad| myriad.rss_bytes_per_connection);
        let processes = self.database.rss_bytes_per_connection? + myriad.unwrap_or(Some(0))?;
        Some(processes + self.kernel_per_connection?.total())
    }
}

/// Little's law: where each of `connections` always has exactly one statement under way, the mean
/// time that statements take is their number divided by the rate. In milliseconds; 0 without a rate.
///
/// It needs no clock of the generator's, and so is a check of the percentiles.
pub(crate) fn mean_ms(connections: u32, per_s: f64) -> f64 {
    if per_s > 0.0 {
        rounded(f64::from(connections) / per_s * 1_000.0)
    } else {
        0.0
    }
}

/// What rounds of one run beside another account come to: the round with the median share, the medians of
/// what is compared, and the errors of all.
pub(crate) fn median_round(first: Figures, mut rounds: Vec<Figures>) -> Figures {
    rounds.push(first);
    let share = |figures: &Figures| figures.beside.map_or(0.0, |beside| beside.share);
    rounds.sort_by(|one, other| share(one).total_cmp(&share(other)));
    let median = |of: fn(&Beside) -> f64| {
        let mut values: Vec<f64> = rounds.iter().flat_map(|f| &f.beside).map(of).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or_default()
    };
    let (p95_ratio, other_share) = (median(|b| b.p95_ratio), median(|b| b.other_share));
    let errors = errors_of_all(&rounds);
    let mut figures = rounds.swap_remove(rounds.len() / 2);
    (figures.errors, figures.errors_text) = errors;
    if let Some(beside) = &mut figures.beside {
        (beside.p95_ratio, beside.other_share) = (p95_ratio, other_share);
    }
    figures
}

/// What rounds of one run come to: the round with the median rate, and the errors of all. `None` if there is
/// none.
pub(crate) fn median_rate(rounds: &[Figures]) -> Option<Figures> {
    let mut by_rate: Vec<&Figures> = rounds.iter().collect();
    by_rate.sort_by(|one, other| one.statements_per_s.total_cmp(&other.statements_per_s));
    let mut figures = (*by_rate.get(by_rate.len().saturating_sub(1) / 2)?).clone();
    (figures.errors, figures.errors_text) = errors_of_all(rounds);
    Some(figures)
}

/// How many errors all rounds had, and what the first ones were.
fn errors_of_all(rounds: &[Figures]) -> (u64, String) {
    let count = rounds.iter().map(|figures| figures.errors).sum();
    let first = rounds.iter().find(|figures| figures.errors > 0);
    (
        count,
        first.map_or_else(String::new, |figures| figures.errors_text.clone()),
    )
}

/// As many digits as mean something.
pub(crate) fn rounded(value: f64) -> f64 {
    (value * 1_000.0).round() / 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_connections_divided_by_the_rate() {
        assert_eq!(mean_ms(100_000, 32_260.0), 3_099.814);
        assert_eq!(mean_ms(10_000, 33_367.48), 299.693);
        assert_eq!(mean_ms(1, 1_000.0), 1.0);
        assert_eq!(mean_ms(5, 0.0), 0.0);
    }

    #[test]
    fn the_memory_of_a_connection_is_that_of_all_sides() {
        let process = Process {
            rss_bytes: 1,
            rss_bytes_per_connection: Some(500),
            cpu_us: None,
        };
        let kernel = KernelMemory {
            slab_bytes: 1_000,
            stack_bytes: 200,
            page_table_bytes: 30,
            socket_bytes: 4,
        };
        let mut figures = crate::report::tests::figures(1.0);
        figures.database = process;
        figures.myriad = Some(process);
        figures.kernel_per_connection = Some(kernel);
        assert_eq!(figures.bytes_per_connection(), Some(2_234));
        figures.kernel_per_connection = None;
        assert_eq!(figures.bytes_per_connection(), None);
    }
}
