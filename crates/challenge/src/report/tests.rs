//! Made-up reports, and what holds for all of them.

use super::*;
use crate::figures::rounded;
use crate::{Beside, KernelMemory, Latency, Process, Storm};

/// Figures of which none is like another, so that each can be found again.
pub(crate) fn figures(scale: f64) -> Figures {
    let bytes = |base: f64| (base * scale) as u64;
    let process = |base: f64| Process {
        rss_bytes: bytes(base * 1e8),
        rss_bytes_per_connection: Some(bytes(base * 1_000.0)),
        cpu_us: Some(rounded(base * scale)),
    };
    Figures {
        statements_per_s: rounded(33_367.48 * scale),
        latency_ms: Latency {
            p50: rounded(1_234.567 * scale),
            p95: rounded(3_681.42 * scale),
            p99: rounded(4_003.25 * scale),
            max: rounded(6_021.125 * scale),
        },
        mean_ms: Some(rounded(299.693 * scale)),
        errors: 0,
        errors_text: String::new(),
        kernel_per_connection: Some(KernelMemory {
            slab_bytes: bytes(8_437.0),
            stack_bytes: bytes(16_384.0),
            page_table_bytes: bytes(4_011.0),
            socket_bytes: bytes(733.0),
        }),
        database: process(89.0),
        myriad: Some(process(13.7)),
        generator_cpu_us: Some(rounded(15.25 * scale)),
        generator_busy: 0.51,
        beside: None,
        storm: None,
    }
}

fn row(connections: u32, way: Way, outcome: Outcome) -> Row {
    Row {
        connections,
        way,
        case: None,
        outcome,
        rounds: Vec::new(),
    }
}

fn measured(scale: f64, way: Way) -> Outcome {
    let mut figures = figures(scale);
    if way != Way::Myriad {
        figures.myriad = None;
    }
    Outcome::Measured(Box::new(figures))
}

fn limit() -> Limit {
    Limit {
        name: "open-files".into(),
        short: "20,000 open files".into(),
        text: "20,000 open files (RLIMIT_NOFILE): <why>".into(),
        allows: 19_500,
    }
}

/// A ladder of two steps, of which the database alone stands only on the first, and a connect rate.
pub(crate) fn report() -> Report {
    let mut rows = Vec::new();
    for (way, scale) in Way::ALL.into_iter().zip([1.1, 0.9, 1.05]) {
        rows.push(row(10_000, way, measured(scale, way)));
    }
    rows.push(row(25_000, Way::Alone, Outcome::Stopped(limit())));
    rows.push(row(
        25_000,
        Way::ThreadPool,
        Outcome::Failed("it <broke>".into()),
    ));
    rows.push(row(25_000, Way::Myriad, measured(1.2, Way::Myriad)));
    let connecting = |way, scale| {
        let Outcome::Measured(mut figures) = measured(scale, way) else {
            panic!("nothing else was made");
        };
        figures.kernel_per_connection = None;
        figures.database.rss_bytes_per_connection = None;
        if let Some(myriad) = &mut figures.myriad {
            myriad.rss_bytes_per_connection = None;
        }
        row(8, way, Outcome::Measured(figures))
    };
    let part = |chapter, rows, reference| Part {
        chapter,
        duration_s: 20.0,
        rows,
        reference,
        checks: Vec::new(),
    };
    Report {
        began: "Sun, 06 Nov 1994 08:49:37 GMT".into(),
        interrupted: false,
        machine: Machine {
            cpu: "A & B".into(),
            cores: 2,
            memory_bytes: 24 << 30,
            kernel: "6.18.44".into(),
            system: "Debian 12".into(),
            database: "MariaDB 10.11.19".into(),
            myriad: "0.1.0".into(),
        },
        settings: settings(),
        chapters: vec![
            part(
                Chapter::Ladder,
                rows,
                vec![Reference {
                    p95_ms: Some(3_681.0),
                    ..Reference::new("published in 2019", 10_000, 33_367.0)
                }],
            ),
            part(
                Chapter::ConnectRate,
                vec![connecting(Way::Alone, 0.31), connecting(Way::Myriad, 0.37)],
                Vec::new(),
            ),
        ]
        .into_iter()
        .chain(admission())
        .collect(),
    }
}

/// The chapters on admission, as far as they differ: a run beside another account, and a storm.
fn admission() -> [Part; 3] {
    let row = |connections, case, figures| Row {
        connections,
        way: Way::Myriad,
        case: Some(case),
        outcome: Outcome::Measured(Box::new(figures)),
        rounds: Vec::new(),
    };
    let updates = [(128, 0.13), (256, 0.12)]
        .map(|(connections, scale)| row(connections, Case::BothLimits, figures(scale)));
    let mut beside = figures(0.11);
    beside.beside = Some(Beside {
        alone_per_s: 3_811.5,
        share: 0.963,
        alone_p95_ms: 412.25,
        p95_ratio: 0.982,
        other_per_s: 201.5,
        other_share: 0.053,
    });
    let mut storm = figures(0.05);
    storm.mean_ms = None;
    storm.storm = Some(Storm {
        capacity_per_s: 1_600.0,
        goodput: 0.953,
        calm_per_s: 1_555.5,
        refused: 63_001,
        given_up: 23,
        ran: 31_007,
        late: 2,
    });
    let plan = Plan {
        widths: crate::Steps::new(vec![128]),
        ..crate::limits::tests::plan("1")
    };
    let part = |chapter: Chapter, rows: Vec<Row>| {
        let mut part = Part {
            chapter,
            duration_s: 10.0,
            rows,
            reference: chapter.reference(&plan),
            checks: Vec::new(),
        };
        part.checks = chapter.checks(&part);
        part
    };
    [
        part(Chapter::UpdateLadder, updates.to_vec()),
        part(
            Chapter::Isolation,
            vec![row(128, Case::QueryLimit4, beside)],
        ),
        part(Chapter::Storm, vec![row(5_000, Case::Codel, storm)]),
    ]
}

fn settings() -> Settings {
    Settings {
        host: vec!["open-files: a process may have 20,000 files open".into()],
        changed: vec![doctor::Change {
            name: "kernel.pid_max".into(),
            old: "32768".into(),
            new: "105000".into(),
        }],
        database: vec!["--back-log=4096".into()],
        myriad: "[server]\nworkers = 1\n".into(),
        generator: "myriad load run".into(),
        backends: 32,
        threads: 1,
        tables: [10, 100_000],
    }
}

#[test]
fn what_is_kept_can_be_read_again() {
    let report = report();
    let json = report.to_json().unwrap();
    assert_eq!(Report::from_json(&json).unwrap(), report);
    for part in [
        r#""way": "myriad""#,
        r#""stopped": {"#,
        r#""chapter": "connect-rate""#,
        r#""case": "query_limit4""#,
        r#""at_least": 0.95"#,
    ] {
        assert!(json.contains(part), "{part}");
    }
}

#[test]
fn of_several_rounds_the_one_with_the_median_rate_is_told_with_the_errors_of_all() {
    let mut part = report().chapters.swap_remove(0);
    part.rows.clear();
    for (scale, errors) in [(1.0, 0), (3.0, 2), (2.0, 0)] {
        let mut figures = figures(scale);
        figures.errors = errors;
        let outcome = Outcome::Measured(Box::new(figures));
        part.add(row(128, Way::Myriad, outcome));
        part.add(row(256, Way::Myriad, measured(scale, Way::Myriad)));
    }
    let told = part.rows[0].figures().unwrap();
    assert_eq!(
        (told.statements_per_s, told.errors),
        (figures(2.0).statements_per_s, 2)
    );
    let rounds = |row: &Row| row.rounds.len();
    assert_eq!(part.rows.iter().map(rounds).collect::<Vec<_>>(), [3, 3]);
    part.add(row(128, Way::Myriad, Outcome::Failed("it broke".into())));
    part.add(row(128, Way::Myriad, measured(1.0, Way::Myriad)));
    assert_eq!(part.rows[0].outcome, Outcome::Failed("it broke".into()));
}

#[test]
fn a_failed_run_or_an_error_is_not_clean() {
    let mut report = report();
    let trouble = report.trouble().unwrap();
    assert!(trouble.ends_with(": it <broke>"), "{trouble}");
    report.chapters[0].rows.remove(4);
    assert_eq!(report.trouble(), None, "a limit is no failure");
    if let Outcome::Measured(figures) = &mut report.chapters[0].rows[0].outcome {
        figures.errors = 1;
        figures.errors_text = "1205 Lock wait timeout".into();
    }
    let trouble = report.trouble().unwrap();
    assert!(trouble.ends_with(": 1205 Lock wait timeout"), "{trouble}");
}

#[test]
fn the_database_alone_may_be_overloaded_by_a_storm() {
    let mut report = report();
    report
        .chapters
        .retain(|part| part.chapter == Chapter::Storm);
    let row = &mut report.chapters[0].rows[0];
    let Outcome::Measured(figures) = &mut row.outcome else {
        panic!("nothing else was made");
    };
    figures.errors = 1;
    assert_ne!(report.trouble(), None);
    report.chapters[0].rows[0].way = Way::Alone;
    assert_eq!(report.trouble(), None);
}

#[test]
fn the_terminal_shows_what_was_found_out() {
    let text = report().to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "The ladder");
    for column in ["statements/s", "95 % ms", "mean by Little", "kernel each"] {
        assert!(lines[2].contains(column), "{text}");
    }
    assert!(lines[3].contains("10,000  database alone") && lines[3].contains("36,704"));
    assert!(text.contains(
        "25,000  database alone      ✕ stopped by 20,000 open files: at most about 19,500"
    ));
    assert!(text.contains("✕ it <broke>"));
    for line in [
        "128  through Myriad, query limit 4",
        "✓ 128 misbehaving clients, query limit 4: share of alone: 0.963 (at least 0.95)",
        "✕ 256 connections through Myriad: updates/s ÷ the best of all: 0.923 (at least 0.97)",
        "✕ codel: statements begun for clients that had hung up: 2 (at most 0)",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
    assert!(text.contains("connects/s") && !text.contains("statements/s\n"));
    let last = lines.last().unwrap();
    assert!(
        last.starts_with("25,000 connections executing, 40,041 statements/s, "),
        "{last}"
    );
    assert!(last.ends_with(" bytes of Myriad each"), "{last}");
}
