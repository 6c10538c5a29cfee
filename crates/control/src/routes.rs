//! Which path answers what. Only GET and HEAD are known.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::api;
use crate::desk::Desk;
use crate::health::Health;
use crate::metrics::{self, Scrape};

const INDEX: &str = "myriad\n\n/metrics  for Prometheus\n/health   for load balancers\n/api      \
                     what there is, as JSON\n";

/// The paths.
pub(crate) fn router(desk: Arc<Desk>) -> Router {
    Router::new()
        .route("/", get(async || INDEX))
        .route("/metrics", get(metrics))
        .route("/health", get(health))
        .route("/api", get(api::index))
        .route("/api/{table}", get(api::table))
        .fallback(unknown)
        .with_state(desk)
}

async fn metrics(State(desk): State<Arc<Desk>>) -> Response {
    let sighting = desk.watch.look().await;
    match Scrape::new(sighting, &desk).text() {
        Ok(text) => ([(CONTENT_TYPE, metrics::CONTENT_TYPE)], text).into_response(),
        Err(error) => {
            tracing::error!(%error, "metrics could not be written");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

async fn health(State(desk): State<Arc<Desk>>) -> Response {
    let sighting = desk.watch.look().await;
    let health = Health::new(&sighting, (desk.facts.draining)());
    ([(CACHE_CONTROL, "no-store")], health).into_response()
}

async fn unknown() -> Response {
    (StatusCode::NOT_FOUND, "no such path; / lists them\n").into_response()
}
