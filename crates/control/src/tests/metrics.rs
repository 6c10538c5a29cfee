//! What `/metrics` shows.

use std::collections::HashSet;

use engine::DisconnectReason;
use events::Span;

use super::stage::{Stage, answers, report};

#[tokio::test]
async fn workers_are_added_up() {
    let stage = Stage::new([answers(report()), answers(report())]).await;
    let slot = stage.shared.ledger.take(0).unwrap();
    let answer = stage.get("/metrics").await;
    let content_type =
        "content-type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n";
    assert_eq!(answer.status, 200);
    assert!(answer.head.contains(content_type), "{}", answer.head);
    assert!(answer.body.ends_with("\n# EOF\n"));
    for (name, value) in [
        ("myriad_clients{state=\"idle\"}", 10.0),
        ("myriad_clients{state=\"waiting\"}", 0.0),
        ("myriad_backends{state=\"active\"}", 4.0),
        ("myriad_backend_connections_total", 6.0),
        ("myriad_statements_total", 200.0),
        ("myriad_backend_slots_total", 32.0),
        ("myriad_backend_slots_taken", 1.0),
        ("myriad_backend_reachable", 1.0),
        ("myriad_workers", 2.0),
        ("myriad_workers_responding", 2.0),
        ("myriad_draining", 0.0),
        ("myriad_loop_events_total", 6.0),
    ] {
        assert_eq!(answer.sample(name), value, "{name}");
    }
    let version = env!("CARGO_PKG_VERSION");
    let info = format!("myriad_build_info{{version=\"{version}\"}}");
    assert_eq!(answer.sample(&info), 1.0);
    drop(slot);
}

#[tokio::test]
async fn memory_is_shown_by_kind() {
    let mut report = report();
    report.gauges.client_bytes = 5;
    report.gauges.client_id_bytes = 6;
    report.gauges.client_inbox_bytes = 7;
    report.gauges.prepared_text_bytes = 8;
    report.gauges.long_data_bytes = 9;
    let stage = Stage::new([answers(report.clone()), answers(report)]).await;
    let answer = stage.get("/metrics").await;
    for (kind, value) in [
        ("client_records", 10.0),
        ("client_ids", 12.0),
        ("client_inboxes", 14.0),
        ("prepared_texts", 16.0),
        ("long_data", 18.0),
        ("connections", 11.0),
        ("outboxes", 12.0),
    ] {
        let name = format!("myriad_memory_bytes{{kind=\"{kind}\"}}");
        assert_eq!(answer.sample(&name), value, "{kind}");
    }
}

#[tokio::test]
async fn reasons_are_labels() {
    let mut report = report();
    report.counters.disconnects[DisconnectReason::WriteTimeout as usize] = 7;
    report.counters.pins[1] = 8;
    report.counters.pins[5] = 1;
    report.counters.pins[31] = 1;
    report.gauges.pinned[0] = 9;
    let answer = Stage::new([answers(report)]).await.get("/metrics").await;
    for (name, value) in [
        ("myriad_disconnects_total{reason=\"write_timeout\"}", 7.0),
        ("myriad_disconnects_total{reason=\"quit\"}", 0.0),
        ("myriad_pins_total{reason=\"temporary_table\"}", 8.0),
        ("myriad_pins_total{reason=\"other\"}", 2.0),
        ("myriad_pinned_sessions{reason=\"user_variable\"}", 9.0),
    ] {
        assert_eq!(answer.sample(name), value, "{name}");
    }
}

#[tokio::test]
async fn waits_are_a_cumulative_histogram_in_seconds() {
    let mut report = report();
    for us in [0, 1, 1_000, 2_000_000, 1 << 40] {
        report.counters.queue_wait.record(Span::from_us(us));
    }
    report.gauges.queue_wait_us_max = 2_500_000;
    let answer = Stage::new([answers(report)]).await.get("/metrics").await;
    for (bound, count) in [
        ("0.000001", 1.0),
        ("0.000002", 2.0),
        ("0.000512", 2.0),
        ("0.001024", 3.0),
        ("2.097152", 4.0),
        ("1073.741824", 4.0),
        ("+Inf", 5.0),
    ] {
        let name = format!("myriad_queue_wait_seconds_bucket{{le=\"{bound}\"}}");
        assert_eq!(answer.sample(&name), count, "{bound}");
    }
    assert_eq!(answer.sample("myriad_queue_wait_seconds_count"), 5.0);
    let sum = answer.sample("myriad_queue_wait_seconds_sum");
    assert!((sum - 1_099_513.6).abs() < 0.1, "{sum}");
    assert_eq!(answer.sample("myriad_queue_oldest_wait_seconds"), 2.5);
}

#[tokio::test]
async fn the_process_is_measured() {
    let answer = Stage::new([answers(report())]).await.get("/metrics").await;
    assert!(answer.sample("process_resident_memory_bytes") > 100_000.0);
    assert!(answer.sample("process_cpu_seconds_total") > 0.0);
    let open = answer.sample("process_open_fds");
    assert!(
        open > 3.0 && open <= answer.sample("process_max_fds"),
        "{open}"
    );
}

#[tokio::test]
async fn each_family_is_declared_once_and_before_its_samples() {
    let stage = Stage::new([answers(report())]).await;
    let answer = stage.get("/metrics").await;
    let (mut families, mut samples) = (HashSet::new(), HashSet::new());
    let mut family = "";
    for line in answer.body.lines() {
        if let Some(declared) = line.strip_prefix("# TYPE ") {
            family = declared.split(' ').next().unwrap();
            assert!(families.insert(family), "{line}");
        } else if let Some(help) = line.strip_prefix("# HELP ") {
            assert!(!help.ends_with('.') && !help.contains("  "), "{line}");
        } else if line != "# EOF" {
            assert!(line.starts_with(family), "{line} below {family}");
            let (sample, _) = line.rsplit_once(' ').unwrap();
            assert!(samples.insert(sample), "{line}");
        }
    }
    assert!(families.len() > 35, "{}", families.len());
}
