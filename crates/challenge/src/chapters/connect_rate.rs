//! The connect rate: users that connect, log in, send one statement and quit, again and again.

use std::time::Duration;

use page::Chart;

use super::{Headline, Story, Tile};
use crate::html::plots::Plot;
use crate::{Course, Figures, Part, Plan, Report, Row, Way, Workload};

pub(super) const STORY: Story = Story {
    name: "connect-rate",
    title: "Connecting for every statement",
    lead: "Every user connects, logs in, sends one point select and quits, again and again: what \
           applications do that keep no connections. Latency is that of all four together.",
    connections: "users",
    rate: "connects/s",
    keeps_bench: true,
    notes: &[],
    source: None,
};

/// The rate settles at once, so less time than for the ladder will do.
const LEAST: Duration = Duration::from_secs(1);

pub(super) fn courses(plan: &Plan) -> Vec<Course> {
    let duration = (plan.duration / 2).max(LEAST.min(plan.duration));
    let of = |way| {
        let each = plan.users.each().map(move |connections| Course {
            way,
            connections,
            workload: Workload::Reconnect,
            case: None,
            warmup: duration / 4,
            duration,
        });
        each.collect::<Vec<_>>()
    };
    [Way::Alone, Way::Myriad].into_iter().flat_map(of).collect()
}

pub(super) fn charts(part: &Part) -> Vec<Chart> {
    let plot = Plot::of(part);
    vec![
        plot.chart("Connects per second, each with a statement", |f| {
            Some(f.statements_per_s)
        })
        .with_stops()
        .done(),
        plot.p95().done(),
    ]
}

pub(super) fn headline(report: &Report, part: &Part) -> Option<Headline> {
    let (row, most) = fastest(part, Way::Myriad)?;
    let mut tiles = vec![
        Tile::new(most.latency_ms.p50, "ms", "half of them took no longer"),
        Tile::new(most.latency_ms.p95, "ms", "95 % took no longer"),
        Tile::new(most.errors as f64, "", "errors and wrong answers"),
    ];
    if let Some((row, alone)) = fastest(part, Way::Alone) {
        let users = page::grouped(f64::from(row.connections));
        let name = format!("per second by the database alone, {users} users");
        tiles.push(Tile::new(alone.statements_per_s, "", name));
    }
    Some(Headline {
        words: vec![
            (
                most.statements_per_s,
                "times a second connect, log in, read a row, quit:",
            ),
            (f64::from(row.connections), "users through Myriad"),
        ],
        below: format!(
            "On one machine with {} cores that also ran the database and all the clients.",
            report.machine.cores
        ),
        tiles,
    })
}

fn fastest(part: &Part, way: Way) -> Option<(&Row, &Figures)> {
    let rows = part.rows.iter().filter(|row| row.way == way);
    let measured = rows.filter_map(|row| Some((row, row.figures()?)));
    measured.max_by(|a, b| a.1.statements_per_s.total_cmp(&b.1.statements_per_s))
}
