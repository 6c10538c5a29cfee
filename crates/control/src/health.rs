//! The verdict of `/health`: may a load balancer send clients here?

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::credentials::Attempt;
use crate::facts::Facts;
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
    #[serde(skip_serializing_if = "Option::is_none")]
    accounts: Option<Readable>,
    clients: u64,
    backends: u64,
    server_version: String,
    draining: bool,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    Ok,
    /// Clients may be sent here, and somebody should look.
    Degraded,
    Failing,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
struct Readable {
    readable: bool,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
struct Reach {
    reachable: bool,
}

impl Health {
    /// Judges a round of reports.
    pub(crate) fn new(sighting: &Sighting, facts: &Facts) -> Self {
        let (collected, gauges) = (&sighting.collected, &sighting.collected.total.gauges);
        let draining = (facts.draining)();
        let are_all = facts.accounts.as_ref();
        let are_all = are_all.is_some_and(|accounts| (accounts.are_all)());
        let failing = why_not(sighting, draining, are_all);
        let (status, why) = match failing {
            Some(why) => (Status::Failing, Some(why)),
            None => match degraded(sighting, facts) {
                Some(why) => (Status::Degraded, Some(why)),
                None => (Status::Ok, None),
            },
        };
        let accounts = sighting.accounts.as_ref().map(|accounts| Readable {
            readable: accounts.last == Attempt::Read,
        });
        let reachable = sighting.backend == Backend::Reachable;
        Self {
            status,
            why,
            workers: collected.reports.len(),
            workers_responding: collected.responding(),
            backend: Reach { reachable },
            accounts,
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
            Status::Ok | Status::Degraded => StatusCode::OK,
            Status::Failing => StatusCode::SERVICE_UNAVAILABLE,
        };
        (code, Json(self)).into_response()
    }
}

/// Why no clients should be sent here. A part of the workers that answers is enough.
fn why_not(sighting: &Sighting, draining: bool, are_all: bool) -> Option<String> {
    let errors = sighting.collected.total.counters.backend_connect_errors;
    if draining {
        return Some("it drains and takes no new clients".into());
    }
    if sighting.collected.responding() == 0 {
        return Some("no worker answers".into());
    }
    match sighting.backend {
        Backend::Reachable => nobody_can_log_in(sighting, are_all),
        Backend::NeverReached if errors == 0 => Some("no backend has been reached yet".into()),
        Backend::NeverReached => Some(format!(
            "no backend was ever reached in {errors} attempts; see the log for their errors"
        )),
        Backend::Failing => Some(
            "no backend connection is open and the last attempts failed; see the log for their errors"
                .into(),
        ),
        Backend::Silent => Some(
            "the database does not answer, neither statements nor [monitor]; see the log for the error"
                .into(),
        ),
    }
}

/// Why every login would fail: the accounts of the database were never read, and there are no others.
fn nobody_can_log_in(sighting: &Sighting, are_all: bool) -> Option<String> {
    let attempts = sighting.accounts.as_ref()?;
    if !are_all || attempts.ever_read {
        return None;
    }
    let why = match attempts.last {
        Attempt::UnderWay => "the accounts of the database have not been read yet",
        _ => {
            "nobody can log in: [monitor] cannot read the accounts of the database; see the log for the error"
        }
    };
    Some(why.into())
}

/// What somebody should look at, although clients may be sent here.
fn degraded(sighting: &Sighting, facts: &Facts) -> Option<String> {
    if let Some(standstill) = facts.shared.standstill() {
        return Some(standstill.to_string());
    }
    let attempts = sighting.accounts.as_ref()?;
    let fails = !matches!(attempts.last, Attempt::Read | Attempt::UnderWay);
    fails.then(|| {
        "[monitor] cannot read the accounts of the database; see the log for the error".into()
    })
}
