//! `[admin]`: the HTTP listener for metrics and health.

use std::net::SocketAddr;

use crate::error::Wrong;
use crate::section::Section;
use crate::value;

const HTTP_FIX: &str = "write an ip address and a port, such as \"127.0.0.1:6080\"";

/// The administrator's side.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Admin {
    /// Where `/metrics` and `/health` are served over HTTP; `None` = nowhere.
    pub http: Option<SocketAddr>,
}

impl Admin {
    pub(crate) fn read(section: &mut Section<'_, '_>) -> Self {
        let http = section.read("http", None, |written| {
            let text = value::text(written, HTTP_FIX)?;
            let not_one = |_| Wrong::new(format!("{text:?} is no address to listen on"), HTTP_FIX);
            text.parse().map(Some).map_err(not_one)
        });
        Self { http }
    }
}
