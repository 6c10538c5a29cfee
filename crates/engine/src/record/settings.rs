//! The settings of a worker.

use std::sync::Arc;

use accounts::Directory;
use carry::rewrite::PublicAddress;
use events::Span;
use pool::Preference;
use wire::AuthPlugin;

use crate::record::address::Network;

/// Checked settings of the front door. `None` means "never" or "no limit".
#[derive(Clone, Debug)]
pub struct Settings {
    /// Who may log in, and as whom the backend is logged in to, until others are published.
    pub accounts: Arc<Directory>,
    /// Client connections over all workers; over it, ERR 1040.
    pub max_connections: usize,
    /// Client connections over all workers that have not proved who they are; over it, ERR 1040.
    pub max_logins: usize,
    /// So many logins are decided by backends at a time, over all workers, each having one for itself.
    pub max_relays: usize,
    /// So many of the backend connections that such logins have brought are kept for an account, over all
    /// workers; at least one per worker and kind of client.
    pub max_relayed_per_account: usize,
    /// After so many broken handshakes in a row an address gets ERR 1129; `None` = never.
    pub max_connect_errors: Option<u32>,
    /// From where broken handshakes are not counted.
    pub connect_errors_exempt: Vec<Network>,
    /// Who is believed about for whom it connects.
    pub proxy_networks: Vec<Network>,
    /// The plugin that clients are greeted with; `None` = what a server like the backend would do.
    pub default_auth_plugin: Option<AuthPlugin>,
    /// How long the connection phase may take.
    pub login_timeout: Span,
    /// How long a session that holds a backend may be silent.
    pub idle_transaction_timeout: Option<Span>,
    /// How long a client may be silent otherwise.
    pub wait_timeout: Option<Span>,
    /// How long a client may take no byte of its answer while that holds a backend.
    pub client_write_timeout: Span,
    /// Bytes of an answer that are taken off the backend ahead of the client.
    pub answer_buffer: usize,
    /// `answer_buffer` over all clients of this worker.
    pub answer_buffer_total: usize,
    /// How long a client may send nothing in the middle of a command.
    pub client_read_timeout: Span,
    /// Bytes for commands that are not complete or wait, over all clients of the process; at least four times
    /// `max_allowed_packet`.
    pub command_buffer_total: usize,
    /// Bytes that the sessions of this worker may keep: prepared statements, texts, conditions, variables.
    pub session_memory: usize,
    /// The longest command, in bytes.
    pub max_allowed_packet: usize,
    /// Clients are offered the compressed protocols that the server offers.
    pub compression: bool,
    /// Whether clients may, or must, use TLS.
    pub tls: TlsMode,
    /// Backends are connected to with TLS, or not at all.
    pub backend_tls: bool,
    /// How long connecting to the backend, the connection phase included, may take.
    pub connect_timeout: Span,
    /// The backend is reached over a unix socket: a password may pass as it is.
    pub backend_on_unix_socket: bool,
    /// How long a statement may wait for a backend.
    pub queue_timeout: Span,
    /// How many sessions may be pinned, over all workers: the rest of the backend connections is for
    /// everybody else.
    pub max_pinned: usize,
    /// How many sessions of each account may be pinned.
    pub max_pinned_per_account: usize,
    /// So many backends run statements alone at once, at least, if so many statements wait.
    pub min_connections: usize,
    /// So many to begin with; `None`: as many as there may be.
    pub busy_at_first: Option<usize>,
    /// How long a backend connection may be idle before it is closed.
    pub backend_idle_timeout: Option<Span>,
    /// How old a backend connection may become.
    pub backend_max_age: Option<Span>,
    /// How many statements are kept prepared on a backend connection; never zero.
    pub max_prepared_statements: usize,
    /// What becomes of a statement whose client hangs up.
    pub on_disconnect: OnDisconnect,
    /// A read that takes longer loses those behind it in its lane; `None`: there are no lanes. Never
    /// zero.
    pub lane_stall: Option<Span>,
    /// Which of the idle backends a session gets.
    pub preference: Preference,
    /// What clients are told while no backend has been reached.
    pub server_version: String,
    /// What clients are told of where the front door is.
    pub address: PublicAddress,
}

/// Whether clients may, or must, use TLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TlsMode {
    /// They are not offered it.
    #[default]
    Off,
    /// They may.
    Offer,
    /// They must, unless they come over a unix socket.
    Require,
}

/// What becomes of a statement whose client hangs up while it runs. Statements that wait never run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnDisconnect {
    /// Reads are ended; what may write finishes.
    #[default]
    KillReads,
    /// Everything is ended.
    KillAll,
    /// Everything finishes, as on the server.
    Finish,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            accounts: Arc::default(),
            max_connections: 1_000_000,
            max_logins: 100_000,
            max_relays: 4,
            max_relayed_per_account: 8,
            max_connect_errors: None,
            connect_errors_exempt: Vec::new(),
            proxy_networks: Vec::new(),
            default_auth_plugin: None,
            login_timeout: Span::from_secs(10),
            idle_transaction_timeout: Some(Span::from_secs(60)),
            wait_timeout: Some(Span::from_secs(8 * 3_600)),
            client_write_timeout: Span::from_secs(60),
            answer_buffer: 64 << 10,
            answer_buffer_total: 256 << 20,
            client_read_timeout: Span::from_secs(60),
            command_buffer_total: 512 << 20,
            session_memory: 256 << 20,
            max_allowed_packet: 64 << 20,
            compression: false,
            tls: TlsMode::Off,
            backend_tls: false,
            connect_timeout: Span::from_secs(1),
            backend_on_unix_socket: false,
            queue_timeout: Span::from_secs(30),
            max_pinned: usize::MAX,
            max_pinned_per_account: usize::MAX,
            min_connections: 8,
            busy_at_first: None,
            backend_idle_timeout: Some(Span::from_secs(600)),
            backend_max_age: Some(Span::from_secs(3_600)),
            max_prepared_statements: 128,
            on_disconnect: OnDisconnect::KillReads,
            lane_stall: Some(Span::from_ms(10)),
            preference: Preference::Fitting,
            server_version: "8.0.11-Myriad".into(),
            address: PublicAddress::default(),
        }
    }
}
