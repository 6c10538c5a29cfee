//! Reports of runs that nobody made.

use std::time::Duration;

use events::Span;

use super::*;
use crate::figures::Figures;
use crate::latencies::Latencies;
use crate::progress::{Progress, Stage};
use crate::script::Kind;
use crate::summary::GroupSummary;
use crate::tally::{ErrorNumber, Tally};

fn tally() -> Tally {
    let mut tally = Tally::new(Latencies::new().unwrap());
    for n in 1..=1_000 {
        tally.answered(Kind::Read);
        tally.completed(Span::from_us(n * 100), None);
    }
    tally
}

fn summary(tally: &Tally) -> Summary {
    let second = Duration::from_secs(1);
    let figures = Figures::of(tally, second, 5.0, false);
    let interval = |n: u64| {
        let stage = if n < 2 { Stage::Warmup } else { Stage::Measure };
        Progress::of(
            (second * n as u32, stage),
            (tally, second),
            (tally, 9),
            Vec::new(),
        )
    };
    Summary {
        connections: 12_345,
        duration_s: 3.0,
        total: figures.clone(),
        generator_cpu_us_per_statement: Some(1.5),
        generator_busy: 0.9,
        generator_rss_bytes_max: 7 << 20,
        slab_bytes_per_connection: Some(9390),
        watched: Vec::new(),
        groups: vec![GroupSummary {
            name: "all".into(),
            workload: "point-select".into(),
            connections: 12_345,
            figures,
        }],
        series: (1..5).map(interval).collect(),
    }
}

#[test]
fn a_report_needs_nothing_from_elsewhere() {
    let page = summary(&tally()).to_html();
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    for foreign in ["<script", "http", "url(", "NaN", "inf"] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    assert_eq!(page.matches("<svg").count(), 4);
    assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count());
    assert!(page.contains("12,345 connections") && page.contains("point-select"));
    assert!(page.contains("prefers-color-scheme: dark"));
    assert!(page.contains("threads were nearly always busy"));
    assert!(page.contains("7.0 MiB") && page.contains("9390 bytes"));
}

#[test]
fn texts_of_the_target_cannot_become_markup() {
    let mut tally = tally();
    tally.error(ErrorNumber::Err(1040), || "<b>&".into());
    let page = summary(&tally).to_html();
    assert!(page.contains("1 × 1040 (&lt;b>&amp;)"), "{page}");
    assert!(page.contains("raise max_connections"));
}

#[test]
fn a_run_without_anything_has_a_report_too() {
    let mut summary = summary(&Tally::new(Latencies::new().unwrap()));
    summary.series.clear();
    assert_eq!(summary.to_html().matches("<svg").count(), 0);
}
