//! The result of a run: for people and, with stable keys, for programs.

use std::fmt;

use serde::Serialize;

use crate::figures::Figures;
use crate::progress::Progress;
use crate::watch::Watched;

/// The generator's threads may be busy for this part of the time before it is doubtful who was
/// measured.
const BUSY_MAX: f64 = 0.85;

/// What a run has measured. As JSON its keys are the names of these fields.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// How many connections there were.
    pub connections: u32,
    /// How long statements were measured.
    pub duration_s: f64,
    /// All groups together; as JSON its keys stand beside the others.
    #[serde(flatten)]
    pub total: Figures,
    /// This process' CPU time per statement, in microseconds; `None` if there were no statements.
    pub generator_cpu_us_per_statement: Option<f64>,
    /// The part of the time for which this process' threads were busy: 1 is all of it.
    pub generator_busy: f64,
    /// The most memory that this process was seen to hold.
    pub generator_rss_bytes_max: u64,
    /// How much the kernel's slabs grew on this machine, divided by the number of connections: both
    /// ends if the target is on this machine. `None` where the kernel does not say.
    pub slab_bytes_per_connection: Option<u64>,
    /// What the watched processes used.
    pub watched: Vec<Watched>,
    /// Each group alone.
    pub groups: Vec<GroupSummary>,
    /// The intervals, from the first connection to the end.
    pub series: Vec<Progress>,
}

/// What was measured of a group. As JSON its keys are the names of these fields.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupSummary {
    /// Its name.
    pub name: String,
    /// What its connections did.
    pub workload: String,
    /// How many there were.
    pub connections: u32,
    /// The rest; as JSON its keys stand beside the others.
    #[serde(flatten)]
    pub figures: Figures,
}

impl Summary {
    /// Whether every statement was answered, rightly, and no connection was lost.
    pub fn is_clean(&self) -> bool {
        self.total.is_clean()
    }

    /// Whether the generator was so busy that it, not the target, may have been the limit.
    pub fn is_generator_bound(&self) -> bool {
        self.generator_busy > BUSY_MAX
    }

    /// The summary as a JSON object.
    ///
    /// # Errors
    /// Never in practice: all values can be written as JSON.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self)
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (connections, seconds) = (self.connections, self.duration_s);
        writeln!(
            f,
            "connections:      {connections}, measured for {seconds:.1} s"
        )?;
        writeln!(f, "{}", self.total)?;
        if self.groups.len() > 1 {
            for group in &self.groups {
                let GroupSummary {
                    name,
                    workload,
                    connections,
                    figures,
                } = group;
                writeln!(f, "\ngroup {name}: {connections} connections, {workload}")?;
                writeln!(f, "{figures}")?;
            }
            writeln!(f)?;
        }
        let (cpu, busy) = (
            Cpu(self.generator_cpu_us_per_statement),
            self.generator_busy,
        );
        write!(
            f,
            "generator:        {cpu}; RSS {:.1} MiB at most; busy for {:.0} % of the time",
            mib(self.generator_rss_bytes_max),
            busy * 100.0
        )?;
        if let Some(bytes) = self.slab_bytes_per_connection {
            write!(
                f,
                "\nkernel:           slabs of this machine grown by {bytes} bytes per connection"
            )?;
        }
        for watched in &self.watched {
            write!(f, "\nprocess {:<9} {watched}", watched.pid)?;
        }
        if self.is_generator_bound() {
            f.write_str(
                "\nwarning: the generator's threads were nearly always busy, so that it may have \
                 been the limit, not the target; give it more --threads or a machine of its own",
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}; RSS {:.1} MiB now, {:.1} MiB at most, grown by {} bytes per connection",
            Cpu(self.cpu_us_per_statement),
            mib(self.rss_bytes),
            mib(self.rss_bytes_max),
            self.rss_bytes_per_connection
        )
    }
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

struct Cpu(Option<f64>);

impl fmt::Display for Cpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(us) => write!(f, "{us:.2} µs CPU per statement"),
            None => f.write_str("no statements to share the CPU time"),
        }
    }
}
