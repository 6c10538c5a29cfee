//! What a challenge reports of itself.

use serde_json::Value;

use super::{Challenge, is_for_this_server};

/// Runs of one chapter, as (connections, way, measured figures).
fn runs<'a>(json: &'a Value, chapter: &str) -> Vec<(u64, &'a str, &'a Value)> {
    let chapters = json["chapters"].as_array().unwrap();
    let chapter = chapters
        .iter()
        .find(|part| part["chapter"] == chapter)
        .unwrap();
    let rows = chapter["rows"].as_array().unwrap().iter();
    let runs = rows.map(|row| {
        let connections = row["connections"].as_u64().unwrap();
        (connections, row["way"].as_str().unwrap(), &row["measured"])
    });
    runs.collect()
}

#[test]
fn a_small_challenge_measures_every_run_and_tells_the_same_everywhere() {
    if !is_for_this_server() {
        return;
    }
    let mut challenge = Challenge::start(&[], &["--steps=50,200", "--users=8", "--keep-settings"]);
    let (code, said) = challenge.finish();
    assert_eq!(code, Some(0), "{said:#?}");
    let (json, page) = (challenge.json(), challenge.read("out/challenge.html"));
    let ladder = runs(&json, "ladder");
    let expected: Vec<(u64, &str)> = [50, 200]
        .into_iter()
        .flat_map(|step| ["alone", "thread_pool", "myriad"].map(|way| (step, way)))
        .collect();
    let found: Vec<(u64, &str)> = ladder.iter().map(|run| (run.0, run.1)).collect();
    assert_eq!(found, expected);
    let rates = runs(&json, "connect-rate");
    assert_eq!(rates.len(), 2);
    for (connections, way, figures) in ladder.iter().chain(&rates) {
        assert_sound(*connections, way, figures);
        for figure in ["statements_per_s", "mean_ms"] {
            let shown = format!("<data value=\"{}\">", figures[figure].as_f64().unwrap());
            assert!(page.contains(&shown), "{figure} {shown}");
        }
    }
    let terminal = challenge.read("stdout");
    assert!(
        terminal.contains("200 connections executing, "),
        "{terminal}"
    );
    assert!(terminal.contains("challenge.html") && terminal.contains("connects/s"));
    assert_eq!(json["interrupted"], false);
    assert_eq!(json["settings"]["changed"], Value::Array(Vec::new()));
    challenge.await_no_process();
}

#[test]
fn chapters_on_admission_measure_every_run_and_hold_what_they_find_against_bounds() {
    if !is_for_this_server() {
        return;
    }
    let arguments = [
        "update-ladder",
        "isolation",
        "storm",
        "--widths=8,160",
        "--crowd=300",
        "--storm-clients=200",
        "--keep-settings",
    ];
    let mut challenge = Challenge::start(&[], &arguments);
    let (code, said) = challenge.finish();
    // On a busy machine statements wait for so long that codel refuses some before there is a storm.
    let sheds_early = said.last().is_some_and(|line| {
        line.contains("codel: ") && line.contains("errors in the run to compare with")
    });
    assert!(code == Some(0) || sheds_early, "{said:#?}");
    let json = challenge.json();
    let ladder = runs(&json, "update-ladder");
    assert_eq!(ladder.len(), 4);
    for (connections, way, figures) in &ladder {
        assert_sound(*connections, way, figures);
    }
    let (isolation, storm) = (runs(&json, "isolation"), runs(&json, "storm"));
    assert_eq!((isolation.len(), storm.len()), (8, 4));
    for (_, way, figures) in &isolation {
        // Whatever the other account has: the mean is that of the protected one's 128.
        assert_sound(128, way, figures);
        let beside = |key: &str| figures["beside"][key].as_f64().unwrap();
        let part = figures["statements_per_s"].as_f64().unwrap() / beside("alone_per_s");
        assert!((part - beside("share")).abs() < 0.001, "{figures}");
    }
    // On a busy machine an account may finish nothing in the time that a short run measures.
    let other = isolation.iter().map(|(_, _, figures)| {
        let told = figures["beside"]["other_per_s"].as_f64();
        told.unwrap_or_else(|| panic!("{figures}"))
    });
    assert!(other.sum::<f64>() > 0.0, "{isolation:?}");
    let sound = storm.len() - usize::from(sheds_early);
    let through = storm.iter().take(sound).filter(|run| run.1 == "myriad");
    for (_, way, figures) in through {
        assert_sound(200, way, figures);
        assert!(figures["storm"]["ran"].as_u64().unwrap() > 100, "{figures}");
        assert!(figures["storm"]["calm_per_s"].as_f64().unwrap() > 1.0);
    }
    let shed = &storm[3].2["storm"];
    assert!(shed["refused"].as_u64().unwrap() > 0, "{shed}");
    let checks = json["chapters"][2]["checks"].as_array().unwrap();
    assert_eq!(checks.len(), 5, "{checks:?}");
    let page = challenge.read("out/challenge.html");
    assert!(page.contains("published, transaction limit 4"));
    assert!(
        challenge
            .read("stdout")
            .contains("One account beside another")
    );
    challenge.await_no_process();
}

/// The figures agree with each other, and nothing went wrong.
fn assert_sound(connections: u64, way: &str, figures: &Value) {
    let number = |key: &str| figures[key].as_f64().unwrap();
    assert_eq!(figures["errors"], 0, "{way}: {figures}");
    assert!(number("statements_per_s") > 1.0, "{way}: {figures}");
    let mean = connections as f64 / number("statements_per_s") * 1_000.0;
    match figures["mean_ms"].as_f64() {
        Some(told) => assert!((told - mean).abs() < 0.001, "{way}: {figures}"),
        // Its clients do not always have a statement under way.
        None => assert!(figures["storm"].is_object(), "{way}: {figures}"),
    }
    let latency = |part: &str| figures["latency_ms"][part].as_f64().unwrap();
    assert!(latency("p50") > 0.0 && latency("p50") <= latency("p95"));
    assert!(latency("p95") <= latency("p99") && latency("p99") <= latency("max"));
    assert!(figures["database"]["rss_bytes"].as_u64().unwrap() > 1 << 20);
    assert_eq!(figures["myriad"].is_null(), way != "myriad", "{figures}");
}

#[test]
fn what_stops_a_step_is_said_and_the_others_are_run() {
    if !is_for_this_server() {
        return;
    }
    // A thousand open files, of which MariaDB keeps 410 for itself.
    let few_files = ["prlimit", "--nofile=1000:1000"];
    let arguments = ["ladder", "--steps=100,700", "--keep-settings"];
    let mut challenge = Challenge::start(&few_files, &arguments);
    let (code, said) = challenge.finish();
    assert_eq!(code, Some(0), "{said:#?}");
    let json = challenge.json();
    let rows = json["chapters"][0]["rows"].as_array().unwrap();
    for (row, way) in rows[3..5].iter().zip(["alone", "thread_pool"]) {
        assert_eq!(row["way"], way);
        assert_eq!(row["stopped"]["name"], "open-files", "{row}");
        assert_eq!(row["stopped"]["allows"], 590, "{row}");
    }
    for row in &rows[..3] {
        assert_eq!(row["measured"]["errors"], 0, "{row}");
    }
    // Whether the front door needs files for its clients depends on the kernel.
    let last = &rows[5];
    assert!(
        last["measured"]["errors"] == 0 || last["stopped"]["name"] == "open-files",
        "{last}"
    );
    let page = challenge.read("out/challenge.html");
    assert!(page.contains("✕ stopped by 1,000 open files"));
}

#[test]
fn what_cannot_be_run_is_refused_with_a_reason() {
    for (arguments, reason) in [
        (["--steps=0", "--users=8"], "is not between 1 and"),
        (["laddder", "--users=8"], "there is no chapter laddder"),
    ] {
        let mut challenge = Challenge::start(&[], &arguments);
        let (code, said) = challenge.finish();
        assert_eq!(code, Some(2), "{said:#?}");
        assert!(said.concat().contains(reason), "{said:#?}");
        assert!(!challenge.file("out").exists());
    }
}
