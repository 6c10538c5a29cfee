//! `[admin]`: the listeners for administrators, over HTTP and for SQL, and who may use the second.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use toml::de::DeValue;

use crate::account::{self, Account};
use crate::error::Wrong;
use crate::password::{self, Surroundings};
use crate::section::Section;
use crate::server::SWITCH;
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
    /// They may listen elsewhere than on loopback addresses.
    pub allow_remote: bool,
    /// `[[admin.account]]`: who may log in there. All have a password; no user name occurs twice;
    /// not empty if `sql` is set.
    pub accounts: Vec<Account>,
}

impl Admin {
    pub(crate) fn read(section: &mut Section<'_, '_>, surroundings: &Surroundings) -> Self {
        let http = section.read("http", None, |written| address(written, HTTP_FIX));
        let sql = section.read("sql", None, |written| address(written, SQL_FIX));
        let allow_remote = section.read("allow_remote", false, |v| value::choice(v, &SWITCH));
        for (key, address) in [("http", http), ("sql", sql)] {
            check_reach(section, key, address.filter(|_| !allow_remote));
        }
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
            allow_remote,
            accounts,
        }
    }
}

/// What is said there is not encrypted, and over HTTP nobody is asked who they are.
fn check_reach(section: &mut Section<'_, '_>, key: &'static str, address: Option<SocketAddr>) {
    let beyond = address.filter(|address| !address.ip().to_canonical().is_loopback());
    if let Some(address) = beyond
        && let Some(at) = section.place_if_sound(&[key, "allow_remote"])
    {
        let what = format!("\"{address}\" can be reached from other machines");
        let fix = "write a loopback address, or allow_remote = \"on\" where only those can connect who may";
        section.blame(key, at, Wrong::new(what, fix));
    }
}

fn address(written: &DeValue<'_>, fix: &str) -> Result<Option<SocketAddr>, Wrong> {
    let text = value::text(written, fix)?;
    let not_one = |_| Wrong::new(format!("{text:?} is no address to listen on"), fix);
    text.parse().map(Some).map_err(not_one)
}
