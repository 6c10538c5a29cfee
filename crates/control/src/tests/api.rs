//! Tables as JSON.

use std::time::Duration;

use serde_json::{Value, json};

use super::stage::{Mood, Stage, answers, client_line, report};
use crate::serve::Limits;

async fn table(stage: &Stage, path: &str) -> Value {
    let answer = stage.get(path).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.body);
    serde_json::from_str(&answer.body).unwrap()
}

fn ids(table: &Value) -> Vec<u64> {
    let rows = table["rows"].as_array().unwrap();
    rows.iter().map(|row| row["id"].as_u64().unwrap()).collect()
}

async fn crowded() -> Stage {
    let stage = Stage::new([answers(report()), answers(report())]).await;
    stage.fakes.set_clients(vec![
        vec![
            client_line(1, "app", "idle", 1),
            client_line(2, "app", "waiting", 30),
            client_line(3, "other", "waiting", 10),
        ],
        vec![
            client_line(4, "app", "waiting", 20),
            client_line(5, "other", "active", 5),
        ],
    ]);
    stage
}

#[tokio::test]
async fn sessions_of_all_workers_are_told() {
    let stage = crowded().await;
    let all = table(&stage, "/api/sessions").await;
    assert_eq!(ids(&all), [1, 2, 3, 4, 5]);
    assert_eq!(all["warnings"], json!([]));
    let expected = json!({
        "id": 4, "user": "app", "host": "localhost", "schema": null, "state": "waiting",
        "state_us": 980, "in_transaction": 0, "pins": "user_lock,handler", "backend_id": 7,
        "statement": null,
    });
    assert_eq!(all["rows"][3], expected);
}

#[tokio::test]
async fn rows_are_chosen_by_user_and_place() {
    let stage = crowded().await;
    for (query, expected) in [
        ("like=app", &[1, 2, 4][..]),
        ("like=%25th%25", &[3, 5]),
        ("limit=2", &[1, 2]),
        ("limit=2&offset=3", &[4, 5]),
        ("limit=1&offset=1&like=app", &[2]),
        ("limit=0", &[]),
        ("offset=5", &[]),
    ] {
        let found = table(&stage, &format!("/api/sessions?{query}")).await;
        assert_eq!(ids(&found), expected, "{query}");
        assert_eq!(found["warnings"], json!([]), "{query}");
    }
}

#[tokio::test]
async fn what_is_cut_is_said() {
    let stage = Stage::new([answers(report())]).await;
    let crowd = (0..1_001).map(|id| client_line(id, "app", "idle", 1));
    stage.fakes.set_clients(vec![crowd.collect()]);
    let cut = table(&stage, "/api/sessions").await;
    assert_eq!(ids(&cut).len(), 1_000);
    let warning = cut["warnings"][0].as_str().unwrap();
    assert!(
        warning.starts_with("there are more than these 1000 rows"),
        "{warning}"
    );
    let asked = table(&stage, "/api/sessions?limit=1001").await;
    assert_eq!((ids(&asked).len(), &asked["warnings"]), (1_001, &json!([])));
}

#[tokio::test]
async fn the_queue_is_in_the_order_of_waiting() {
    let stage = crowded().await;
    let queue = table(&stage, "/api/queue").await;
    assert_eq!(ids(&queue), [3, 4, 2]);
    let positions: Vec<_> = (0..3).map(|row| &queue["rows"][row]["position"]).collect();
    assert_eq!(positions, [1, 1, 2]);
    let oldest = table(&stage, "/api/queue?limit=1").await;
    assert_eq!(ids(&oldest), [3]);
    assert_eq!(
        oldest["warnings"],
        json!(["2 more wait, younger than these"])
    );
    assert_eq!(
        ids(&table(&stage, "/api/queue?like='app'%25&limit=1").await),
        [4]
    );
}

#[tokio::test]
async fn a_worker_that_does_not_answer_is_named() {
    let short = Duration::from_millis(20);
    let stage = Stage::patient(short, Limits::default(), [Mood::Silent, answers(report())]).await;
    stage
        .fakes
        .set_clients(vec![vec![], vec![client_line(4, "app", "waiting", 20)]]);
    for (path, expected) in [("sessions", 1), ("queue", 1), ("pins", 0), ("backends", 0)] {
        let told = table(&stage, &format!("/api/{path}")).await;
        assert_eq!(told["rows"].as_array().unwrap().len(), expected, "{path}");
        let warning = json!(["worker 0 did not answer; its part is missing"]);
        assert_eq!(told["warnings"], warning, "{path}");
    }
}

#[tokio::test]
async fn status_and_variables_are_names_and_values() {
    let stage = crowded().await;
    let status = table(&stage, "/api/status?like=clients%5C_idle").await;
    let expected = json!([{"Variable_name": "clients_idle", "Value": 10}]);
    assert_eq!(status["rows"], expected);
    let variables = table(&stage, "/api/variables?like=server.%25").await;
    let expected = json!([{"Variable_name": "server.workers", "Value": "2"}]);
    assert_eq!(variables["rows"], expected);
}

#[tokio::test]
async fn what_is_not_there_is_told() {
    let stage = crowded().await;
    let index: Value = serde_json::from_str(&stage.get("/api").await.body).unwrap();
    assert_eq!(index[0]["path"], "/api/accounts");
    for (path, status, error) in [
        ("/api/nothing", 404, "no such table; /api lists them"),
        ("/api/pins?limit=x", 400, "limit must be a whole number"),
    ] {
        let answer = stage.get(path).await;
        assert_eq!(answer.status, status, "{path}");
        let body: Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!(body, json!({ "error": error }), "{path}");
    }
    assert_eq!(stage.ask("POST", "/api/sessions").await.status, 405);
}
