//! `[admin]`: the listeners for administrators, over HTTP and for SQL, and who may use the second.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use toml::de::DeValue;

use crate::account::{self, Account};
use crate::error::Wrong;
use crate::password::{self, Surroundings};
use crate::section::Section;
use crate::value;

const HTTP_FIX: &str = "write an ip address and a port, such as \"127.0.0.1:6080\"";
const SQL_FIX: &str = "write an ip address and a port, such as \"127.0.0.1:6032\"";

/// The administrator's side.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Admin {
    /// Where `/metrics`, `/health` and `/api` are served over HTTP; `None` = nowhere.
    pub http: Option<SocketAddr>,
    /// Where administrators' statements are answered; `None` = nowhere.
    pub sql: Option<SocketAddr>,
    /// `[[admin.account]]`: who may log in there. All have a password; no user name occurs twice;
    /// not empty if `sql` is set.
    pub accounts: Vec<Account>,
}

impl Admin {
    pub(crate) fn read(section: &mut Section<'_, '_>, surroundings: &Surroundings) -> Self {
        let http = section.read("http", None, |written| address(written, HTTP_FIX));
        let sql = section.read("sql", None, |written| address(written, SQL_FIX));
        let mut lines = BTreeMap::new();
        let accounts = section.sections_named("account", "admin.account", |section| {
            let account = account::read(section, &mut lines, surroundings);
            if account.password.expose().is_empty() && section.is_sound(&password::KEYS) {
                section.blame_missing("password", "give every administrator a password");
            }
            account
        });
        if sql.is_some() && accounts.is_empty() {
            section.blame_missing(
                "account",
                "say who may log in at admin.sql: [[admin.account]]",
            );
        }
        Self {
            http,
            sql,
            accounts,
        }
    }
}

fn address(written: &DeValue<'_>, fix: &str) -> Result<Option<SocketAddr>, Wrong> {
    let text = value::text(written, fix)?;
    let not_one = |_| Wrong::new(format!("{text:?} is no address to listen on"), fix);
    text.parse().map(Some).map_err(not_one)
}
