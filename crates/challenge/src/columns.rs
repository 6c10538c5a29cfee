//! What is shown of each run, in the terminal and in the report.

use crate::chapters::Story;
use crate::text::{bytes, ms, per_s, percent, us};
use crate::{Figures, KernelMemory, Process};

/// One figure of each run.
pub(crate) struct Column {
    /// Above it.
    pub(crate) head: &'static str,
    pub(crate) value: fn(&Figures) -> Option<f64>,
    pub(crate) show: fn(f64) -> String,
    /// Whether anything but 0 is bad.
    pub(crate) counts_errors: bool,
}

const fn column(
    head: &'static str,
    value: fn(&Figures) -> Option<f64>,
    show: fn(f64) -> String,
) -> Column {
    Column {
        head,
        value,
        show,
        counts_errors: false,
    }
}

/// The column of means, which people may not know.
pub(crate) const MEAN: &str = "mean by Little";
/// The column of an account's share of what it gets alone.
pub(crate) const SHARE: &str = "share of alone";

/// How fast it was.
pub(crate) fn speed(story: &Story) -> Vec<Column> {
    vec![
        column(story.rate, |f| Some(f.statements_per_s), per_s),
        column("50 % ms", |f| Some(f.latency_ms.p50), ms),
        column("95 % ms", |f| Some(f.latency_ms.p95), ms),
        column("99 % ms", |f| Some(f.latency_ms.p99), ms),
        column("longest ms", |f| Some(f.latency_ms.max), ms),
        column(MEAN, |f| f.mean_ms, ms),
        Column {
            counts_errors: true,
            ..column("errors", |f| Some(f.errors as f64), page::grouped)
        },
    ]
}

/// What is told of some chapters only.
pub(crate) fn special() -> Vec<Column> {
    vec![
        column("alone/s", |f| Some(f.beside?.alone_per_s), per_s),
        column(SHARE, |f| Some(f.beside?.share), percent),
        column("95 % ms alone", |f| Some(f.beside?.alone_p95_ms), ms),
        column("95 % ÷ alone", |f| Some(f.beside?.p95_ratio), ms),
        column("the other/s", |f| Some(f.beside?.other_per_s), per_s),
        column(
            "the other’s share",
            |f| Some(f.beside?.other_share),
            percent,
        ),
        column("capacity/s", |f| Some(f.storm?.capacity_per_s), per_s),
        column("goodput", |f| Some(f.storm?.goodput), percent),
        column("calm/s", |f| Some(f.storm?.calm_per_s), per_s),
        column("refused", |f| Some(f.storm?.refused as f64), page::grouped),
        column(
            "given up",
            |f| Some(f.storm?.given_up as f64),
            page::grouped,
        ),
        column("ran", |f| Some(f.storm?.ran as f64), page::grouped),
        Column {
            counts_errors: true,
            ..column(
                "begun for nobody",
                |f| Some(f.storm?.late as f64),
                page::grouped,
            )
        },
    ]
}

/// Memory of each connection: the columns that the terminal shows, too.
pub(crate) fn memory() -> Vec<Column> {
    vec![
        column("database each", |f| each(&f.database), bytes),
        column("Myriad each", |f| each(f.myriad.as_ref()?), bytes),
        column("kernel each", |f| kernel(f, KernelMemory::total), bytes),
    ]
}

/// What the memory of the kernel consists of.
pub(crate) fn kernel_parts() -> Vec<Column> {
    vec![
        column("objects", |f| kernel(f, |k| k.slab_bytes), bytes),
        column("stacks", |f| kernel(f, |k| k.stack_bytes), bytes),
        column("page tables", |f| kernel(f, |k| k.page_table_bytes), bytes),
        column("in sockets", |f| kernel(f, |k| k.socket_bytes), bytes),
    ]
}

/// The processes as wholes.
pub(crate) fn processes() -> Vec<Column> {
    vec![
        column("database RSS", |f| Some(f.database.rss_bytes as f64), bytes),
        column(
            "Myriad RSS",
            |f| Some(f.myriad.as_ref()?.rss_bytes as f64),
            bytes,
        ),
        column("database CPU, µs", |f| f.database.cpu_us, us),
        column("Myriad CPU, µs", |f| f.myriad.as_ref()?.cpu_us, us),
        column("generator CPU, µs", |f| f.generator_cpu_us, us),
        column(
            "generator busy",
            |f| Some(f.generator_busy),
            |busy| format!("{:.0} %", busy * 100.0),
        ),
    ]
}

fn each(process: &Process) -> Option<f64> {
    process.rss_bytes_per_connection.map(|bytes| bytes as f64)
}

fn kernel(figures: &Figures, part: fn(&KernelMemory) -> u64) -> Option<f64> {
    let kernel = figures.kernel_per_connection.as_ref()?;
    Some(part(kernel) as f64)
}
