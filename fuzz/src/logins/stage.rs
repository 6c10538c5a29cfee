//! An engine whose backend cannot be reached, with TLS in front of it, and its one client.

use std::io::{Read, Write};
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use accounts::Proof;
use engine::{AccountsOrder, AuthPlugin, Engine, Mail, Settings, Shared, TlsMode};
use events::{ConnectError, Handle, Handler, HangUp, Peer, Recorder, Span, Tag, Timestamp};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use tls::{Identity, MadeHere, Parties, Secured, Server};
use wire::{
    Capabilities, ExtendedCapabilities, HandshakeResponse, InitialHandshake, SslRequest,
    whole_packet, write_packet,
};

use super::accounts::{Accounts, USERS};
use super::checker::Refuses;

/// The only client.
const CLIENT: Handle = Handle(1);

/// More than that nobody is told who has not logged in.
const TOLD_MAX: usize = 64 << 10;

pub(super) struct Stage {
    door: Secured<Engine>,
    shared: Arc<Shared>,
    wire: Recorder<Mail>,
    tag: Tag,
    now: Timestamp,
    accounts: Accounts,
    checks: Refuses,
    orders: Arc<Mutex<Vec<AccountsOrder>>>,
    nonce: [u8; 20],
    sequence_id: u8,
    tls: Option<ClientConnection>,
    tls_offered: bool,
    /// How often something was said that proves an account.
    proofs: u64,
    told: usize,
}

impl Stage {
    pub(super) fn new(choice: u8, sum: [u8; 32]) -> Self {
        let accounts = Accounts::new(choice & 1 == 0, sum);
        let tls_offered = choice >> 1 & 3 != 0;
        let peer = match choice >> 3 & 1 {
            0 => Peer::Tcp((Ipv4Addr::new(10, 0, 0, 1), 4_000).into()),
            _ => Peer::Unix,
        };
        let settings = Settings {
            accounts: accounts.directory(),
            tls: [
                TlsMode::Off,
                TlsMode::Offer,
                TlsMode::Offer,
                TlsMode::Require,
            ][usize::from(choice >> 1 & 3)],
            default_auth_plugin: [None, Some(AuthPlugin::CachingSha2Password)]
                [usize::from(choice >> 4 & 1)],
            max_logins: 1,
            ..Settings::default()
        };
        let (shared, checks) = (Shared::new(1, 4), Refuses::default());
        let orders: Arc<Mutex<Vec<AccountsOrder>>> = Arc::default();
        let ordered = orders.clone();
        shared.read_accounts_with(move |order| {
            ordered
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(order);
        });
        shared.check_passwords_with(checks.clone());
        let engine = Engine::new(Arc::new(settings), shared.clone(), 0, sum);
        let parties = Parties {
            server: tls_offered.then(|| ends().0.clone()),
            client: None,
        };
        let mut stage = Self {
            door: Secured::new(engine, parties),
            shared,
            wire: Recorder::default(),
            tag: Tag(0),
            now: Timestamp::ZERO,
            accounts,
            checks,
            orders,
            nonce: [0; 20],
            sequence_id: 1,
            tls: None,
            tls_offered,
            proofs: 0,
            told: 0,
        };
        stage.turn();
        stage.tag = stage
            .door
            .accepted(&mut stage.wire, CLIENT, peer, sum, stage.now);
        stage.greeted();
        stage.turn();
        stage
    }

    fn greeted(&mut self) {
        let greeting = self.wire.take(CLIENT);
        let packet = whole_packet(&greeting).expect("an initial handshake");
        let payload = packet.payload.bytes();
        let handshake = InitialHandshake::parse(payload).expect("an initial handshake");
        self.nonce = handshake.nonce;
    }

    /// What is due after each event.
    fn turn(&mut self) {
        self.door.turn_ended(&mut self.wire, self.now);
        for tag in std::mem::take(&mut self.wire.asked) {
            let refused = ConnectError::Os(111);
            self.door
                .connect_failed(&mut self.wire, tag, refused, self.now);
        }
        while !self.wire.posted.is_empty() {
            for mail in std::mem::take(&mut self.wire.posted) {
                self.door.mail(&mut self.wire, mail, self.now);
            }
        }
        self.hear();
    }

    /// The client reads what it was told.
    fn hear(&mut self) {
        let told = self.wire.take(CLIENT);
        self.told += told.len();
        let plain = match &mut self.tls {
            None => told,
            Some(tls) => decrypted(tls, &told),
        };
        let mut rest = &plain[..];
        while let Ok(packet) = whole_packet(rest) {
            self.sequence_id = packet.sequence_id.wrapping_add(1);
            rest = &rest[packet.consumed..];
        }
    }

    /// The client says something, over TLS if it has begun that.
    pub(super) fn says(&mut self, bytes: &[u8]) {
        let sealed = match &mut self.tls {
            None => bytes.to_vec(),
            Some(tls) => {
                // A client that was told what is no TLS says nothing more.
                let fits = tls.writer().write_all(bytes);
                fits.map(|()| outgoing(tls)).unwrap_or_default()
            }
        };
        self.sends(&sealed);
    }

    fn sends(&mut self, bytes: &[u8]) {
        if !self.wire.has_closed(CLIENT) {
            self.door
                .received(&mut self.wire, self.tag, bytes, self.now);
            self.turn();
        }
    }

    /// The same in a packet, with the sequence id that is due.
    pub(super) fn says_in_packet(&mut self, payload: &[u8]) {
        let mut bytes = Vec::new();
        write_packet(&mut bytes, self.sequence_id, payload);
        self.says(&bytes);
    }

    /// The client says who it is, and proves it.
    pub(super) fn proves(&mut self, choice: u8) {
        let (user, plugin, response) = self.accounts.proof(choice, &self.nonce);
        self.proofs += 1;
        self.responds(user, plugin.name(), &response);
    }

    /// The client says who it is, and something that proves nothing.
    pub(super) fn claims(&mut self, user: u8, choice: u8) {
        let user = USERS[usize::from(user) % USERS.len()];
        let plugins: [&[u8]; 4] = [
            b"mysql_native_password",
            b"caching_sha2_password",
            b"client_ed25519",
            b"",
        ];
        let response = [choice; 32];
        let len = [0, 1, 20, 32][usize::from(choice >> 2 & 3)];
        self.responds(user, plugins[usize::from(choice & 3)], &response[..len]);
    }

    fn responds(&mut self, user: &str, plugin: &[u8], auth_response: &[u8]) {
        let response = HandshakeResponse {
            capabilities: USUAL,
            extended: ExtendedCapabilities::empty(),
            max_packet_size: 1 << 24,
            collation: 45,
            user: user.as_bytes(),
            auth_response,
            schema: None,
            auth_plugin: plugin,
            attributes: b"",
        };
        let mut bytes = Vec::new();
        response.encode(&mut bytes, self.sequence_id);
        self.says(&bytes);
    }

    /// COM_CHANGE_USER, to somebody who is proved.
    pub(super) fn changes_user(&mut self, choice: u8) {
        let (user, plugin, response) = self.accounts.proof(choice, &self.nonce);
        self.proofs += 1;
        let mut payload = [b"\x11", user.as_bytes(), b"\0"].concat();
        payload.push(response.len() as u8);
        payload.extend_from_slice(&response);
        payload.extend_from_slice(b"\0\x2d\0");
        payload.extend_from_slice(plugin.name());
        payload.push(0);
        self.sequence_id = 0;
        self.says_in_packet(&payload);
    }

    /// The client asks for TLS, and both ends agree, unless something was said before that is in the way.
    pub(super) fn begins_tls(&mut self) {
        if self.tls.is_some() || !self.tls_offered {
            return;
        }
        let request = SslRequest {
            capabilities: USUAL | Capabilities::SSL,
            extended: ExtendedCapabilities::empty(),
            max_packet_size: 1 << 24,
            collation: 45,
        };
        let mut bytes = Vec::new();
        request.encode(&mut bytes, self.sequence_id);
        self.sends(&bytes);
        self.sequence_id = self.sequence_id.wrapping_add(1);
        let name = "localhost".try_into().expect("a name");
        let tls = ClientConnection::new(ends().1.clone(), name).expect("a session");
        self.tls = Some(tls);
        for _ in 0..4 {
            let sealed = self.tls.as_mut().map(outgoing).unwrap_or_default();
            if sealed.is_empty() {
                break;
            }
            self.sends(&sealed);
        }
    }

    /// The database was asked.
    pub(super) fn database_answers(&mut self, choice: u8) {
        let orders =
            std::mem::take(&mut *self.orders.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some(order) = orders.last() {
            let (ticket, read) = (order.ticket, choice & 1 == 0);
            self.wire.posted.push(Mail::AccountsRead { ticket, read });
        }
        self.turn();
    }

    /// There are other accounts.
    pub(super) fn accounts_change(&mut self, choice: u8) {
        if let Some(directory) = self.accounts.read(choice) {
            self.shared.publish_accounts(directory);
            self.wire.posted.push(Mail::AccountsChanged);
        }
        self.turn();
    }

    pub(super) fn time_passes(&mut self, tenths: u8) {
        self.now = self.now + Span::from_ms(100 * u64::from(tenths));
        if self.door.next_timer().is_some_and(|at| self.now >= at) {
            self.door.timer(&mut self.wire, self.now);
        }
        self.turn();
    }

    /// The passwords that were sent have been looked at.
    pub(super) fn password_is_wrong(&mut self) {
        for check in self.checks.take() {
            let mail = Mail::PasswordChecked(check.asker.1, Proof::Wrong);
            self.wire.posted.push(mail);
        }
        self.turn();
    }

    /// The client is gone, and what must hold of every run is looked at.
    pub(super) fn end(mut self) {
        if !self.wire.has_closed(CLIENT) {
            self.door
                .hung_up(&mut self.wire, self.tag, HangUp::Closed, self.now);
            self.turn();
        }
        let (tell, told) = std::sync::mpsc::channel();
        let report = Mail::Report(Box::new(move |report| {
            tell.send(report.counters.logins).expect("somebody listens");
        }));
        self.door.mail(&mut self.wire, report, self.now);
        let logins = told.recv().expect("a report");
        assert!(
            logins <= self.proofs,
            "{logins} logins, {} proofs",
            self.proofs
        );
        assert!(
            self.proofs > 0 || self.told <= TOLD_MAX,
            "{} bytes were told",
            self.told
        );
        let engine = self.door.into_inner();
        engine.check_invariants().expect("the lists fit together");
    }
}

const USUAL: Capabilities = Capabilities::PROTOCOL_41
    .union(Capabilities::SECURE_CONNECTION)
    .union(Capabilities::PLUGIN_AUTH)
    .union(Capabilities::PLUGIN_AUTH_LENENC_DATA);

/// Our end of TLS, and a client's that trusts it.
fn ends() -> &'static (Arc<Server>, Arc<ClientConfig>) {
    static ENDS: OnceLock<(Arc<Server>, Arc<ClientConfig>)> = OnceLock::new();
    ENDS.get_or_init(|| {
        let made = MadeHere::new(vec!["localhost".to_owned()]).expect("a certificate");
        let pem = made.certificate.as_bytes();
        let identity = Identity::from_pem(pem, made.key.as_bytes()).expect("an identity");
        let server = Server::new(&identity, None).expect("a server");
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(pem) {
            roots
                .add(certificate.expect("a certificate"))
                .expect("an authority");
        }
        let config = ClientConfig::builder().with_root_certificates(roots);
        (Arc::new(server), Arc::new(config.with_no_client_auth()))
    })
}

fn outgoing(tls: &mut ClientConnection) -> Vec<u8> {
    let mut sealed = Vec::new();
    while tls.wants_write() {
        tls.write_tls(&mut sealed).expect("memory");
    }
    sealed
}

/// What the client's end makes of what came. If it makes nothing of it, nothing more is heard.
fn decrypted(tls: &mut ClientConnection, mut bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    while !bytes.is_empty() {
        let fits = tls.read_tls(&mut bytes).is_ok() && tls.process_new_packets().is_ok();
        let _all_that_is_there = tls.reader().read_to_end(&mut plain);
        if !fits {
            break;
        }
    }
    plain
}
