//! The ladder of updates: more and more connections that change rows, each commit durable, with both
//! limits of the account at 128.

use page::Chart;

use super::{Headline, Story, Tile, best, warmup};
use crate::html::plots::Plot;
use crate::orders::ROUNDS;
use crate::{Bound, Case, Check, Course, Part, Plan, Reference, Report, Row, Way, Workload};

pub(super) const STORY: Story = Story {
    name: "update-ladder",
    title: "The ladder of updates",
    lead: "Every connection changes one row by primary key after the other, each in a transaction of its \
           own that is on the disk, with a binary log, when it is answered. Through Myriad the account may \
           run 128 statements and have 128 transactions at once; the others wait.",
    connections: "connections",
    rate: "updates/s",
    keeps_bench: true,
    notes: &[
        "The database commits what comes together in one group: below 128 connections a rate is about how \
         large its groups are, and stands beside the database alone. All runs of one way used one \
         database, one after the other.",
        "Before each run the database has removed what the one before left behind. Through Myriad all widths \
         are run in turn, five times, each time for a fifth of the time, so that a \
         machine that becomes faster or slower does so for all of them. Shown is the round with the median \
         rate, and the errors of all.",
    ],
    source: Some(
        "Published in 2010: the MySQL team of Facebook on max_concurrent_queries and \
         max_concurrent_transactions, with a patched MySQL 5.1 and 8 tables of 1,000,000 rows. There a \
         transaction above its limit was refused with an error; here it waits.",
    ),
};

/// Connections from which on more of them are to make no difference.
const WIDE: u32 = 128;
/// The part of the best rate that each of those is to have.
const LEAST: f64 = 0.97;

/// Updates per second by connections: without limits, with the query limit at 128, and with both.
const PUBLISHED: [(u32, [f64; 3]); 8] = [
    (8, [1_778.0, 1_816.0, 1_775.0]),
    (16, [4_502.0, 4_623.0, 4_498.0]),
    (32, [4_586.0, 4_733.0, 4_594.0]),
    (64, [4_648.0, 4_729.0, 4_640.0]),
    (128, [4_551.0, 4_714.0, 4_557.0]),
    (256, [4_468.0, 4_655.0, 1_917.0]),
    (512, [4_423.0, 4_557.0, 3_241.0]),
    (1_024, [4_421.0, 4_522.0, 2_447.0]),
];
const NO_LIMIT: &str = "published, no limit";
const BOTH: &str = "published, both limits";
const NAMES: [&str; 3] = [NO_LIMIT, "published, query limit", BOTH];

pub(super) fn courses(plan: &Plan) -> Vec<Course> {
    let duration = plan.duration / 2;
    let round = |way, case, duration| {
        let each = plan.widths.each().map(move |connections| Course {
            way,
            connections,
            workload: Workload::Update,
            case,
            warmup: warmup(duration, connections),
            duration,
        });
        each.collect::<Vec<_>>()
    };
    let mut courses = round(Way::Alone, None, duration);
    for number in 0..ROUNDS as usize {
        let mut each = round(Way::Myriad, Some(Case::BothLimits), duration / ROUNDS);
        // No width always comes behind the same one.
        let first = number.checked_rem(each.len()).unwrap_or_default();
        each.rotate_left(first);
        courses.extend(each);
    }
    courses
}

pub(super) fn reference(plan: &Plan) -> Vec<Reference> {
    let run = |one: &(u32, [f64; 3])| plan.widths.each().any(|width| width == one.0);
    let published = PUBLISHED.into_iter().filter(run);
    let each = |(connections, rates): (u32, [f64; 3])| {
        let named = NAMES.into_iter().zip(rates);
        named.map(move |(name, per_s)| Reference::new(name, connections, per_s))
    };
    published.flat_map(each).collect()
}

pub(super) fn checks(part: &Part) -> Vec<Check> {
    let rows = || part.rows.iter().filter(|row| row.way == Way::Myriad);
    let measured = || rows().filter_map(|row| Some((row, row.figures()?)));
    let most = measured().map(|(_, figures)| figures.statements_per_s);
    let most = most.fold(0.0, f64::max);
    let wide = measured().filter(|(row, _)| row.connections >= WIDE && most > 0.0);
    let ratio = |(row, figures): (&Row, &crate::Figures)| {
        let connections = page::grouped(f64::from(row.connections));
        let name = format!("{connections} connections through Myriad: updates/s ÷ the best of all");
        Check::new(name, figures.statements_per_s / most, Bound::AtLeast(LEAST))
    };
    let errors: u64 = measured().map(|(_, figures)| figures.errors).sum();
    let errors = Check::new("errors through Myriad", errors as f64, Bound::AtMost(0.0));
    let any = measured().next().is_some();
    wide.map(ratio).chain(any.then_some(errors)).collect()
}

pub(super) fn charts(part: &Part) -> Vec<Chart> {
    let plot = Plot::of(part);
    let of = |wanted| move |one: &Reference| (one.name == wanted).then_some(one.statements_per_s);
    vec![
        plot.chart("Updates per second", |f| Some(f.statements_per_s))
            .with_reference(("2010, no limit", 4), of(NO_LIMIT))
            .with_reference(("2010, both limits", 3), of(BOTH))
            .with_stops()
            .done(),
        plot.p95().done(),
    ]
}

pub(super) fn headline(report: &Report, part: &Part) -> Option<Headline> {
    let (row, figures) = best(part, Way::Myriad)?;
    let mut tiles = vec![
        Tile::new(
            figures.latency_ms.p50,
            "ms",
            "half of the answers took no longer",
        ),
        Tile::new(figures.latency_ms.p95, "ms", "95 % took no longer"),
        Tile::new(figures.errors as f64, "", "errors and wrong answers"),
    ];
    if let Some((row, alone)) = best(part, Way::Alone) {
        let connections = page::grouped(f64::from(row.connections));
        let name = format!("updates/s of the database alone, {connections} connections");
        tiles.push(Tile::new(alone.statements_per_s, "", name));
    }
    Some(Headline {
        words: vec![
            (f64::from(row.connections), "connections that all update,"),
            (figures.statements_per_s, "durable updates/s through Myriad"),
        ],
        below: format!(
            "With 128 statements and 128 transactions at once, on one machine with {} cores that also ran the \
             database and all the clients.",
            report.machine.cores
        ),
        tiles,
    })
}
