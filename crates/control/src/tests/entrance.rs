//! Who is let in over HTTP.

use super::stage::{Stage, answers, entrance, report};
use crate::serve::Limits;
use crate::workers::ANSWER_TIME;

/// "admin:all", "scraper:some", "admin:none", ":", and what is no base64.
const RIGHT: [&str; 2] = ["YWRtaW46YWxs", "c2NyYXBlcjpzb21l"];
const WRONG: [&str; 3] = ["YWRtaW46bm9uZQ==", "Og==", "bm9ib2R5OgA="];

async fn guarded() -> Stage {
    let limits = (ANSWER_TIME, Limits::default());
    Stage::behind(entrance(), limits, [answers(report())]).await
}

#[tokio::test]
async fn only_administrators_see_more_than_health() {
    let stage = guarded().await;
    for path in ["/", "/metrics", "/api", "/api/sessions", "/nothing"] {
        let asked = stage.get(path).await;
        assert_eq!(asked.status, 401, "{path}");
        let challenge = "\r\nwww-authenticate: basic realm=\"myriad\", charset=\"utf-8\"";
        assert!(asked.head.contains(challenge), "{}", asked.head);
        for wrong in WRONG {
            let field = format!("Authorization: Basic {wrong}\r\n");
            let refused = stage.ask_with("GET", path, &field).await;
            assert_eq!(refused.status, 401, "{path} {wrong}");
            assert_eq!(refused.body, asked.body);
        }
        for right in RIGHT {
            let field = format!("Authorization: Basic {right}\r\n");
            let told = stage.ask_with("GET", path, &field).await;
            let expected = if path == "/nothing" { 404 } else { 200 };
            assert_eq!(told.status, expected, "{path} {right}");
        }
    }
    assert_eq!(stage.get("/health").await.status, 200);
    let field = format!("Authorization: Basic {}\r\n", RIGHT[0]);
    let metrics = stage.ask_with("GET", "/metrics", &field).await;
    assert_eq!(metrics.sample("myriad_admin_logins_refused_total"), 15.0);
}

#[tokio::test]
async fn what_is_no_name_and_password_is_asked_for_one() {
    let stage = guarded().await;
    for field in ["Basic", "Basic !", "Bearer YWRtaW46YWxs", "Basic YWRtaW4="] {
        let field = format!("Authorization: {field}\r\n");
        let asked = stage.ask_with("GET", "/metrics", &field).await;
        assert_eq!(asked.status, 401, "{field}");
    }
}
