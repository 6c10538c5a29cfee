//! `[admin]`: the listeners for administrators, over HTTP and for SQL, and who may use them.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use toml::de::DeValue;

use crate::account::{self, Account};
use crate::error::Wrong;
use crate::password::{self, Surroundings};
use crate::section::Section;
use crate::server::SWITCH;
use crate::tls::{MODES, TlsMode};
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
    /// Whether both may, or must, be reached with TLS; [`TlsMode::Require`] if either is not on a loopback address.
    pub tls: TlsMode,
    /// `[[admin.account]]`: who may log in there. All have a password; no user name occurs twice;
    /// not empty if `sql` is set, or if `http` is not a loopback address.
    pub accounts: Vec<Administrator>,
}

/// One who may log in at the listeners for administrators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Administrator {
    /// Name and password.
    pub login: Account,
    /// Looks, and changes nothing.
    pub read_only: bool,
}

impl Admin {
    pub(crate) fn read(section: &mut Section<'_, '_>, surroundings: &Surroundings) -> Self {
        let admin = Self {
            http: section.read("http", None, |written| address(written, HTTP_FIX)),
            sql: section.read("sql", None, |written| address(written, SQL_FIX)),
            tls: section.read("tls", TlsMode::default(), |v| value::choice(v, &MODES)),
            accounts: Administrator::read_all(section, surroundings),
        };
        if admin.sql.is_some() && admin.accounts.is_empty() {
            let fix = "say who may log in at admin.sql: [[admin.account]]";
            section.blame_missing("account", fix);
        }
        for (key, address) in [("http", admin.http), ("sql", admin.sql)] {
            admin.check_reach(section, key, address);
        }
        admin
    }

    /// Beyond this machine nothing is said in clear, nor to somebody unknown.
    fn check_reach(
        &self,
        section: &mut Section<'_, '_>,
        key: &'static str,
        address: Option<SocketAddr>,
    ) {
        let beyond = address.filter(|address| !address.ip().to_canonical().is_loopback());
        let is_guarded = self.tls == TlsMode::Require && !self.accounts.is_empty();
        if let Some(address) = beyond.filter(|_| !is_guarded)
            && let Some(at) = section.place_if_sound(&[key, "tls", "account"])
        {
            let what = format!("\"{address}\" can be reached from other machines");
            let fix =
                "write tls = \"require\" and an [[admin.account]] beside it, or a loopback address";
            section.blame(key, at, Wrong::new(what, fix));
        }
    }
}

impl Administrator {
    fn read_all(section: &mut Section<'_, '_>, surroundings: &Surroundings) -> Vec<Self> {
        let mut lines = BTreeMap::new();
        section.sections_named("account", "admin.account", |section| {
            let login = account::read(section, &mut lines, surroundings);
            if login.password.is_empty() && section.is_sound(&password::KEYS) {
                section.blame_missing("password", "give every administrator a password");
            }
            let read_only = section.read("read_only", false, |v| value::choice(v, &SWITCH));
            Self { login, read_only }
        })
    }
}

fn address(written: &DeValue<'_>, fix: &str) -> Result<Option<SocketAddr>, Wrong> {
    let text = value::text(written, fix)?;
    let not_one = |_| Wrong::new(format!("{text:?} is no address to listen on"), fix);
    text.parse().map(Some).map_err(not_one)
}
