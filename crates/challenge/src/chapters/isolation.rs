//! Isolation: what is left of an account's rate when another account misbehaves.

use page::Chart;

use super::{Headline, Story, Tile, warmup};
use crate::course::PROTECTED;
use crate::figures::mean_ms;
use crate::html::plots;
use crate::orders::ROUNDS;
use crate::{
    Beside, Bound, Case, Check, Course, Part, Plan, Reference, Report, Row, Way, Workload,
};

pub(super) const STORY: Story = Story {
    name: "isolation",
    title: "One account beside another",
    lead: "A protected account has 128 clients that change one row by primary key after the other, durably as \
           in the ladder of updates. It is measured alone, then beside a misbehaving account that does the \
           same with as many clients or very many, in turn.",
    connections: "misbehaving clients",
    rate: "updates/s",
    keeps_bench: false,
    notes: &[
        "Rates, latencies and errors are those of the protected account; memory and processor time are those \
         of all. What it gets alone is the mean of before and after, each measured for half as long in the \
         same database and front door. Where only one account is limited the protected one may run 128 \
         statements at once. In the plots q is the query limit, t the transaction limit, 1:32 the weights beside \
         a query limit of 4, and + \
         very many misbehaving clients. What misbehaving clients still waited for in the end is not awaited.",
    ],
    source: Some(
        "Published in 2010: the MySQL team of Facebook on max_concurrent_queries (mcq) and \
         max_concurrent_transactions (mct), with a patched MySQL 5.1: 4,551 updates/s alone.",
    ),
};

/// Updates per second of the protected account: alone, and beside the other.
const ALONE: f64 = 4_551.0;
const PUBLISHED: [(&str, f64); 3] = [
    ("published, no limits", 2_350.0),
    ("published, query limit 4", 4_413.0),
    ("published, transaction limit 4", 4_525.0),
];

/// The most that the latency may grow.
const SLOWER: f64 = 1.3;
/// The least that two equal accounts may get, of what the first gets alone.
const HALF: f64 = 0.48;

pub(super) fn courses(plan: &Plan) -> Vec<Course> {
    let duration = plan.duration / 2;
    let course = |way, case, connections| Course {
        way,
        connections,
        workload: Workload::Beside,
        case,
        warmup: warmup(duration / ROUNDS, PROTECTED),
        duration,
    };
    let mut courses = vec![course(Way::Alone, None, PROTECTED)];
    let cases = [
        Case::NoLimits,
        Case::QueryLimit4,
        Case::TransactionLimit4,
        Case::Weight32,
        Case::QueryLimit1,
    ];
    courses.extend(cases.map(|case| course(Way::Myriad, Some(case), PROTECTED)));
    let crowded = [Case::QueryLimit4, Case::NoLimits];
    courses.extend(crowded.map(|case| course(Way::Myriad, Some(case), plan.crowd)));
    courses
}

pub(super) fn reference() -> Vec<Reference> {
    let each = PUBLISHED.map(|(name, per_s)| Reference {
        mean_ms: Some(mean_ms(PROTECTED, per_s)),
        share: Some(crate::figures::rounded(per_s / ALONE)),
        ..Reference::new(name, PROTECTED, per_s)
    });
    each.to_vec()
}

/// The least share of a run, if there is one.
fn least(row: &Row) -> Option<f64> {
    let crowded = row.connections > PROTECTED;
    match (row.case?, crowded) {
        (Case::QueryLimit4 | Case::TransactionLimit4, false) => Some(0.95),
        (Case::Weight32 | Case::QueryLimit1, false) => Some(0.97),
        (Case::QueryLimit4, true) => Some(0.93),
        _ => None,
    }
}

pub(super) fn checks(part: &Part) -> Vec<Check> {
    let rows = part.rows.iter();
    let measured = rows.filter_map(|row| Some((row, row.figures()?.beside?)));
    measured
        .flat_map(|(row, beside)| of_row(row, &beside))
        .collect()
}

fn of_row(row: &Row, beside: &Beside) -> Vec<Check> {
    let clients = page::grouped(f64::from(row.connections));
    let Some(case) = row.case else {
        return Vec::new();
    };
    let name = |what: &str| format!("{clients} misbehaving clients, {case}: {what}");
    if let Some(least) = least(row) {
        let share = Check::new(name("share of alone"), beside.share, Bound::AtLeast(least));
        // Where nothing was answered nothing was slow.
        let slower = (beside.p95_ratio > 0.0).then(|| {
            let bound = Bound::AtMost(SLOWER);
            Check::new(name("95 % ÷ alone"), beside.p95_ratio, bound)
        });
        return [share].into_iter().chain(slower).collect();
    }
    let half = Bound::AtLeast(HALF);
    match row.connections > PROTECTED {
        true => vec![
            Check::new(name("share of alone"), beside.share, half),
            Check::new(name("the other’s share"), beside.other_share, half),
        ],
        false => Vec::new(),
    }
}

/// What a run is called below a plot.
fn mark(row: &Row) -> String {
    let case = match row.case {
        Some(Case::QueryLimit4) => "q 4",
        Some(Case::TransactionLimit4) => "t 4",
        Some(Case::Weight32) => "q 4, 1:32",
        Some(Case::QueryLimit1) => "q 1",
        Some(_) => "none",
        None => "alone",
    };
    match row.connections > PROTECTED {
        true => format!("{case} +"),
        false => case.to_owned(),
    }
}

pub(super) fn charts(part: &Part) -> Vec<Chart> {
    vec![
        plots::of_rows(
            part,
            "Share of what the protected account gets alone",
            mark,
            |f| Some(f.beside?.share),
        ),
        plots::of_rows(
            part,
            "Milliseconds that 95 % did not exceed, divided by those alone",
            mark,
            |f| Some(f.beside?.p95_ratio),
        ),
    ]
}

pub(super) fn headline(report: &Report, part: &Part) -> Option<Headline> {
    let mut rows = part.rows.iter();
    let (row, figures) = rows.find_map(|row| {
        let is_limited = row.case == Some(Case::QueryLimit4);
        is_limited.then_some((row, row.figures()?))
    })?;
    let beside = figures.beside?;
    let tile = |value, unit, name: &str| Tile::new(value, unit, name);
    Some(Headline {
        words: vec![
            (
                f64::from(row.connections),
                "clients of a misbehaving account at query limit 4;",
            ),
            (
                figures.statements_per_s,
                "updates/s of the account beside it,",
            ),
            (beside.alone_per_s, "if that is alone"),
        ],
        below: format!(
            "On one machine with {} cores that also ran the database and all the clients.",
            report.machine.cores
        ),
        tiles: vec![
            tile(figures.latency_ms.p95, "ms", "95 % took no longer"),
            tile(beside.alone_p95_ms, "ms", "the same, alone"),
            tile(
                beside.other_per_s,
                "",
                "updates/s of the misbehaving account",
            ),
            tile(figures.errors as f64, "", "errors and wrong answers"),
        ],
    })
}
