//! The report of a challenge that nobody ran.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::report::tests::report;
use crate::{Chapter, Outcome};

/// The figures that a page shows: the exact value, and the text that people read.
fn shown(page: &str) -> BTreeMap<String, Vec<String>> {
    let mut shown: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for part in page.split("<data value=\"").skip(1) {
        let (value, rest) = part.split_once("\">").unwrap();
        let (text, _) = rest.split_once("</data>").unwrap();
        shown
            .entry(value.to_owned())
            .or_default()
            .push(text.to_owned());
    }
    shown
}

/// Every number below a value, as a page writes it.
fn numbers(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::Number(number) => into.push(number.as_f64().unwrap().to_string()),
        Value::Array(all) => all.iter().for_each(|value| numbers(value, into)),
        Value::Object(all) => all.values().for_each(|value| numbers(value, into)),
        _ => {}
    }
}

#[test]
fn every_figure_of_the_json_stands_in_the_page_and_no_other() {
    let report = report();
    let json: Value = serde_json::from_str(&report.to_json().unwrap()).unwrap();
    let page = report.to_html();
    let shown = shown(&page);
    let mut kept = Vec::new();
    numbers(&json["chapters"], &mut kept);
    assert!(kept.len() > 100, "{}", kept.len());
    for number in &kept {
        assert!(shown.contains_key(number), "{number} is not shown");
    }
    // Sums and what the headline says again are made of these.
    numbers(&json, &mut kept);
    let sums = report.chapters.iter().flat_map(|part| &part.rows);
    let sums = sums.filter_map(|row| row.figures()?.kernel_per_connection);
    kept.extend(sums.map(|kernel| (kernel.total() as f64).to_string()));
    for value in shown.keys() {
        assert!(kept.contains(value), "{value} is shown but not kept");
    }
}

#[test]
fn what_people_read_is_the_exact_value_in_fewer_digits() {
    let page = report().to_html();
    let mut read = 0;
    for (value, texts) in shown(&page) {
        let exact: f64 = value.parse().unwrap();
        for text in texts {
            let (number, unit) = text.split_once(' ').unwrap_or((&text, ""));
            let factor = match unit {
                "" | "B" => 1.0,
                "KiB" => 1_024.0,
                "MiB" => 1_048_576.0,
                "GiB" => 1_073_741_824.0,
                "%" => 0.01,
                other => panic!("{other}"),
            };
            let number: f64 = number.replace(',', "").parse().unwrap();
            let near = (number * factor - exact).abs() <= exact * 0.006 + 0.051;
            assert!(near, "{text} for {exact}");
            read += 1;
        }
    }
    assert!(read > 100, "{read}");
}

#[test]
fn a_page_needs_nothing_from_elsewhere_and_takes_no_markup_in() {
    let page = report().to_html();
    for foreign in [
        "<script", "http", "url(", "NaN", "inf\"", "<broke>", "<why>", "A & B",
    ] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    assert!(page.contains("it &lt;broke>") && page.contains("A &amp; B"));
    assert_eq!(page.matches("<svg").count(), 12);
    assert!(page.contains("prefers-color-scheme: dark") && page.contains("max-width: 640px"));
    for (open, close) in [
        ("<table", "</table>"),
        ("<tbody", "</tbody>"),
        ("<section", "</section>"),
    ] {
        assert_eq!(
            page.matches(open).count(),
            page.matches(close).count(),
            "{open}"
        );
    }
}

#[test]
fn the_headline_is_of_the_largest_run_without_an_error() {
    let mut report = report();
    let title = |page: &str| {
        let (_, rest) = page.split_once("<title>").unwrap();
        rest.split_once("</title>").unwrap().0.to_owned()
    };
    assert!(
        title(&report.to_html()).starts_with("25,000 connections executing, 40,041 statements/s")
    );
    assert!(
        report
            .to_html()
            .contains("at up to 10,000; beyond, 20,000 open files stop it.")
    );
    if let Outcome::Measured(figures) = &mut report.chapters[0].rows[5].outcome {
        figures.errors = 3;
        figures.errors_text = "3 × 1040".into();
    }
    let page = report.to_html();
    assert!(title(&page).starts_with("10,000 connections executing"));
    assert!(page.contains("25,000, through Myriad: 3 × 1040"));
    report.chapters.remove(0);
    assert!(title(&report.to_html()).contains("times a second connect, log in"));
    for (words, chapter) in [
        ("connections that all update, ", Chapter::UpdateLadder),
        ("at query limit 4; 3,670 updates/s of", Chapter::Isolation),
        (
            "in a retry storm: 1,668 answers/s in time, of 1,600",
            Chapter::Storm,
        ),
    ] {
        let mut only = report.clone();
        only.chapters.retain(|part| part.chapter == chapter);
        let page = only.to_html();
        assert!(title(&page).contains(words), "{}", title(&page));
    }
    report.chapters.clear();
    report.interrupted = true;
    let page = report.to_html();
    assert!(page.contains("Nothing was measured yet") && page.contains("Ended early"));
}

#[test]
fn lines_stop_where_a_limit_does_and_say_it_once() {
    let mut report = report();
    let stopped = report.chapters[0].rows[3].outcome.clone();
    report.chapters[0].rows[4].outcome = stopped;
    let part = &report.chapters[0];
    let charts = Chapter::Ladder.charts(part);
    let notes: Vec<_> = charts[0]
        .series
        .iter()
        .map(|line| line.note.as_deref())
        .collect();
    assert_eq!(notes, [Some("✕ 20,000 open files"), None, None, None]);
    let points: Vec<usize> = charts[0]
        .series
        .iter()
        .map(|line| line.points.len())
        .collect();
    assert_eq!(points, [1, 1, 2, 1]);
    assert!(charts[0].series[3].is_reference);
}
