//! The retry storm: clients that give up, connect again and ask again, three times as many as can be served.

use std::time::Duration;

use page::Chart;

use super::{Headline, Story, Tile};
use crate::html::plots;
use crate::{Bound, Case, Check, Course, Part, Plan, Report, Row, Way, Workload};

pub(super) const STORY: Story = Story {
    name: "storm",
    title: "A retry storm",
    lead: "Statements take 10 ms and 16 run at once, so that 1,600 per second can be run. Clients want three \
           times as many. Who has no answer within a second hangs up, connects again and repeats the statement.",
    connections: "clients",
    rate: "answers/s",
    keeps_bench: false,
    notes: &[
        "An answer counts if its client still waits for it; times are from when the statement was first wanted, \
         repetitions included. Each statement changes a row and keeps it locked while it sleeps. Through Myriad it \
         is one of 10,000 rows, and the account may run 16 statements at once. The database alone has no such limit: \
         there it is one of 16 rows, so that 16 can be run at once, too, and lots are drawn for which waits for \
         which. Calm is what 64 clients get that wait for their answers. Begun for nobody: the database ended \
         the statement 1.11 s or more after it was sent. Refused is error 1226 or 1203, which the client takes \
         for an answer.",
    ],
    source: None,
};

/// The least part of the capacity that is to be answered in time.
const LEAST: f64 = 0.9;

pub(super) fn courses(plan: &Plan) -> Vec<Course> {
    let course = |way, case| Course {
        way,
        connections: plan.storm,
        workload: Workload::Storm,
        case,
        // Long enough that the first have given up several times.
        warmup: (plan.duration / 4).min(Duration::from_secs(4)),
        duration: plan.duration,
    };
    let cases = [Case::Fifo, Case::Lifo, Case::Codel];
    let through = cases.map(|case| course(Way::Myriad, Some(case)));
    [course(Way::Alone, None)]
        .into_iter()
        .chain(through)
        .collect()
}

/// First come, first served is told, and has no goodput to keep.
pub(super) fn checks(part: &Part) -> Vec<Check> {
    let rows = part.rows.iter();
    let measured = rows.filter_map(|row| Some((row.case?, row.figures()?.storm?)));
    let each = measured.flat_map(|(case, storm)| {
        let goodput = (case != Case::Fifo).then(|| {
            let name = format!("{case}: answers in time ÷ capacity");
            Check::new(name, storm.goodput, Bound::AtLeast(LEAST))
        });
        let name = format!("{case}: statements begun for clients that had hung up");
        let late = Check::new(name, storm.late as f64, Bound::AtMost(0.0));
        goodput.into_iter().chain([late])
    });
    each.collect()
}

fn mark(row: &Row) -> String {
    row.case.map_or("alone", Case::name).to_owned()
}

pub(super) fn charts(part: &Part) -> Vec<Chart> {
    vec![
        plots::of_rows(part, "Answers in time per second", mark, |f| {
            Some(f.statements_per_s)
        }),
        plots::of_rows(part, "Statements begun for nobody", mark, |f| {
            Some(f.storm?.late as f64)
        }),
    ]
}

pub(super) fn headline(report: &Report, part: &Part) -> Option<Headline> {
    let mut rows = part.rows.iter();
    let (row, figures) = rows.find_map(|row| {
        let is_shed = row.case == Some(Case::Codel);
        is_shed.then_some((row, row.figures()?))
    })?;
    let storm = figures.storm?;
    let alone = part.rows.iter().find(|row| row.way == Way::Alone);
    let alone = alone.and_then(Row::figures);
    let alone = alone.map(|figures| {
        let name = "answers/s in time of the database alone";
        Tile::new(figures.statements_per_s, "", name)
    });
    let tiles = [
        Tile::new(storm.calm_per_s, "", "answers/s without a storm"),
        Tile::new(storm.late as f64, "", "statements begun for nobody"),
        Tile::new(storm.refused as f64, "", "refused at once"),
    ];
    Some(Headline {
        words: vec![
            (f64::from(row.connections), "clients in a retry storm:"),
            (figures.statements_per_s, "answers/s in time, of"),
            (storm.capacity_per_s, "that can be"),
        ],
        below: format!(
            "With overload = \"codel\", on one machine with {} cores that also ran the database and all the \
             clients.",
            report.machine.cores
        ),
        tiles: tiles.into_iter().chain(alone).collect(),
    })
}
