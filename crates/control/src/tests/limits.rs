//! Connections that take too long or are too many, and the shutdown.

use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::time::timeout;

use super::stage::{Answer, BOUND, Mood, Stage, answers, report, rest};
use crate::serve::Limits;

const SHORT: Duration = Duration::from_millis(50);
const NEVER: Duration = Duration::from_secs(3_600);

#[tokio::test]
async fn a_head_that_does_not_come_ends_the_connection() {
    let head_only = Limits {
        head_time: SHORT,
        connection_time: NEVER,
        ..Limits::default()
    };
    let whole = Limits {
        head_time: NEVER,
        connection_time: SHORT,
        ..Limits::default()
    };
    for limits in [head_only, whole] {
        let stage = Stage::within(limits, [answers(report())]).await;
        for begun in ["", "GET /metrics HTTP/1.1\r\nHost: m"] {
            let mut stream = stage.connect().await;
            stream.write_all(begun.as_bytes()).await.unwrap();
            let answer = rest(&mut stream).await;
            assert!(!answer.starts_with("HTTP/1.1 200"), "{answer}");
        }
    }
}

#[tokio::test]
async fn a_connection_carries_one_request() {
    let stage = Stage::new([answers(report())]).await;
    let answer = stage.get("/").await;
    assert!(answer.head.contains("connection: close"), "{}", answer.head);
}

#[tokio::test]
async fn a_head_without_end_is_refused() {
    let stage = Stage::new([answers(report())]).await;
    let mut stream = stage.connect().await;
    let head = format!("GET / HTTP/1.1\r\nHost: m\r\nX: {}", "x".repeat(64 << 10));
    // The server may hang up before all of it is written.
    let _ = stream.write_all(head.as_bytes()).await;
    let answer = rest(&mut stream).await;
    assert!(!answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert_eq!(stage.get("/").await.status, 200);
}

#[tokio::test]
async fn one_connection_too_many_is_refused() {
    let limits = Limits {
        head_time: NEVER,
        connection_time: NEVER,
        connections: 2,
        patience: NEVER,
        ..Limits::default()
    };
    let stage = Stage::within(limits, [answers(report())]).await;
    let admitted = [stage.connect().await, stage.connect().await];
    let mut refused = stage.connect().await;
    assert_eq!(rest(&mut refused).await, "");
    drop(admitted);
    let served = async {
        loop {
            let mut stream = stage.connect().await;
            // A refused connection may be reset before this is written.
            let _ = stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").await;
            let text = rest(&mut stream).await;
            if !text.is_empty() {
                return Answer::parse(&text);
            }
        }
    };
    let answer = timeout(BOUND, served).await.unwrap();
    assert!(answer.sample("myriad_http_connections_refused_total") >= 1.0);
}

#[tokio::test]
async fn whoever_has_had_its_place_for_long_gives_way() {
    let limits = Limits {
        head_time: NEVER,
        connection_time: NEVER,
        connections: 2,
        patience: Duration::ZERO,
        ..Limits::default()
    };
    let stage = Stage::within(limits, [answers(report())]).await;
    let mut silent = [stage.connect().await, stage.connect().await];
    assert_eq!(stage.get("/").await.status, 200);
    assert_eq!(rest(&mut silent[0]).await, "");
}

#[tokio::test]
async fn the_shutdown_lets_requests_finish() {
    let limits = Limits {
        farewell_time: BOUND,
        ..Limits::default()
    };
    let stage = Stage::patient(NEVER, limits, [Mood::Silent]).await;
    let fakes = stage.fakes.clone();
    let mut stream = stage.connect().await;
    let request = b"GET /health HTTP/1.1\r\nHost: m\r\n\r\n";
    stream.write_all(request).await.unwrap();
    fakes.wait_asked(1).await;
    let serving = stage.stop();
    fakes.answer_late(&report());
    let answer = Answer::parse(&rest(&mut stream).await);
    assert_eq!(answer.status, 200);
    timeout(BOUND, serving).await.unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn the_shutdown_does_not_wait_for_ever() {
    let limits = Limits {
        head_time: NEVER,
        connection_time: NEVER,
        farewell_time: SHORT,
        ..Limits::default()
    };
    let stage = Stage::within(limits, [answers(report())]).await;
    let mut idle = stage.connect().await;
    // Answered after the idle connection was accepted.
    assert_eq!(stage.get("/").await.status, 200);
    let serving = stage.stop();
    timeout(BOUND, serving).await.unwrap().unwrap().unwrap();
    assert_eq!(rest(&mut idle).await, "");
}

#[tokio::test]
async fn a_request_that_panics_costs_itself() {
    let stage = Stage::new([Mood::Cursed]).await;
    for _ in 0..2 {
        let mut stream = stage.connect().await;
        let asked = b"GET /metrics HTTP/1.1\r\nHost: m\r\n\r\n";
        stream.write_all(asked).await.unwrap();
        assert_eq!(rest(&mut stream).await, "");
    }
    stage.fakes.set(0, answers(report()));
    assert_eq!(stage.get("/health").await.status, 200);
}
