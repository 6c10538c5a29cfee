//! Paths and methods.

use super::stage::{Stage, answers, report};

#[tokio::test]
async fn the_index_lists_the_paths() {
    let stage = Stage::new([answers(report())]).await;
    let answer = stage.get("/").await;
    assert_eq!(answer.status, 200);
    assert!(answer.head.contains("content-type: text/plain"));
    assert!(answer.body.contains("/metrics") && answer.body.contains("/health"));
    assert_eq!(
        stage.fakes.asked(),
        0,
        "workers are not asked for the index"
    );
}

#[tokio::test]
async fn head_is_get_without_the_body() {
    let stage = Stage::new([answers(report())]).await;
    for path in ["/", "/metrics", "/health"] {
        let answer = stage.ask("HEAD", path).await;
        assert_eq!((answer.status, answer.body.as_str()), (200, ""), "{path}");
        assert!(!answer.head.contains("content-length: 0"), "{path}");
    }
}

#[tokio::test]
async fn other_methods_and_paths_are_not_known() {
    let stage = Stage::new([answers(report())]).await;
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        let answer = stage.ask(method, "/metrics").await;
        assert_eq!(answer.status, 405, "{method}");
        assert!(answer.head.contains("allow: get,head"), "{}", answer.head);
    }
    for path in ["/metric", "/metrics/", "/health/x", "/favicon.ico"] {
        assert_eq!(stage.get(path).await.status, 404, "{path}");
    }
    assert_eq!(stage.fakes.asked(), 0);
}
