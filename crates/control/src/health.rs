//! The verdict of `/health`: may a load balancer send clients here?

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::metrics;
use crate::outlook::Backend;
use crate::watch::Sighting;

/// What `/health` answers.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Health {
    status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    workers: usize,
    workers_responding: usize,
    backend: Reach,
    clients: u64,
    backends: u64,
    server_version: String,
    draining: bool,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    Ok,
    Failing,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
struct Reach {
    reachable: bool,
}

impl Health {
    /// Judges a round of reports.
    pub(crate) fn new(sighting: &Sighting, draining: bool) -> Self {
        let (collected, gauges) = (&sighting.collected, &sighting.collected.total.gauges);
        let why = why_not(sighting, draining);
        let status = match why {
            None => Status::Ok,
            Some(_) => Status::Failing,
        };
        let reachable = sighting.backend == Backend::Reachable;
        Self {
            status,
            why,
            workers: collected.reports.len(),
            workers_responding: collected.responding(),
            backend: Reach { reachable },
            clients: metrics::clients(gauges)
                .into_iter()
                .map(|(_, count)| count)
                .sum(),
            backends: metrics::backends(gauges)
                .into_iter()
                .map(|(_, count)| count)
                .sum(),
            server_version: collected.total.server_version.clone(),
            draining,
        }
    }
}

impl IntoResponse for Health {
    fn into_response(self) -> Response {
        let code = match self.status {
            Status::Ok => StatusCode::OK,
            Status::Failing => StatusCode::SERVICE_UNAVAILABLE,
        };
        (code, Json(self)).into_response()
    }
}

/// Why no clients should be sent here. A part of the workers that answers is enough.
fn why_not(sighting: &Sighting, draining: bool) -> Option<String> {
    let errors = sighting.collected.total.counters.backend_connect_errors;
    if draining {
        return Some("it drains and takes no new clients".into());
    }
    if sighting.collected.responding() == 0 {
        return Some("no worker answers".into());
    }
    match sighting.backend {
        Backend::Reachable => None,
        Backend::NeverReached if errors == 0 => Some("no backend has been reached yet".into()),
        Backend::NeverReached => Some(format!(
            "no backend was ever reached in {errors} attempts; see the log for their errors"
        )),
        Backend::Failing => Some(
            "no backend connection is open and the last attempts failed; see the log for their errors"
                .into(),
        ),
    }
}
