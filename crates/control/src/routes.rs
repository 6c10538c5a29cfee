//! Which path answers what, and to whom. Only GET and HEAD are known.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use headers::HeaderMapExt;
use headers::authorization::{Authorization, Basic};
use wire::AuthPlugin;

use crate::api;
use crate::desk::Desk;
use crate::entrance::Entrance;
use crate::health::Health;
use crate::metrics::{self, Scrape};

const INDEX: &str = "myriad\n\n/metrics  for Prometheus\n/health   for load balancers\n/api      \
                     what there is, as JSON\n";

/// The paths, by how a connection came.
pub(crate) struct Paths {
    /// For those who may see them.
    pub(crate) all: Router,
    /// For a connection without TLS where that is required.
    pub(crate) in_clear: Router,
}

/// The paths. Whoever asks for more than `/health` is asked who it is, if there are administrators.
pub(crate) fn paths(desk: &Arc<Desk>, entrance: &Arc<Entrance>) -> Paths {
    let guard = Guard {
        desk: Arc::clone(desk),
        entrance: Arc::clone(entrance),
    };
    let all = Router::new()
        .route("/", get(async || INDEX))
        .route("/metrics", get(metrics))
        .route("/api", get(api::index))
        .route("/api/{table}", get(api::table))
        .fallback(unknown)
        .layer(middleware::from_fn_with_state(guard, identify))
        .route("/health", get(health))
        .with_state(Arc::clone(desk));
    let told = (StatusCode::FORBIDDEN, "TLS is required; write https://\n");
    Paths {
        all,
        in_clear: Router::new().fallback(async move || told),
    }
}

#[derive(Clone)]
struct Guard {
    desk: Arc<Desk>,
    entrance: Arc<Entrance>,
}

/// Lets through who shows the name and password of an administrator. Who shows nothing is asked at once.
async fn identify(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    if guard.entrance.is_open() {
        return next.run(request).await;
    }
    if let Some(shown) = shown(request.headers()) {
        if is_right(&guard.entrance, &shown) {
            return next.run(request).await;
        }
        let refused = &guard.desk.tallies.logins_refused;
        guard.entrance.slow_down(refused).await;
    }
    let challenge = [(
        WWW_AUTHENTICATE,
        "Basic realm=\"myriad\", charset=\"UTF-8\"",
    )];
    let text = "who are you? give the name and password of an administrator\n";
    (StatusCode::UNAUTHORIZED, challenge, text).into_response()
}

fn shown(headers: &HeaderMap) -> Option<Authorization<Basic>> {
    headers.typed_get()
}

/// Compares as a login with a nonce that is always the same would be: the time tells nothing of the password.
fn is_right(entrance: &Entrance, shown: &Authorization<Basic>) -> bool {
    const PLUGIN: AuthPlugin = AuthPlugin::CachingSha2Password;
    let nonce = [1; 20];
    let proof = PLUGIN.response(shown.password().as_bytes(), &nonce);
    let verify = |password: &[u8]| PLUGIN.verify(password, &nonce, &proof);
    entrance.admit(shown.username(), verify).is_some()
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
    let health = Health::new(&sighting, &desk.facts);
    ([(CACHE_CONTROL, "no-store")], health).into_response()
}

async fn unknown() -> Response {
    (StatusCode::NOT_FOUND, "no such path; / lists them\n").into_response()
}
