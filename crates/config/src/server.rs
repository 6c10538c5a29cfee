//! `[server]`: what faces the clients.

use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZero;
use std::time::Duration;

use toml::de::DeValue;

use crate::address::Listen;
use crate::error::Wrong;
use crate::network::{self, Network};
use crate::section::{Section, Written};
use crate::units::{GIB, KIB, MIB, show_size};
use crate::value;

const WORKERS_MAX: u32 = 1_024;
const CONNECTIONS_MAX: u32 = 16_000_000;
const ERRORS_MAX: u32 = 1_000_000_000;
const BACKLOG_MAX: u32 = 16_000_000;
/// So many commands of the largest size must fit into the memory for commands.
const LARGEST_COMMANDS: usize = 4;
/// More of the machine's memory is not taken for commands by itself.
const COMMAND_BUFFER_MAX: usize = 16 * GIB;
const LISTEN_FIX: &str = "write a list such as [\"127.0.0.1:6033\"]";
pub(crate) const DRIVERS: [(&str, Driver); 3] = [
    ("auto", Driver::Auto),
    ("epoll", Driver::Epoll),
    ("io_uring", Driver::IoUring),
];
pub(crate) const PLUGINS: [(&str, Option<AuthPlugin>); 3] = [
    ("auto", None),
    ("mysql_native_password", Some(AuthPlugin::NativePassword)),
    (
        "caching_sha2_password",
        Some(AuthPlugin::CachingSha2Password),
    ),
];

pub(crate) const COMPRESSION: [(&str, bool); 2] = [("as_backend", true), ("off", false)];

/// The words for what may be on or off.
pub(crate) const SWITCH: [(&str, bool); 2] = [("on", true), ("off", false)];

/// The words for `on_disconnect`.
pub(crate) const ON_DISCONNECT: [(&str, OnDisconnect); 3] = [
    ("kill_reads", OnDisconnect::KillReads),
    ("kill_all", OnDisconnect::KillAll),
    ("finish", OnDisconnect::Finish),
];

/// What faces the clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Where clients come in: at least one place, none twice.
    pub listen: Vec<Listen>,
    /// How many connections may wait to be accepted at each of these places. The kernel takes
    /// its own limit (`net.core.somaxconn`) if that is less.
    pub listen_backlog: u32,
    /// How many workers share the work; `None` = as many as [`Settings::workers`](crate::Settings::workers) says.
    pub workers: Option<NonZero<u32>>,
    /// How many clients may be connected; more get ERR 1040.
    pub max_connections: u32,
    /// What was set for [`Server::logins_max`]; `None` = what follows from `max_connections`.
    pub max_logins: Option<NonZero<u32>>,
    /// After so many broken handshakes in a row an address gets ERR 1129; `None` = never.
    pub max_connect_errors: Option<NonZero<u32>>,
    /// From where broken handshakes are not counted; at most 64.
    pub connect_errors_exempt: Vec<Network>,
    /// The kernel may write the process's memory to a file when it crashes.
    pub core_dump: bool,
    /// All of the process's memory is kept out of swap space.
    pub memlock: bool,
    /// The plugin that clients are greeted with; `None` = what fits the backend.
    pub default_authentication_plugin: Option<AuthPlugin>,
    /// How long a client may take to log in; never zero.
    pub login_timeout: Duration,
    /// How long a session that holds a backend connection (in a transaction or pinned) may send
    /// nothing before it is closed; `None` = for ever.
    pub idle_transaction_timeout: Option<Duration>,
    /// How long a client may take no byte of its answer before it is closed; never zero.
    pub client_write_timeout: Duration,
    /// How long a client may send nothing in the middle of a command before it is closed; never zero.
    pub client_read_timeout: Duration,
    /// How long a client may be idle before it is closed; `None` = for ever.
    pub wait_timeout: Option<Duration>,
    /// How many bytes of one answer are taken from the backend ahead of the client.
    pub answer_buffer: usize,
    /// The same over the whole process, in bytes; never less than `answer_buffer`.
    pub answer_buffer_total: usize,
    /// What was set for [`Server::command_buffer`]; `None` = what follows from the memory.
    pub command_buffer_total: Option<NonZero<usize>>,
    /// What was set for [`Server::session_buffer`]; `None` = what follows from the memory.
    pub session_buffer_total: Option<NonZero<usize>>,
    /// The longest command, in bytes; a longer one gets ERR 1153.
    pub max_allowed_packet: usize,
    /// Clients are offered the compressed protocols that the backend offers.
    pub compression: bool,
    /// How long running statements may take to finish after SIGTERM; never zero.
    pub drain_timeout: Duration,
    /// What becomes of a statement whose client hangs up while it runs.
    pub on_disconnect: OnDisconnect,
    /// Which driver moves the bytes.
    pub driver: Driver,
}

/// What becomes of a statement whose client hangs up while it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnDisconnect {
    /// Reads are ended; what may write finishes.
    #[default]
    KillReads,
    /// Everything is ended.
    KillAll,
    /// Everything finishes.
    Finish,
}

/// Which driver moves the bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Driver {
    /// The best that this machine offers.
    #[default]
    Auto,
    /// Readiness by epoll.
    Epoll,
    /// Completions by io_uring; epoll where it is refused.
    IoUring,
}

/// A plugin that clients can prove their password with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AuthPlugin {
    /// `mysql_native_password`.
    NativePassword,
    /// `caching_sha2_password`.
    CachingSha2Password,
}

impl Server {
    /// How many clients may be in the connection phase. Unless set, a tenth of all that may be
    /// connected, but not fewer than 1,000.
    pub fn logins_max(&self) -> u32 {
        let tenth = (self.max_connections / 10).max(1_000);
        self.max_logins.map_or(tenth, NonZero::get)
    }

    /// Bytes for what all sessions keep. Unless set, an eighth of the memory that the process may use, as far as that is
    /// known, but 256 MiB at least.
    pub fn session_buffer(&self, memory: Option<u64>) -> usize {
        let eighth = memory.map_or(0, |memory| {
            usize::try_from(memory / 8).unwrap_or(usize::MAX)
        });
        let from_memory = eighth.max(256 * MIB);
        self.session_buffer_total.map_or(from_memory, NonZero::get)
    }

    /// Bytes for the commands of all clients that are not complete, or wait. Unless set, an eighth of the memory that the
    /// process may use, as far as that is known, but not less than four commands may need.
    pub fn command_buffer(&self, memory: Option<u64>) -> usize {
        let eighth = memory.map_or(0, |memory| {
            usize::try_from(memory / 8).unwrap_or(usize::MAX)
        });
        let least = LARGEST_COMMANDS * self.max_allowed_packet;
        let from_memory = eighth.min(COMMAND_BUFFER_MAX).max(least);
        self.command_buffer_total.map_or(from_memory, NonZero::get)
    }

    pub(crate) fn read(section: &mut Section<'_, '_>) -> Self {
        let default = Self::default();
        let mut server = default.read_limits(section);
        server.listen = read_listen(section).unwrap_or(server.listen);
        server.check_buffers(section);
        server.check_commands(section);
        server.read_timeouts(section)
    }

    fn read_limits(self, section: &mut Section<'_, '_>) -> Self {
        Self {
            listen_backlog: section.read("listen_backlog", self.listen_backlog, |v| {
                value::number(v, 1..=BACKLOG_MAX)
            }),
            workers: section.read("workers", self.workers, |v| {
                value::number_unless_zero(v, WORKERS_MAX)
            }),
            max_connections: section.read("max_connections", self.max_connections, |v| {
                value::number(v, 1..=CONNECTIONS_MAX)
            }),
            max_logins: section.read("max_logins", self.max_logins, |v| {
                value::number_unless_zero(v, CONNECTIONS_MAX)
            }),
            max_connect_errors: section.read("max_connect_errors", self.max_connect_errors, |v| {
                value::number_unless_zero(v, ERRORS_MAX)
            }),
            connect_errors_exempt: network::list(section, "connect_errors_exempt"),
            core_dump: section.read("core_dump", self.core_dump, |v| value::choice(v, &SWITCH)),
            memlock: section.read("memlock", self.memlock, |v| value::choice(v, &SWITCH)),
            default_authentication_plugin: section.read(
                "default_authentication_plugin",
                self.default_authentication_plugin,
                |v| value::choice(v, &PLUGINS),
            ),
            answer_buffer: section.read("answer_buffer", self.answer_buffer, |v| {
                value::size(v, KIB..=GIB)
            }),
            answer_buffer_total: section.read(
                "answer_buffer_total",
                self.answer_buffer_total,
                |v| value::size(v, KIB..=1_024 * GIB),
            ),
            command_buffer_total: section.read(
                "command_buffer_total",
                self.command_buffer_total,
                |v| value::size_unless_zero(v, 1_024 * GIB),
            ),
            session_buffer_total: section.read(
                "session_buffer_total",
                self.session_buffer_total,
                |v| value::size_unless_zero(v, 1_024 * GIB),
            ),
            max_allowed_packet: section.read("max_allowed_packet", self.max_allowed_packet, |v| {
                value::size(v, KIB..=GIB)
            }),
            compression: section.read("compression", self.compression, |v| {
                value::choice(v, &COMPRESSION)
            }),
            on_disconnect: section.read("on_disconnect", self.on_disconnect, |v| {
                value::choice(v, &ON_DISCONNECT)
            }),
            driver: section.read("driver", self.driver, |v| value::choice(v, &DRIVERS)),
            ..self
        }
    }

    fn read_timeouts(self, section: &mut Section<'_, '_>) -> Self {
        Self {
            login_timeout: section.read("login_timeout", self.login_timeout, |v| {
                value::duration_above_zero(v, "close every client before it has logged in")
            }),
            idle_transaction_timeout: section.read(
                "idle_transaction_timeout",
                self.idle_transaction_timeout,
                value::duration_unless_zero,
            ),
            client_write_timeout: section.read(
                "client_write_timeout",
                self.client_write_timeout,
                |v| value::duration_above_zero(v, "close every client that has to be waited for"),
            ),
            client_read_timeout: section.read(
                "client_read_timeout",
                self.client_read_timeout,
                |v| {
                    value::duration_above_zero(v, "close every client whose command comes in parts")
                },
            ),
            wait_timeout: section.read(
                "wait_timeout",
                self.wait_timeout,
                value::duration_unless_zero,
            ),
            drain_timeout: section.read("drain_timeout", self.drain_timeout, |v| {
                value::duration_above_zero(v, "cut off every running statement")
            }),
            ..self
        }
    }

    fn check_commands(&self, section: &mut Section<'_, '_>) {
        let least = LARGEST_COMMANDS * self.max_allowed_packet;
        let Some(total) = self
            .command_buffer_total
            .filter(|total| total.get() < least)
        else {
            return;
        };
        let keys = ["command_buffer_total", "max_allowed_packet"];
        let Some(at) = section.place_if_sound(&keys) else {
            return;
        };
        let what = format!(
            "{} for all commands is less than {LARGEST_COMMANDS} times max_allowed_packet, {}",
            show_size(total.get()),
            show_size(self.max_allowed_packet),
        );
        let fix = format!("write {} or more, or 0", show_size(least));
        section.blame(keys[0], at, Wrong::new(what, fix));
    }

    fn check_buffers(&self, section: &mut Section<'_, '_>) {
        if self.answer_buffer_total >= self.answer_buffer {
            return;
        }
        let keys = ["answer_buffer_total", "answer_buffer"];
        let Some(at) = section.place_if_sound(&keys) else {
            return;
        };
        let one = show_size(self.answer_buffer);
        let what = format!(
            "{} for all answers is less than answer_buffer, {one}, for one",
            show_size(self.answer_buffer_total),
        );
        section.blame(
            keys[0],
            at,
            Wrong::new(what, format!("write {one} or more")),
        );
    }
}

impl Default for Server {
    fn default() -> Self {
        Self {
            listen: vec![Listen::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, 6033)))],
            listen_backlog: 65_535,
            workers: None,
            max_connections: 1_000_000,
            max_logins: None,
            max_connect_errors: NonZero::new(100),
            connect_errors_exempt: Vec::new(),
            core_dump: false,
            memlock: false,
            default_authentication_plugin: None,
            login_timeout: Duration::from_secs(10),
            idle_transaction_timeout: Some(Duration::from_secs(60)),
            client_write_timeout: Duration::from_secs(60),
            client_read_timeout: Duration::from_secs(60),
            wait_timeout: Some(Duration::from_secs(8 * 3_600)),
            answer_buffer: 64 * KIB,
            answer_buffer_total: 256 * MIB,
            command_buffer_total: None,
            session_buffer_total: None,
            max_allowed_packet: 64 * MIB,
            compression: true,
            drain_timeout: Duration::from_secs(30),
            on_disconnect: OnDisconnect::KillReads,
            driver: Driver::Auto,
        }
    }
}

/// The addresses to listen on, if they are written.
fn read_listen(section: &mut Section<'_, '_>) -> Option<Vec<Listen>> {
    let at = section.take("listen")?.at;
    let written = section.list("listen", LISTEN_FIX)?;
    if written.is_empty() {
        let what = "the list is empty, so no client could come in";
        section.blame("listen", at, Wrong::new(what, LISTEN_FIX));
    }
    let mut seen: Vec<(Listen, usize)> = Vec::new();
    for Written { at, value } in written {
        match listen(value).and_then(|listen| not_again(listen, &seen)) {
            Ok(listen) => seen.push((listen, section.line(at))),
            Err(wrong) => section.blame("listen", at, wrong),
        }
    }
    Some(seen.into_iter().map(|(listen, _)| listen).collect())
}

fn listen(value: &DeValue<'_>) -> Result<Listen, Wrong> {
    Listen::parse(value::text(value, LISTEN_FIX)?)
}

fn not_again(listen: Listen, seen: &[(Listen, usize)]) -> Result<Listen, Wrong> {
    match seen.iter().find(|(earlier, _)| *earlier == listen) {
        Some((_, line)) => {
            let what = format!("\"{listen}\" is already listed at line {line}");
            Err(Wrong::new(what, "remove one of the two"))
        }
        None => Ok(listen),
    }
}
