//! `/api`: the tables of `SHOW` as JSON, read only.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::http::header::CACHE_CONTROL;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::desk::Desk;
use crate::tables::{Filter, Listing, Named, Subject};

/// How many rows one answer has at most: it is put together in memory.
const ROWS_MAX: u64 = 10_000;

#[derive(Serialize)]
struct Answer {
    rows: Vec<Named>,
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct Entry {
    path: String,
    shows: &'static str,
}

#[derive(Serialize)]
struct Wrong {
    error: String,
}

/// What there is.
pub(crate) async fn index() -> Response {
    let entries = Subject::ALL.map(|subject| Entry {
        path: format!("/api/{}", subject.name()),
        shows: subject.help(),
    });
    Json(entries).into_response()
}

/// One table; `like`, `limit` and `offset` are as in SHOW.
pub(crate) async fn table(
    State(desk): State<Arc<Desk>>,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
) -> Response {
    let Some(subject) = Subject::named(&name) else {
        return wrong(StatusCode::NOT_FOUND, "no such table; /api lists them");
    };
    let filter = match filter(&query.unwrap_or_default()) {
        Ok(filter) => filter,
        Err(error) => return wrong(StatusCode::BAD_REQUEST, &error),
    };
    let mut listing = Listing::new(&desk, subject, filter).await;
    let mut rows = Vec::new();
    while let Some(more) = listing.next().await {
        let columns = listing.columns();
        rows.extend(more.into_iter().map(|row| Named(columns, row)));
    }
    let warnings = listing.warnings();
    (
        [(CACHE_CONTROL, "no-store")],
        Json(Answer { rows, warnings }),
    )
        .into_response()
}

fn filter(query: &str) -> Result<Filter, String> {
    let mut filter = Filter::default();
    for (key, value) in form_urlencoded::parse(query.as_bytes()) {
        let number = || {
            let number = value.parse::<u64>();
            number.map_err(|_| format!("{key} must be a whole number"))
        };
        match &*key {
            "like" => filter.like = Some(value.into_owned()),
            "offset" => filter.offset = number()?,
            "limit" => filter.limit = Some(number()?),
            _ => return Err(format!("{key} is not known; there are like, limit, offset")),
        }
    }
    if filter.limit.is_some_and(|limit| limit > ROWS_MAX) {
        return Err(format!("limit may be {ROWS_MAX} at most"));
    }
    Ok(filter)
}

fn wrong(code: StatusCode, error: &str) -> Response {
    let error = error.to_owned();
    (code, Json(Wrong { error })).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_a_filter() {
        let filter = |like: Option<&str>, offset, limit| Filter {
            like: like.map(str::to_owned),
            offset,
            limit,
        };
        for (query, expected) in [
            ("", Ok(filter(None, 0, None))),
            (
                "like=app%25&limit=5&offset=7",
                Ok(filter(Some("app%"), 7, Some(5))),
            ),
            ("limit=10000", Ok(filter(None, 0, Some(10_000)))),
            ("limit=10001", Err("limit may be 10000 at most".to_owned())),
            ("limit=x", Err("limit must be a whole number".to_owned())),
            (
                "a=b",
                Err("a is not known; there are like, limit, offset".to_owned()),
            ),
        ] {
            assert_eq!(super::filter(query), expected, "{query}");
        }
    }
}
