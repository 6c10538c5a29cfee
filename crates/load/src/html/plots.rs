//! Which plots there are, and of what.

use page::{Chart, Series, WIDE, number};

use crate::progress::{Progress, Stage};
use crate::summary::Summary;

/// About how many marks an axis of time has.
const MARKS: f64 = 8.0;

/// Parts that are marked on the axis of the distribution: one more nine each.
const PARTS: [&str; 7] = [
    "0 %",
    "90 %",
    "99 %",
    "99.9 %",
    "99.99 %",
    "99.999 %",
    "99.9999 %",
];

/// The plots of a run.
pub(super) fn charts(summary: &Summary) -> Vec<Chart> {
    let mut charts = vec![throughput(summary), latency(summary), distribution(summary)];
    let waited = summary.series.iter().any(|interval| interval.backlog > 0);
    if waited {
        let backlog = series(summary, "backlog", |interval| interval.backlog as f64);
        charts.push(over_time(
            summary,
            "Arrivals that wait for a connection",
            vec![backlog],
        ));
    }
    let open = series(summary, "connections", |interval| {
        interval.connections as f64
    });
    charts.push(over_time(summary, "Connections logged in", vec![open]));
    if summary.total.reconnects + summary.total.timeouts > 0 || !summary.total.errors.is_empty() {
        let errors = series(summary, "errors", |interval| interval.errors as f64);
        let reconnects = series(summary, "reconnects", |interval| interval.reconnects as f64);
        let timeouts = series(summary, "timeouts", |interval| interval.timeouts as f64);
        let all = vec![errors, reconnects, timeouts];
        charts.push(over_time(summary, "Errors since the beginning", all));
    }
    charts
}

fn throughput(summary: &Summary) -> Chart {
    let mut all = vec![series(summary, "transactions/s", |i| i.transactions_per_s)];
    let several = summary
        .series
        .iter()
        .any(|i| i.statements_per_s > i.transactions_per_s * 1.01);
    if several {
        all.push(series(summary, "statements/s", |i| i.statements_per_s));
    }
    let late = |interval: &Progress| interval.goodput_per_s < interval.transactions_per_s;
    if summary.series.iter().any(late) {
        all.push(series(summary, "goodput/s", |i| i.goodput_per_s));
    }
    over_time(summary, "Throughput per second", all)
}

fn latency(summary: &Summary) -> Chart {
    let all = vec![
        series(summary, "50 %", |i| i.latency_ms_p50),
        series(summary, "95 %", |i| i.latency_ms_p95),
        series(summary, "99 %", |i| i.latency_ms_p99),
    ];
    over_time(summary, "Latency in milliseconds", all)
}

/// Each nine takes the same room.
fn distribution(summary: &Summary) -> Chart {
    let place = |part: f64| -(1.0 - part).log10();
    let parts = summary.total.distribution.iter();
    let points: Vec<(f64, f64)> = parts.map(|(part, ms)| (place(*part), *ms)).collect();
    let last = points.last().map_or(0.0, |point| point.0);
    let marks = PARTS
        .iter()
        .zip(0..)
        .map(|(text, nines)| (f64::from(nines), (*text).to_owned()));
    Chart {
        title: "Latency in milliseconds that a part of the transactions did not exceed",
        series: coloured(vec![Series {
            name: "ms",
            points,
            ..Series::default()
        }]),
        marks: marks.take_while(|(at, _)| *at <= last).collect(),
        measured_from: 0.0,
        name_of: |nines| format!("{:.4} %", 100.0 * (1.0 - 10f64.powf(-nines))),
        size: WIDE,
        dots: false,
    }
}

fn over_time(summary: &Summary, title: &'static str, all: Vec<Series>) -> Chart {
    let first = summary.series.first().map_or(0.0, seconds);
    let last = summary.series.last().map_or(0.0, seconds);
    let rough = ((last - first) / MARKS).max(0.1);
    let steps = [
        0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 600.0, 3_600.0,
    ];
    let step = steps
        .into_iter()
        .find(|step| *step >= rough)
        .unwrap_or(rough);
    let marks = (0..).map(|mark| ((first / step).ceil() + f64::from(mark)) * step);
    let marks = marks.take_while(|at| *at <= last);
    let unmeasured = summary
        .series
        .iter()
        .filter(|interval| interval.stage != Stage::Measure);
    Chart {
        title,
        series: coloured(all),
        marks: marks.map(|at| (at, format!("{} s", number(at)))).collect(),
        measured_from: unmeasured.map(seconds).fold(0.0, f64::max),
        name_of: |at| format!("{at:.1} s"),
        size: WIDE,
        dots: false,
    }
}

fn series(summary: &Summary, name: &'static str, value: impl Fn(&Progress) -> f64) -> Series {
    let intervals = summary.series.iter();
    Series {
        name,
        points: intervals
            .map(|interval| (seconds(interval), value(interval)))
            .collect(),
        ..Series::default()
    }
}

/// Each line in a colour of its own.
fn coloured(mut all: Vec<Series>) -> Vec<Series> {
    for (series, colour) in all.iter_mut().zip(1..) {
        series.colour = colour;
    }
    all
}

fn seconds(interval: &Progress) -> f64 {
    interval.elapsed.as_secs_f64()
}
