//! The ladder: more and more connections, all executing point selects all the time.

use page::Chart;

use super::{Headline, Story, Tile, best, warmup};
use crate::html::plots::Plot;
use crate::{Course, Part, Plan, Reference, Report, Way, Workload};

pub(super) const STORY: Story = Story {
    name: "ladder",
    title: "The ladder",
    lead: "Every connection sends one point select after the other without a pause, over the text \
           protocol; every answer is checked. At each step the database alone, as it is installed and \
           with its thread pool, and then through Myriad.",
    connections: "connections",
    rate: "statements/s",
    keeps_bench: false,
    notes: &[],
    source: Some(
        "Published in 2019: “MySQL Challenge: 100k Connections”, Percona, with Percona Server 8.0.13 and \
         sysbench: a server with 24 cores and 64 GB, and four more machines of clients; its thread pool was on \
         from 25,000 connections. The mean was not published; it follows from the other two.",
    ),
};

/// What the original experiment published: connections, statements per second, and the milliseconds
/// that 95 % did not exceed. "MySQL Challenge: 100k Connections", Percona, 2019.
const PUBLISHED: [(u32, f64, f64); 5] = [
    (10_000, 33_367.0, 3_681.0),
    (25_000, 33_332.0, 975.0),
    (50_000, 33_588.0, 1_800.0),
    (75_000, 34_900.0, 2_650.0),
    (100_000, 32_260.0, 3_405.0),
];

/// Their line in a plot.
const LINE: (&str, usize) = ("2019, 24 cores", 4);

pub(super) fn courses(plan: &Plan) -> Vec<Course> {
    let each = |connections| {
        Way::ALL.map(|way| Course {
            way,
            connections,
            workload: Workload::PointSelect,
            case: None,
            warmup: warmup(plan.duration, connections),
            duration: plan.duration,
        })
    };
    plan.steps.each().flat_map(each).collect()
}

/// Those of the plan's steps of which something was published.
pub(super) fn reference(plan: &Plan) -> Vec<Reference> {
    let published = PUBLISHED.into_iter();
    let climbed = published.filter(|one| plan.steps.each().any(|step| step == one.0));
    let reference = |(connections, per_s, p95)| Reference {
        p95_ms: Some(p95),
        ..Reference::new("published in 2019", connections, per_s)
    };
    climbed.map(reference).collect()
}

pub(super) fn charts(part: &Part) -> Vec<Chart> {
    let plot = Plot::of(part);
    vec![
        plot.chart("Statements per second", |f| Some(f.statements_per_s))
            .with_reference(LINE, |reference| Some(reference.statements_per_s))
            .with_stops()
            .done(),
        plot.p95()
            .with_reference(LINE, |reference| reference.p95_ms)
            .done(),
        plot.chart("Bytes of memory per connection, everything together", |f| {
            Some(f.bytes_per_connection()? as f64)
        })
        .done(),
        plot.chart(
            "Microseconds of CPU per statement, database and Myriad",
            |f| Some(f.database.cpu_us? + f.myriad.and_then(|myriad| myriad.cpu_us).unwrap_or(0.0)),
        )
        .done(),
    ]
}

pub(super) fn headline(report: &Report, part: &Part) -> Option<Headline> {
    let (row, figures) = best(part, Way::Myriad)?;
    let process = figures.myriad.as_ref()?;
    let kernel = figures.kernel_per_connection;
    let machine = &report.machine;
    let mut tiles = vec![
        Tile::new(
            figures.latency_ms.p50,
            "ms",
            "half of the answers took no longer",
        ),
        Tile::new(figures.latency_ms.p95, "ms", "95 % took no longer"),
    ];
    let mean = |ms| Tile::new(ms, "ms", "the mean: connections ÷ statements/s");
    tiles.extend(figures.mean_ms.map(mean));
    tiles.extend([
        Tile::new(figures.errors as f64, "", "errors and wrong answers"),
        Tile::new(
            process.rss_bytes as f64,
            "bytes",
            "resident memory of Myriad in all",
        ),
    ]);
    if let Some(kernel) = kernel {
        let name = "the kernel's memory per connection, both ends";
        tiles.push(Tile::new(kernel.total() as f64, "bytes", name));
    }
    Some(Headline {
        words: vec![
            (f64::from(row.connections), "connections executing,"),
            (figures.statements_per_s, "statements/s,"),
            (
                process.rss_bytes_per_connection? as f64,
                "bytes of Myriad each",
            ),
        ],
        below: format!(
            "One Myriad process and {} connections to {}, on one machine with {} cores that also ran \
             the database and all the clients. {} {}",
            report.settings.backends,
            machine.database,
            machine.cores,
            alone(part),
            published(part, row.connections)
        ),
        tiles,
    })
}

/// What was published for as many connections.
fn published(part: &Part, connections: u32) -> String {
    let mut published = part.reference.iter();
    let found = published.find(|one| one.connections == connections);
    found.map_or_else(String::new, |one| {
        let rate = page::grouped(one.statements_per_s);
        let p95 = page::grouped(one.p95_ms.unwrap_or_default());
        format!(
            "Published in 2019 for as many: {rate} statements/s, 95 % within {p95} ms, by a server with 24 \
             cores and four more machines for the clients."
        )
    })
}

/// How far the database came alone.
fn alone(part: &Part) -> String {
    let ways = [Way::Alone, Way::ThreadPool];
    let best = ways.into_iter().filter_map(|way| best(part, way));
    let reached = best.map(|(row, _)| row.connections).max();
    let stop = part
        .rows
        .iter()
        .filter(|row| ways.contains(&row.way))
        .find_map(|row| row.limit());
    let reached = reached.map(|most| page::grouped(f64::from(most)));
    match (reached, stop) {
        (Some(most), Some(limit)) => {
            format!(
                "The database alone was measured at up to {most}; beyond, {} stop it.",
                limit.short
            )
        }
        (None, Some(limit)) => format!("The database alone was stopped by {}.", limit.short),
        (Some(most), None) => format!("The database alone came to {most}, too."),
        (None, None) => String::new(),
    }
}
