//! What backends have said about the server: told to clients in the initial handshake, and needed
//! to read statements as the server reads them.

use std::sync::Arc;

use carry::trust::Tracker;
use session::statement::{Dialect, Flavor, Trail};
use session::{Charset, Collations, Modes, SessionState, is_unreadable};
use wire::{AuthPlugin, Capabilities, ExtendedCapabilities, InitialHandshake, ServerStatus};

use crate::record::settings::{Settings, TlsMode};

/// Without these a backend cannot be multiplexed (rule 9).
pub(crate) const REQUIRED: Capabilities =
    Capabilities::SESSION_TRACK.union(Capabilities::DEPRECATE_EOF);

/// What the engine itself can do with a client; the rest is not offered.
const OFFERED: Capabilities = Capabilities::LONG_PASSWORD
    .union(Capabilities::FOUND_ROWS)
    .union(Capabilities::LONG_FLAG)
    .union(Capabilities::CONNECT_WITH_DB)
    .union(COMPRESSION)
    .union(Capabilities::LOCAL_FILES)
    .union(Capabilities::NO_SCHEMA)
    .union(Capabilities::ODBC)
    .union(Capabilities::IGNORE_SPACE)
    .union(Capabilities::PROTOCOL_41)
    .union(Capabilities::INTERACTIVE)
    .union(Capabilities::IGNORE_SIGPIPE)
    .union(Capabilities::TRANSACTIONS)
    .union(Capabilities::RESERVED)
    .union(Capabilities::SECURE_CONNECTION)
    .union(Capabilities::MULTI_STATEMENTS)
    .union(Capabilities::MULTI_RESULTS)
    .union(Capabilities::PS_MULTI_RESULTS)
    .union(Capabilities::PLUGIN_AUTH)
    .union(Capabilities::CONNECT_ATTRS)
    .union(Capabilities::PLUGIN_AUTH_LENENC_DATA)
    .union(Capabilities::CAN_HANDLE_EXPIRED_PASSWORDS)
    .union(Capabilities::SESSION_TRACK)
    .union(Capabilities::DEPRECATE_EOF)
    .union(Capabilities::OPTIONAL_RESULTSET_METADATA)
    .union(Capabilities::QUERY_ATTRIBUTES);

/// The only collation of `filename`, a character set that servers list to nobody.
const FILENAME: u8 = 17;

/// MariaDB 10.2.
const MARIADB_OLDEST: u32 = 100_200;

/// From here on sessions of MySQL keep over COM_RESET_CONNECTION what the flags of their login ask for. 8.4 forgets that.
const FLAGS_OUTLIVE_RESET: u32 = 90_000;

/// Offered only where the settings say so.
const COMPRESSION: Capabilities = Capabilities::COMPRESS.union(Capabilities::ZSTD_COMPRESSION);

/// The extended flags (MariaDB) that Myriad offers.
const OFFERED_EXTENDED: ExtendedCapabilities = ExtendedCapabilities::EXTENDED_METADATA
    .union(ExtendedCapabilities::STMT_BULK_OPERATIONS)
    .union(ExtendedCapabilities::PROGRESS)
    .union(ExtendedCapabilities::CACHE_METADATA);

/// What is known of the server behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Facts {
    /// A backend has told it; otherwise it is what the settings say.
    pub told: bool,
    /// Its version string, as its handshake has it.
    pub version: Vec<u8>,
    /// Its default collation.
    pub collation: u8,
    /// The status flags of its initial handshake.
    pub status: ServerStatus,
    /// Sessions begin with autocommit. MySQL's handshake says so whatever they begin with, so that it is not known
    /// there before a connection was asked.
    pub autocommit: Option<bool>,
    /// What clients are offered.
    pub capabilities: Capabilities,
    /// MariaDB's extended flags that clients are offered.
    pub extended: ExtendedCapabilities,
    /// Its kind and version number, for version comments.
    pub flavor: Flavor,
    /// 101119 for 10.11.19.
    pub version_number: u32,
    /// The `sql_mode` that sessions begin with; `None` if it is not known.
    pub sql_mode: Option<Arc<[u8]>>,
    /// It has a binary log.
    pub binary_log: bool,
    /// Sessions begin with `sql_auto_is_null`.
    pub auto_is_null: bool,
    /// What is run for each session that begins; `None` if that is not known.
    pub init_connect: Option<Arc<[u8]>>,
    /// The `wait_timeout` that sessions begin with.
    pub wait_timeout: Box<[u8]>,
    /// That of sessions of interactive clients; empty like the other if it is not known.
    pub interactive_timeout: Box<[u8]>,
    /// Whether it tells what its sessions set.
    pub tracker: Tracker,
    /// Its character sets and collations.
    pub charsets: CharsetFacts,
}

/// What the server has said of its character sets and collations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CharsetFacts {
    /// Those that a login can name; `None` until the server has listed them.
    pub collations: Option<Arc<Collations>>,
    /// The `character_set_collations` that sessions begin with; empty where there is no such variable.
    pub chosen: Box<[u8]>,
}

/// How a session begins anew on its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anew {
    /// COM_RESET_CONNECTION.
    Reset,
    /// COM_CHANGE_USER.
    ChangeUser,
}

impl Facts {
    /// What a client is offered.
    pub(crate) fn offered(&self, settings: &Settings) -> Capabilities {
        let mut offered = self.capabilities;
        if !settings.compression {
            offered -= COMPRESSION;
        }
        // That is between the client and us, whatever the server can do.
        offered.set(Capabilities::SSL, settings.tls != TlsMode::Off);
        offered
    }

    /// The status flags that a session begins with.
    pub(crate) fn begins_with(&self) -> ServerStatus {
        let mut status = self.status;
        if let Some(autocommit) = self.autocommit {
            status.set(ServerStatus::AUTOCOMMIT, autocommit);
        }
        status
    }

    /// Sessions that begin from now on have autocommit, or not. True if nobody knew what they begin with.
    pub(crate) fn learn_autocommit(&mut self, autocommit: bool) -> bool {
        if self.flavor == Flavor::MariaDb {
            self.status.set(ServerStatus::AUTOCOMMIT, autocommit);
        }
        self.autocommit.replace(autocommit).is_none()
    }

    /// The `wait_timeout` that the session of an interactive client begins with, if it is not that of all.
    pub(crate) fn interactive_wait_timeout(&self) -> Option<&[u8]> {
        (self.interactive_timeout != self.wait_timeout).then_some(&self.interactive_timeout)
    }

    /// Whether a session that begins anew has what the flags CLIENT_IGNORE_SPACE and CLIENT_INTERACTIVE ask for, as it
    /// had at its login.
    pub(crate) fn heeds_flags(&self, anew: Anew) -> bool {
        match (self.flavor, anew) {
            (Flavor::MariaDb, _) => false,
            (Flavor::MySql, Anew::ChangeUser) => true,
            (Flavor::MySql, Anew::Reset) => self.version_number >= FLAGS_OUTLIVE_RESET,
        }
    }

    /// Takes over from other facts what a handshake does not tell.
    pub(crate) fn keep(&mut self, known: &Self) {
        self.sql_mode.clone_from(&known.sql_mode);
        self.binary_log = known.binary_log;
        self.auto_is_null = known.auto_is_null;
        self.init_connect.clone_from(&known.init_connect);
        self.wait_timeout.clone_from(&known.wait_timeout);
        self.interactive_timeout
            .clone_from(&known.interactive_timeout);
        self.autocommit = self.autocommit.or(known.autocommit);
        self.charsets.clone_from(&known.charsets);
        if self.version == known.version {
            self.tracker.clone_from(&known.tracker);
        } else {
            // Another version may have other collations.
            self.charsets.collations = None;
        }
    }

    /// The character sets that a session begins with which names this collation in its login, by the server's list. One
    /// that the server does not know stands for the server's own.
    pub(crate) fn charset_of_login(&self, collation: u8) -> Option<Charset> {
        let (known, chosen) = (self.charsets.collations.as_ref()?, &self.charsets.chosen);
        let of_login = |collation| known.of_login(collation, chosen, self.flavor);
        of_login(collation).or_else(|| of_login(self.collation))
    }

    /// True if the server knows the collation with this number.
    pub(crate) fn has_collation(&self, collation: u8) -> bool {
        let known = self.charsets.collations.as_ref();
        known.is_some_and(|known| known.charset(collation.into()).is_some())
    }

    /// True if the server takes this number for `character_set_results`.
    pub(crate) fn takes_collation(&self, number: u16) -> bool {
        match (&self.charsets.collations, self.flavor) {
            (Some(known), flavor) => known.takes_number(number, flavor),
            (None, flavor) => flavor == Flavor::MySql,
        }
    }

    /// The character set of a collation with which the server lets no client in. Of one that it has not listed yet, it
    /// says so itself when a backend is opened.
    pub(crate) fn unreadable_charset(&self, collation: u8) -> Option<&[u8]> {
        if collation == FILENAME && self.flavor == Flavor::MariaDb {
            return Some(b"filename");
        }
        let charset = self.charsets.collations.as_ref()?.charset(collation.into());
        charset.filter(|charset| is_unreadable(charset))
    }

    /// Sessions that begin from now on have this `sql_mode`.
    pub(crate) fn learn_sql_mode(&mut self, sql_mode: &[u8]) {
        let flag = ServerStatus::NO_BACKSLASH_ESCAPES;
        self.status
            .set(flag, Modes::of(sql_mode).no_backslash_escapes);
        self.sql_mode = Some(sql_mode.into());
    }

    /// True if the server has roles.
    pub(crate) fn has_roles(&self) -> bool {
        self.flavor == Flavor::MariaDb || self.version_number >= 80_000
    }

    /// What clients are told while nothing is known.
    pub(crate) fn unknown(version: &str) -> Self {
        Self {
            told: false,
            version: version.as_bytes().to_vec(),
            collation: 45,
            status: ServerStatus::AUTOCOMMIT,
            autocommit: None,
            capabilities: OFFERED - COMPRESSION - Capabilities::QUERY_ATTRIBUTES,
            extended: ExtendedCapabilities::empty(),
            flavor: Flavor::MySql,
            version_number: version_number(version.as_bytes()),
            sql_mode: None,
            binary_log: false,
            auto_is_null: false,
            init_connect: None,
            wait_timeout: Box::default(),
            interactive_timeout: Box::default(),
            tracker: Tracker::Unknown,
            charsets: CharsetFacts::default(),
        }
    }

    /// What a backend's initial handshake tells.
    pub(crate) fn from_handshake(handshake: &InitialHandshake<'_>) -> Self {
        let version = handshake.server_version;
        let named = version
            .windows(7)
            .any(|part| part.eq_ignore_ascii_case(b"mariadb"));
        // The version is whatever `--version` says; flags of its own MariaDB has from 10.2 on.
        let mariadb = named || !handshake.extended.is_empty();
        let plain = version
            .strip_prefix(b"5.5.5-")
            .filter(|_| mariadb)
            .unwrap_or(version);
        Self {
            told: true,
            version: version.to_vec(),
            collation: handshake.collation,
            status: handshake.status,
            autocommit: mariadb.then(|| handshake.status.contains(ServerStatus::AUTOCOMMIT)),
            capabilities: handshake.capabilities & OFFERED,
            extended: handshake.extended & OFFERED_EXTENDED,
            flavor: if mariadb {
                Flavor::MariaDb
            } else {
                Flavor::MySql
            },
            version_number: match mariadb {
                // An older one cannot track sessions, so that is another number than its own.
                true => version_number(plain).max(MARIADB_OLDEST),
                false => version_number(plain),
            },
            sql_mode: None,
            binary_log: false,
            auto_is_null: false,
            init_connect: None,
            wait_timeout: Box::default(),
            interactive_timeout: Box::default(),
            tracker: Tracker::Unknown,
            charsets: CharsetFacts::default(),
        }
    }

    /// The plugin that such a server names first, as far as its default was not changed.
    pub(crate) fn auth_plugin(&self) -> AuthPlugin {
        match self.flavor {
            Flavor::MySql if self.version_number >= 80_004 => AuthPlugin::CachingSha2Password,
            Flavor::MySql | Flavor::MariaDb => AuthPlugin::NativePassword,
        }
    }

    /// What a session's character sets begin with after COM_RESET_CONNECTION, if it was opened with
    /// `collation`: MariaDB goes back to that, MySQL to the server's own default.
    pub(crate) fn collation_after_reset(&self, collation: u8) -> u8 {
        match self.flavor {
            Flavor::MySql if self.told => self.collation,
            Flavor::MySql | Flavor::MariaDb => collation,
        }
    }

    /// How the server reads the texts of a session; `None` if its character set is not one that
    /// the lexer knows.
    pub(crate) fn dialect(&self, session: &SessionState) -> Option<Dialect> {
        let of_server = || self.sql_mode.as_deref().map(Modes::of);
        let modes = session.variables.modes().or_else(of_server);
        let modes = modes.unwrap_or_default();
        let charset = session.charset.as_ref();
        let trail = charset.map_or(Some(Trail::Plain), |charset| Trail::of(&charset.client))?;
        let mut dialect = Dialect::new(self.flavor, self.version_number);
        dialect.charset = trail;
        dialect.ansi_quotes = modes.ansi_quotes;
        dialect.no_backslash_escapes = modes.no_backslash_escapes;
        dialect.ignore_space = modes.ignore_space;
        Some(dialect)
    }
}

/// The character sets of each handshake collation, as backends reported them.
pub(crate) struct Charsets {
    of_collation: Box<[Option<Arc<Charset>>; 256]>,
}

impl Charsets {
    /// None known yet.
    pub(crate) fn new() -> Self {
        Self {
            of_collation: Box::new([const { None }; 256]),
        }
    }

    /// What they mean may be something else by now: a collation that is the server's own stands for global variables.
    pub(crate) fn forget(&mut self) {
        self.of_collation.fill(None);
    }

    /// What a session that named `collation` begins with.
    pub(crate) fn get(&self, collation: u8) -> Option<&Arc<Charset>> {
        self.of_collation[usize::from(collation)].as_ref()
    }

    /// A backend that was opened with `collation` said what that means.
    pub(crate) fn learn(&mut self, collation: u8, charset: Arc<Charset>) {
        self.of_collation[usize::from(collation)] = Some(charset);
    }
}

fn version_number(version: &[u8]) -> u32 {
    let mut parts = version.split(|byte| !byte.is_ascii_digit());
    let mut next = || {
        let digits = parts.next().unwrap_or_default();
        digits
            .iter()
            .take(4)
            .fold(0, |number, digit| number * 10 + u32::from(digit - b'0'))
    };
    let (major, minor, patch) = (next(), next(), next());
    major * 10_000 + minor * 100 + patch
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mariadb_is_known_whatever_it_calls_itself() {
        let table = [
            ("5.5.5-10.11.14-MariaDB", false, Flavor::MariaDb, 101_114),
            ("10.6.1-mariadb-log", false, Flavor::MariaDb, 100_601),
            ("11.4.2", true, Flavor::MariaDb, 110_402),
            ("8.0.36-shop", true, Flavor::MariaDb, 100_200),
            ("8.0.36", false, Flavor::MySql, 80_036),
        ];
        for (version, has_flags, flavor, number) in table {
            let flags = if has_flags {
                ExtendedCapabilities::PROGRESS
            } else {
                ExtendedCapabilities::empty()
            };
            let facts = Facts::from_handshake(&InitialHandshake {
                server_version: version.as_bytes(),
                connection_id: 1,
                nonce: [1; 20],
                capabilities: OFFERED,
                extended: flags,
                collation: 45,
                status: ServerStatus::AUTOCOMMIT,
                auth_plugin: b"mysql_native_password",
            });
            assert_eq!(
                (facts.flavor, facts.version_number),
                (flavor, number),
                "{version}"
            );
        }
    }

    #[test]
    fn version_numbers() {
        assert_eq!(version_number(b"10.11.19-MariaDB-0+deb12u1"), 101_119);
        assert_eq!(version_number(b"9.7.0"), 90_700);
        assert_eq!(version_number(b"x"), 0);
    }
}
