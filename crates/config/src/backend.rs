//! `[backend]`: the database behind, and how many connections to it there may be.

use std::num::NonZero;
use std::path::PathBuf;
use std::time::Duration;

use toml::de::DeValue;

use crate::address::Address;
use crate::error::Wrong;
use crate::password::Surroundings;
use crate::section::Section;
use crate::server::SWITCH;
use crate::tls::{self, BackendTls};
use crate::value;

const CONNECTIONS_MAX: u32 = 100_000;
const PREPARED_MAX: u32 = 10_000;
const SERVER_VERSION_BYTES_MAX: usize = 64;

/// The database behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backend {
    /// Where it is.
    pub address: Address,
    /// So many connections are used at once, if so many statements wait, whatever number is found to be
    /// best, and so many stay open when they are idle; 1 to 100,000. More than `max_connections` is the
    /// same as that.
    pub min_connections: u32,
    /// Whether it is connected to with TLS, and how it is verified; over a unix socket it is not.
    pub tls: BackendTls,
    /// Who vouches for its certificate, as PEM; there is one if that is verified.
    pub tls_ca: Option<PathBuf>,
    /// The certificate that is shown to the database, if it asks for one, with those of who vouches for it, as PEM.
    pub tls_certificate: Option<PathBuf>,
    /// Its key.
    pub tls_key: Option<PathBuf>,
    /// How many connections to it there may be, over all workers; 1 to 100,000.
    pub max_connections: u32,
    /// How long opening a connection may take, login included; never zero.
    pub connect_timeout: Duration,
    /// How long a statement may wait for a connection before it gets an ERR; never zero.
    pub queue_timeout: Duration,
    /// How long a connection may be unused before it is closed; `None` = for ever.
    pub idle_timeout: Option<Duration>,
    /// How old a connection may be before it is closed when next idle; `None` = any age.
    pub max_age: Option<Duration>,
    /// What was set for [`Backend::pinned_max`]; `None` = all but a reserve.
    pub max_pinned: Option<NonZero<u32>>,
    /// How many of them the sessions of one account may hold; `None` = all of them.
    pub max_pinned_per_account: Option<NonZero<u32>>,
    /// How many connections are kept for an account whose logins the database decides, over all workers; 1 to
    /// 100,000.
    pub max_relayed_per_account: u32,
    /// How many statements are kept prepared on a connection; 1 to 10,000.
    pub max_prepared_statements: u32,
    /// A read that takes longer loses those behind it in its lane, which go elsewhere; `None` = there
    /// are no lanes: no statement is sent to a connection that is busy.
    pub lane_stall: Option<Duration>,
    /// Whether sessions change their connection wherever they can, for tests.
    pub restless: bool,
    /// What clients are told of the server's version while no backend was ever reached, up to 64
    /// printable ASCII bytes; `None` = Myriad's own choice.
    pub server_version: Option<String>,
}

impl Backend {
    /// How many connections pinned sessions may hold. Unless set, all but one eighth, and at least
    /// one, is left for the others, except where there is only one connection.
    pub fn pinned_max(&self) -> u32 {
        let reserve = (self.max_connections / 8).max(1);
        let rest = self.max_connections.saturating_sub(reserve).max(1);
        self.max_pinned.map_or(rest, NonZero::get)
    }

    pub(crate) fn read(section: &mut Section<'_, '_>, surroundings: &Surroundings) -> Self {
        let default = Self::default();
        let backend = Self {
            address: section.read("address", default.address, |v| {
                Address::parse(value::text(
                    v,
                    "write an address such as \"127.0.0.1:3306\"",
                )?)
            }),
            tls: section.read("tls", default.tls, |v| value::choice(v, &tls::BACKEND)),
            tls_ca: tls::path(section, "tls_ca", surroundings),
            tls_certificate: tls::path(section, "tls_certificate", surroundings),
            tls_key: tls::path(section, "tls_key", surroundings),
            min_connections: section.read("min_connections", default.min_connections, |v| {
                value::number(v, 1..=CONNECTIONS_MAX)
            }),
            max_connections: section.read("max_connections", default.max_connections, |v| {
                value::number(v, 1..=CONNECTIONS_MAX)
            }),
            connect_timeout: section.read("connect_timeout", default.connect_timeout, |v| {
                value::duration_above_zero(v, "give up on every connection at once")
            }),
            queue_timeout: section.read("queue_timeout", default.queue_timeout, |v| {
                value::duration_above_zero(v, "reject every statement that has to wait")
            }),
            idle_timeout: section.read(
                "idle_timeout",
                default.idle_timeout,
                value::duration_unless_zero,
            ),
            max_age: section.read("max_age", default.max_age, value::duration_unless_zero),
            max_pinned: section.read("max_pinned", default.max_pinned, |v| {
                value::number_unless_zero(v, CONNECTIONS_MAX)
            }),
            max_pinned_per_account: section.read(
                "max_pinned_per_account",
                default.max_pinned_per_account,
                |v| value::number_unless_zero(v, CONNECTIONS_MAX),
            ),
            max_relayed_per_account: section.read(
                "max_relayed_per_account",
                default.max_relayed_per_account,
                |v| value::number(v, 1..=CONNECTIONS_MAX),
            ),
            max_prepared_statements: section.read(
                "max_prepared_statements",
                default.max_prepared_statements,
                |v| value::number(v, 1..=PREPARED_MAX),
            ),
            lane_stall: section.read(
                "lane_stall",
                default.lane_stall,
                value::duration_unless_zero,
            ),
            restless: section.read("restless", default.restless, |v| value::choice(v, &SWITCH)),
            server_version: section.read("server_version", default.server_version, version),
        };
        backend.check_pinned(section);
        backend.check_authority(section);
        let names = ["tls_certificate", "tls_key"];
        tls::both_or_none(section, names, (&backend.tls_certificate, &backend.tls_key));
        backend
    }

    fn check_authority(&self, section: &mut Section<'_, '_>) {
        let verifies = matches!(self.tls, BackendTls::VerifyCa | BackendTls::VerifyIdentity);
        if verifies
            && self.tls_ca.is_none()
            && let Some(at) = section.place_if_sound(&["tls", "tls_ca"])
        {
            let fix = "give tls_ca, the file of who vouches for the database";
            section.blame("tls", at, Wrong::new("nobody is there to vouch", fix));
        }
    }

    fn check_pinned(&self, section: &mut Section<'_, '_>) {
        let most = self.max_connections.saturating_sub(1).max(1);
        if self.pinned_max() <= most {
            return;
        }
        let Some(at) = section.place_if_sound(&["max_pinned", "max_connections"]) else {
            return;
        };
        let what = format!(
            "{} of {} backend connections would leave none for the other sessions",
            self.pinned_max(),
            self.max_connections,
        );
        let fix = format!("write a whole number from 0 to {most}");
        section.blame("max_pinned", at, Wrong::new(what, fix));
    }
}

impl Default for Backend {
    fn default() -> Self {
        Self {
            address: Address::Tcp {
                host: "127.0.0.1".to_owned(),
                port: 3306,
            },
            tls: BackendTls::Off,
            tls_ca: None,
            tls_certificate: None,
            tls_key: None,
            min_connections: 8,
            max_connections: 32,
            connect_timeout: Duration::from_secs(1),
            queue_timeout: Duration::from_secs(30),
            idle_timeout: Some(Duration::from_secs(600)),
            max_age: Some(Duration::from_secs(3_600)),
            max_pinned: None,
            max_pinned_per_account: None,
            max_relayed_per_account: 8,
            max_prepared_statements: 128,
            lane_stall: Some(Duration::from_millis(10)),
            restless: false,
            server_version: None,
        }
    }
}

fn version(written: &DeValue<'_>) -> Result<Option<String>, Wrong> {
    let fix = format!("write at most {SERVER_VERSION_BYTES_MAX} printable ascii characters");
    let text = value::text(written, &fix)?;
    if text.len() > SERVER_VERSION_BYTES_MAX {
        return Err(Wrong::new(
            format!("the version has {} bytes", text.len()),
            fix,
        ));
    }
    if let Some(bad) = text.chars().find(|c| !matches!(c, ' '..='~')) {
        return Err(Wrong::new(format!("{bad:?} is not printable ascii"), fix));
    }
    Ok(Some(text.to_owned()).filter(|text| !text.is_empty()))
}
