//! What `/health` decides.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use engine::Report;

use tokio::time::Instant;

use super::stage::{Mood, Stage, answers, report};
use crate::AccountsStatus;
use crate::credentials::Unread;
use crate::serve::Limits;

const IMPATIENT: Duration = Duration::from_millis(20);

fn failed(connections: u64, errors: u64) -> Report {
    let mut report = Report::default();
    report.counters.backend_connections = connections;
    report.counters.backend_connect_errors = errors;
    report
}

#[tokio::test]
async fn all_is_well() {
    let stage = Stage::new([answers(Report::default()), answers(report())]).await;
    let answer = stage.get("/health").await;
    assert_eq!(answer.status, 200);
    assert!(
        answer.head.contains("content-type: application/json"),
        "{}",
        answer.head
    );
    let expected = concat!(
        r#"{"status":"ok","workers":2,"workers_responding":2,"backend":{"reachable":true},"#,
        r#""clients":7,"backends":3,"server_version":"11.8.3-MariaDB","draining":false}"#
    );
    assert_eq!(answer.body, expected);
}

#[tokio::test]
async fn without_a_backend_nobody_should_come() {
    for (report, why) in [
        (failed(0, 0), "no backend has been reached yet"),
        (failed(0, 3), "no backend was ever reached in 3 attempts"),
    ] {
        let answer = Stage::new([answers(report)]).await.get("/health").await;
        assert_eq!(answer.status, 503, "{why}");
        for part in [
            r#""status":"failing""#,
            r#""backend":{"reachable":false}"#,
            why,
        ] {
            assert!(answer.body.contains(part), "{}", answer.body);
        }
    }
}

#[tokio::test]
async fn a_backend_that_comes_back_is_seen() {
    let stage = Stage::new([answers(report())]).await;
    assert_eq!(stage.get("/health").await.status, 200);
    stage.fakes.set(0, answers(failed(3, 1)));
    let answer = stage.get("/health").await;
    assert_eq!(answer.status, 503);
    assert!(
        answer.body.contains("the last attempts failed"),
        "{}",
        answer.body
    );
    stage.fakes.set(0, answers(failed(4, 1)));
    assert_eq!(stage.get("/health").await.status, 200);
}

#[tokio::test]
async fn draining_is_told() {
    let stage = Stage::new([answers(report())]).await;
    stage.draining.store(true, Ordering::Relaxed);
    let answer = stage.get("/health").await;
    assert_eq!(answer.status, 503);
    assert!(answer.body.contains("it drains"), "{}", answer.body);
    assert!(
        answer.body.contains(r#""draining":true"#),
        "{}",
        answer.body
    );
    let metrics = stage.get("/metrics").await;
    assert_eq!(metrics.sample("myriad_draining"), 1.0);
}

#[tokio::test]
async fn some_workers_are_enough_but_none_are_not() {
    let moods = [answers(report()), Mood::Silent, Mood::Ended];
    let stage = Stage::patient(IMPATIENT, Limits::default(), moods).await;
    let answer = stage.get("/health").await;
    assert_eq!(answer.status, 200);
    assert!(
        answer
            .body
            .contains(r#""workers":3,"workers_responding":1"#),
        "{}",
        answer.body
    );
    stage.fakes.set(0, Mood::Silent);
    let answer = stage.get("/health").await;
    assert_eq!(answer.status, 503);
    assert!(answer.body.contains("no worker answers"), "{}", answer.body);
}

/// What `/health` answers behind attempts to read the accounts that ended so, the last one last.
async fn behind_attempts(
    attempts: &[Option<Unread>],
    are_all: bool,
) -> (u16, serde_json::Value, f64) {
    let status = Arc::<AccountsStatus>::default();
    for attempt in attempts {
        status.note(Instant::now(), attempt.as_ref());
    }
    let stage = Stage::with_accounts(status, are_all).await;
    let answer = stage.get("/health").await;
    let readable = stage.get("/metrics").await;
    let told = serde_json::from_str(&answer.body).unwrap();
    (
        answer.status,
        told,
        readable.sample("myriad_accounts_readable"),
    )
}

#[tokio::test]
async fn accounts_that_cannot_be_read_are_told() {
    let refused = || {
        Some(Unread {
            error: "SELECT command denied".into(),
            answered: true,
        })
    };
    for (attempts, are_all, status, word, readable) in [
        (vec![], true, 503, "failing", false),
        (vec![refused()], true, 503, "failing", false),
        (vec![refused()], false, 200, "degraded", false),
        (vec![None, refused()], true, 200, "degraded", false),
        (vec![refused(), None], true, 200, "ok", true),
    ] {
        let (code, told, metric) = behind_attempts(&attempts, are_all).await;
        assert_eq!((code, &told["status"]), (status, &word.into()), "{told}");
        assert_eq!(told["accounts"]["readable"], readable, "{told}");
        assert_eq!(metric, f64::from(u8::from(readable)), "{told}");
    }
}

#[tokio::test]
async fn a_database_that_does_not_answer_is_not_reachable() {
    let unanswered = Unread {
        error: "no answer within 5 s".into(),
        answered: false,
    };
    let (status, told, _) = behind_attempts(&[None, Some(unanswered)], true).await;
    assert_eq!(status, 503, "{told}");
    assert_eq!(told["backend"]["reachable"], false);
}
