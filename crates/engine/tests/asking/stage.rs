//! An engine whose backend cannot be reached, its clients, and the one who reads the accounts.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use accounts::{Configured, Credential, Found, Reading, Register, Requires, Standing, Vault, View};
use engine::{AccountName, AccountsOrder, Engine, Mail, Network, Settings, Shared};
use events::{ConnectError, Handle, Handler, Peer, Recorder, Span, Tag, Timestamp};
use wire::{
    AuthPlugin, Capabilities, Command, ErrPacket, ExtendedCapabilities, HandshakeResponse,
    InitialHandshake, OkPacket, put_lenenc_bytes, whole_packet, write_packet,
};

use crate::account_statements::row;

/// Of "secret" and of "other".
pub(crate) const SECRET: &str = "*14E65567ABDB5135D0CFD9A70B3032C179A49EE7";
pub(crate) const OTHER: &str = "*023494FBCDFBF9C93B6B2663B348A1C4A939B247";

/// Who is believed about for whom it connects.
pub(crate) const BALANCER: Ipv4Addr = Ipv4Addr::new(10, 9, 9, 9);

/// The network whose broken handshakes are not counted.
pub(crate) const EXEMPT: Ipv4Addr = Ipv4Addr::new(10, 8, 8, 0);

/// What a client was told.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Told {
    Nothing,
    Greeting,
    Question,
    Ok,
    Err(u16, String),
}

pub(crate) struct Stage {
    pub(crate) engine: Engine,
    pub(crate) wire: Recorder<Mail>,
    pub(crate) shared: Arc<Shared>,
    register: Register,
    orders: Arc<Mutex<Vec<AccountsOrder>>>,
    pub(crate) now: Timestamp,
    clients: u64,
    /// What the client that connected last was greeted with.
    nonce: [u8; 20],
    /// The backend cannot be reached.
    unreachable: bool,
    /// What clients say that they can do, besides what all can.
    pub(crate) skills: Capabilities,
}

impl Stage {
    /// A backend that cannot be reached, so that clients are greeted by the front door alone, and accounts
    /// that have not been read.
    pub(crate) fn new() -> Self {
        Self::with_places(100_000)
    }

    /// The same with so many places for those who have not proved who they are.
    pub(crate) fn with_places(max_logins: usize) -> Self {
        let settings = Settings {
            max_logins,
            ..Settings::default()
        };
        Self::of_worker((&Shared::new(1, 8), 0), settings)
    }

    /// The same of one of several workers, with other settings.
    pub(crate) fn of_worker((shared, worker): (&Arc<Shared>, usize), settings: Settings) -> Self {
        let ours = ("monitor".to_owned(), "x".to_owned().into());
        let register = Register::new(Vec::<Configured>::new(), Some(ours));
        let settings = Settings {
            accounts: register.directory(),
            login_timeout: Span::from_secs(10),
            max_connect_errors: Some(5),
            connect_errors_exempt: vec![Network::Ip(EXEMPT.into(), 24)],
            proxy_networks: vec![Network::Ip(BALANCER.into(), 32)],
            ..settings
        };
        let shared = shared.clone();
        let orders: Arc<Mutex<Vec<AccountsOrder>>> = Arc::default();
        let ordered = orders.clone();
        shared.read_accounts_with(move |order| ordered.lock().unwrap().push(order));
        let engine = Engine::new(Arc::new(settings), shared.clone(), worker, [7; 32]);
        let mut stage = Self {
            engine,
            wire: Recorder::default(),
            shared,
            register,
            orders,
            now: Timestamp::ZERO,
            clients: 0,
            nonce: [0; 20],
            unreachable: true,
            skills: Capabilities::empty(),
        };
        stage.turn();
        stage
    }

    /// From the next reading on, nothing that clients show can be kept.
    pub(crate) fn without_locked_memory(self) -> Self {
        Self {
            register: self.register.with_vault(Arc::new(Vault::of(0))),
            ..self
        }
    }

    pub(crate) fn turn(&mut self) {
        self.engine.turn_ended(&mut self.wire, self.now);
        if !self.unreachable {
            return self.engine.check_invariants().unwrap();
        }
        for tag in std::mem::take(&mut self.wire.asked) {
            let error = ConnectError::Os(111);
            let wire = &mut self.wire;
            self.engine.connect_failed(wire, tag, error, self.now);
        }
        self.engine.check_invariants().unwrap();
    }

    /// A client that connects and says nothing. Its greeting stays.
    pub(crate) fn connect(&mut self) -> (Handle, Tag) {
        self.accept_from(Ipv4Addr::new(10, 0, 0, 1))
    }

    fn accept_from(&mut self, ip: Ipv4Addr) -> (Handle, Tag) {
        self.clients += 1;
        let handle = Handle(self.clients);
        let peer = Peer::Tcp((ip, 4_000).into());
        let wire = &mut self.wire;
        let tag = self.engine.accepted(wire, handle, peer, [9; 32], self.now);
        (handle, tag)
    }

    /// The handshake response of a client, sent.
    pub(crate) fn log_in(&mut self, user: &str, password: &str) -> (Handle, Tag) {
        self.log_in_from(Ipv4Addr::new(10, 0, 0, 1), user, password)
    }

    /// The same from somewhere else.
    pub(crate) fn log_in_from(
        &mut self,
        address: Ipv4Addr,
        user: &str,
        password: &str,
    ) -> (Handle, Tag) {
        let (handle, tag) = self.connect_from(address);
        if !self.wire.has_closed(handle) {
            self.respond(tag, (user, password));
        }
        (handle, tag)
    }

    /// A client that connects and is greeted. What it is told if it is turned away stays.
    pub(crate) fn connect_from(&mut self, ip: Ipv4Addr) -> (Handle, Tag) {
        let (handle, tag) = self.accept_from(ip);
        if !self.wire.has_closed(handle) {
            let greeting = self.wire.take(handle);
            let greeting = whole_packet(&greeting).unwrap();
            let handshake = InitialHandshake::parse(greeting.payload.bytes()).unwrap();
            self.nonce = handshake.nonce;
        }
        (handle, tag)
    }

    /// The handshake response of the client that connected last.
    pub(crate) fn respond(&mut self, tag: Tag, login: (&str, &str)) {
        self.respond_by(tag, AuthPlugin::NativePassword, login);
    }

    /// The same with another plugin.
    pub(crate) fn respond_by(
        &mut self,
        tag: Tag,
        plugin: AuthPlugin,
        (user, password): (&str, &str),
    ) {
        let usual =
            Capabilities::PROTOCOL_41 | Capabilities::SECURE_CONNECTION | Capabilities::PLUGIN_AUTH;
        let response = HandshakeResponse {
            capabilities: usual | self.skills,
            extended: ExtendedCapabilities::empty(),
            max_packet_size: 1 << 24,
            collation: 45,
            user: user.as_bytes(),
            auth_response: &plugin.response(password.as_bytes(), &self.nonce),
            schema: None,
            auth_plugin: plugin.name(),
            attributes: b"",
        };
        let mut bytes = Vec::new();
        response.encode(&mut bytes, 1);
        self.engine.received(&mut self.wire, tag, &bytes, self.now);
        self.turn();
    }

    pub(crate) fn told(&mut self, client: Handle) -> Told {
        let bytes = self.wire.take(client);
        let Ok(packet) = whole_packet(&bytes) else {
            return Told::Nothing;
        };
        let payload = packet.payload.bytes();
        match payload[0] {
            0 => Told::Ok,
            10 => Told::Greeting,
            0xfe => Told::Question,
            _ => {
                let error = ErrPacket::parse(payload).unwrap();
                Told::Err(
                    error.code,
                    String::from_utf8(error.message.to_vec()).unwrap(),
                )
            }
        }
    }

    /// The database says that there are these; the workers were not told by mail.
    pub(crate) fn publish(&mut self, accounts: &[(&str, &str)]) {
        let native = accounts
            .iter()
            .map(|(user, hash)| (*user, Credential::native(hash)));
        self.publish_all(native);
    }

    /// The same with whatever proves them.
    pub(crate) fn publish_all<'a>(
        &mut self,
        accounts: impl IntoIterator<Item = (&'a str, Credential)>,
    ) {
        let found = accounts.into_iter().map(|(user, credential)| Found {
            name: AccountName::new(user, "%"),
            credential,
            standing: Standing::Open,
            requires: Requires::Nothing,
            privileges: 0,
        });
        let reading = Reading {
            accounts: found.collect(),
            view: View::default(),
        };
        if let Some(directory) = self.register.update(reading) {
            self.shared.publish_accounts(directory);
        }
    }

    /// From now on connections to the backend are made, and stay in `wire.asked`. The database has one account,
    /// and only it can tell who is that.
    pub(crate) fn ask_the_database(&mut self, user: &str) {
        self.unreachable = false;
        let found = Found {
            name: AccountName::new(user, "%"),
            credential: Credential::Other("client_ed25519".into()),
            standing: Standing::Open,
            requires: Requires::Nothing,
            privileges: 0,
        };
        let reading = Reading {
            accounts: vec![found],
            view: View::default(),
        };
        let directory = self.register.update(reading).unwrap();
        self.shared.publish_accounts(directory);
    }

    /// From now on connections to the backend are made. The database has one account, whose password has expired or not.
    pub(crate) fn publish_one(&mut self, (user, hash): (&str, &str), standing: Standing) {
        self.unreachable = false;
        let found = Found {
            name: AccountName::new(user, "%"),
            credential: Credential::native(hash),
            standing,
            requires: Requires::Nothing,
            privileges: 0,
        };
        let view = View { ..View::default() };
        let accounts = vec![found];
        let directory = self.register.update(Reading { accounts, view }).unwrap();
        self.shared.publish_accounts(directory);
    }

    /// Bytes come for a client or from a backend.
    pub(crate) fn say(&mut self, tag: Tag, bytes: &[u8]) {
        let now = self.now;
        self.engine.received(&mut self.wire, tag, bytes, now);
        self.turn();
    }

    /// What has been sent to the backend.
    pub(crate) fn sent(&mut self) -> Vec<u8> {
        self.wire.take(Recorder::<Mail>::ASKED)
    }

    /// The database has no accounts, and names for addresses or not.
    pub(crate) fn publish_as_seen(&mut self, resolves_names: bool) {
        let view = View {
            resolves_names,
            ..View::default()
        };
        let accounts = Vec::new();
        if let Some(directory) = self.register.update(Reading { accounts, view }) {
            self.shared.publish_accounts(directory);
        }
    }

    pub(crate) fn take_orders(&self) -> Vec<AccountsOrder> {
        std::mem::take(&mut self.orders.lock().unwrap())
    }

    /// The database was asked for the last of some orders.
    pub(crate) fn answer(&mut self, orders: &[AccountsOrder], read: bool) {
        let ticket = orders.last().unwrap().ticket;
        self.deliver(Mail::AccountsRead { ticket, read });
    }

    pub(crate) fn deliver(&mut self, mail: Mail) {
        self.engine.mail(&mut self.wire, mail, self.now);
        self.turn();
    }
}

/// A command as a client sends it.
pub(crate) fn command(kind: u8, text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_packet(&mut bytes, 0, &[&[kind], text.as_bytes()].concat());
    bytes
}

/// COM_QUERY.
pub(crate) fn query(text: &str) -> Vec<u8> {
    command(Command::Query as u8, text)
}

/// An OK packet of a backend that tells of so many warnings.
pub(crate) fn ok(sequence_id: u8, warnings: u16) -> Vec<u8> {
    let mut bytes = Vec::new();
    let ok = OkPacket {
        warnings,
        ..OkPacket::default()
    };
    ok.encode(&mut bytes, sequence_id, 0x00);
    bytes
}

/// The collations of a server, of which there is one.
pub(crate) fn collations() -> Vec<u8> {
    row(&["45", "utf8mb4_general_ci", "utf8mb4", "1"])
}

/// The answer of a backend that is set up: it tells of a variable, so that it tracks them.
pub(crate) fn set_up() -> Vec<u8> {
    telling(&[("autocommit", "ON")])
}

/// The answer of a backend that is probed: it tells of all that it was to set.
pub(crate) fn sound() -> Vec<u8> {
    telling(&[
        ("foreign_key_checks", "ON"),
        ("unique_checks", "ON"),
        ("sql_notes", "ON"),
        ("innodb_lock_wait_timeout", "50"),
        ("myisam_sort_buffer_size", "1"),
    ])
}

/// An OK packet that tells of variables, and that something has changed.
pub(crate) fn telling(variables: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in variables {
        let mut told = Vec::new();
        put_lenenc_bytes(&mut told, name.as_bytes());
        put_lenenc_bytes(&mut told, value.as_bytes());
        block.push(0);
        put_lenenc_bytes(&mut block, &told);
    }
    block.extend_from_slice(b"\x02\x02\x011");
    let mut bytes = Vec::new();
    let ok = OkPacket {
        status: wire::ServerStatus::AUTOCOMMIT | wire::ServerStatus::SESSION_STATE_CHANGED,
        state_changes: &block,
        ..OkPacket::default()
    };
    ok.encode(&mut bytes, 1, 0x00);
    bytes
}
