//! Figures from summaries that no generator wrote.

use super::*;
use crate::figures::median_round;
use crate::limits::tests::course;

const COUNTS: &str = r#""latency_ms": {"p50": 1.0, "p95": 2.0004, "p99": 3.0, "p999": 3.5, "max": 4.0},
    "wrong_answers": 0, "reconnects": 0"#;

/// A summary of two groups, of which the second has statements without an answer.
fn two_groups() -> Summary {
    let text = format!(
        r#"{{"statements_per_s": 2400.0, {COUNTS}, "unanswered": 900, "errors": {{}}, "timeouts": 0,
            "generator_cpu_us_per_statement": 1.5, "generator_busy": 0.5,
            "watched": [{{"pid": 1, "rss_bytes": 9000, "rss_bytes_per_connection": 8,
                          "cpu_us_per_statement": 30.5}}],
            "groups": [
                {{"name": "protected", "statements_per_s": 2000.0, {COUNTS}, "unanswered": 1,
                  "errors": {{"1205": 2}}}},
                {{"name": "misbehaving", "statements_per_s": 400.0, {COUNTS}, "unanswered": 899,
                  "errors": {{"1040": 4}}}}]}}"#
    );
    serde_json::from_str(&text).unwrap()
}

fn alone(per_s: f64, p95: f64) -> Figures {
    let mut figures = crate::report::tests::figures(1.0);
    figures.statements_per_s = per_s;
    figures.latency_ms.p95 = p95;
    figures
}

#[test]
fn figures_are_those_of_the_generator() {
    let text = r#"{"connections": 1000, "statements_per_s": 2000.00049, "more": [],
        "latency_ms": {"p50": 1.0, "p95": 2.0004, "p99": 3.0, "p999": 3.5, "max": 4.0},
        "errors": {"1040": 7}, "wrong_answers": 1, "reconnects": 2, "unanswered": 0,
        "generator_cpu_us_per_statement": null, "generator_busy": 0.51,
        "watched": [{"pid": 1, "rss_bytes": 9000, "rss_bytes_per_connection": 8,
                     "cpu_us_per_statement": 30.5}]}"#;
    let summary: Summary = serde_json::from_str(text).unwrap();
    let figures = summary.figures(&course(Way::Alone, 1_000)).unwrap();
    assert_eq!(
        (figures.statements_per_s, figures.mean_ms),
        (2_000.0, Some(500.0))
    );
    assert_eq!((figures.latency_ms.p95, figures.errors), (2.0, 10));
    assert_eq!(
        figures.errors_text,
        "1 × wrong answers, 2 × connections lost, 7 × 1040"
    );
    assert_eq!(figures.database.cpu_us, Some(30.5));
    assert_eq!(figures.myriad, None);
}

#[test]
fn an_account_is_compared_with_itself_alone() {
    let mut alone = [alone(2_400.0, 1.5), alone(2_600.0, 2.5)];
    alone[0].errors = 3;
    let both = two_groups().beside(&course(Way::Alone, 128), &alone);
    let figures = both.unwrap();
    assert_eq!(
        (figures.statements_per_s, figures.mean_ms),
        (2_000.0, Some(64.0))
    );
    let beside = figures.beside.unwrap();
    assert_eq!((beside.alone_per_s, beside.share), (2_500.0, 0.8));
    assert_eq!((beside.alone_p95_ms, beside.p95_ratio), (2.0, 1.0));
    assert_eq!((beside.other_per_s, beside.other_share), (400.0, 0.16));
    // What the other one still waited for in the end was to wait.
    assert_eq!(
        (figures.errors, figures.errors_text.as_str()),
        (
            10,
            "1 × unanswered, 4 × 1040, 2 × 1205, 3 × errors in the run to compare with"
        )
    );
}

#[test]
fn of_several_rounds_the_medians_count_and_all_errors() {
    let round = |share, p95_ratio, errors| {
        let mut figures = alone(1_000.0 * share, 1.0);
        figures.beside = Some(Beside {
            alone_per_s: 1_000.0,
            share,
            alone_p95_ms: 1.0,
            p95_ratio,
            other_per_s: 0.0,
            other_share: 1.0 - share,
        });
        figures.errors = errors;
        figures
    };
    let others = vec![round(0.4, 1.0, 2), round(0.7, 1.1, 1)];
    let figures = median_round(round(0.9, 1.5, 0), others);
    let beside = figures.beside.unwrap();
    assert_eq!((figures.statements_per_s, figures.errors), (700.0, 3));
    assert_eq!((beside.share, beside.p95_ratio), (0.7, 1.1));
}

#[test]
fn what_is_refused_in_a_storm_is_no_error_but_of_the_database() {
    let counted = Counted {
        ran: 9_000,
        late: 3,
    };
    let figures = |way| {
        let mut summary = two_groups();
        summary.total.errors = [("1226".to_owned(), 70), ("1040".to_owned(), 2)].into();
        (summary.total.unanswered, summary.total.timeouts) = (0, 11);
        let calm = alone(1_500.0, 1.0);
        summary.storm(&course(way, 128), &calm, counted).unwrap()
    };
    let through = figures(Way::Myriad);
    let storm = through.storm.unwrap();
    assert_eq!((storm.refused, storm.given_up, storm.late), (70, 11, 3));
    assert_eq!((storm.goodput, storm.calm_per_s), (1.5, 1_500.0));
    assert_eq!(through.mean_ms, None, "not all wait at all times");
    assert_eq!(
        (through.errors, through.errors_text.as_str()),
        (2, "2 × 1040")
    );
    let alone = figures(Way::Alone);
    assert_eq!((alone.storm.unwrap().refused, alone.errors), (0, 72));
}
