//! `docs/METRICS.md` and `/metrics` list the same names.

use std::collections::BTreeSet;

use engine::DisconnectReason;

use super::stage::{Stage, answers, report};

const PAGE: &str = include_str!("../../../../docs/METRICS.md");

/// Names of metrics in the first column of the page's tables.
fn documented() -> BTreeSet<&'static str> {
    let rows = PAGE.lines().filter_map(|line| line.strip_prefix("| `"));
    let names = rows.filter_map(|row| row.split('`').next());
    let is_metric = |name: &&str| name.starts_with("myriad_") || name.starts_with("process_");
    names.filter(is_metric).collect()
}

/// Names of the families, as their samples spell them.
fn emitted(text: &str) -> BTreeSet<String> {
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let spelled = types.map(|line| match line.split_once(' ').unwrap() {
        (name, "counter") => format!("{name}_total"),
        (name, "info") => format!("{name}_info"),
        (name, _) => name.to_owned(),
    });
    spelled.collect()
}

#[tokio::test]
async fn every_metric_is_documented_and_no_other() {
    let stage = Stage::new([answers(report())]).await;
    let emitted = emitted(&stage.get("/metrics").await.body);
    let emitted: BTreeSet<_> = emitted.iter().map(String::as_str).collect();
    let documented = documented();
    let missing: Vec<_> = emitted.difference(&documented).collect();
    let stale: Vec<_> = documented.difference(&emitted).collect();
    assert!(missing.is_empty(), "add to docs/METRICS.md: {missing:?}");
    assert!(stale.is_empty(), "remove from docs/METRICS.md: {stale:?}");
}

#[test]
fn every_disconnect_reason_is_documented() {
    for reason in DisconnectReason::ALL {
        let name = reason.name();
        assert!(PAGE.contains(&format!("\n| `{name}` | ")), "{name}");
    }
}
