//! Logins that what is known would refuse: the database is asked once, nobody is held up, and who waits is
//! bounded. The one who reads the accounts is written down here.

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use accounts::{Credential, Found, Reading, Register, Requires, Standing, View};
use engine::{AccountName, AccountsOrder, Engine, Mail, Settings, Shared};
use events::{Close, ConnectError, Handle, Handler, Io, Peer, Span, Tag, Timestamp};
use wire::{
    Capabilities, ErrPacket, ExtendedCapabilities, HandshakeResponse, InitialHandshake,
    NATIVE_PASSWORD, native_password, whole_packet,
};

/// Of "secret" and of "other".
const SECRET: &str = "*14E65567ABDB5135D0CFD9A70B3032C179A49EE7";
const OTHER: &str = "*99BA26C8EB3E1BA8A2F3C9FCD7E3A4D3C53F8C0F";

#[derive(Default)]
struct Wire {
    out: HashMap<u64, Vec<u8>>,
    closed: Vec<u64>,
    asked: Vec<Tag>,
    posted: Vec<Mail>,
}

impl Io<Mail> for Wire {
    fn outbox(&mut self, handle: Handle) -> &mut Vec<u8> {
        self.out.entry(handle.0).or_default()
    }
    fn unsent(&self, _: Handle) -> usize {
        0
    }
    fn unsent_total(&self) -> usize {
        0
    }
    fn notify_drained(&mut self, _: Handle) {}
    fn pause_receive(&mut self, _: Handle) {}
    fn resume_receive(&mut self, _: Handle) {}
    fn connect(&mut self, tag: Tag) -> Handle {
        self.asked.push(tag);
        Handle(u64::MAX)
    }
    fn close(&mut self, handle: Handle, _: Close) {
        self.closed.push(handle.0);
    }
    fn post(&mut self, _: usize, mail: Mail) -> Result<(), Mail> {
        self.posted.push(mail);
        Ok(())
    }
    fn stop_accepting(&mut self) {}
}

/// What a client was told.
#[derive(Debug, PartialEq, Eq)]
enum Told {
    Nothing,
    Ok,
    Err(u16, String),
}

struct Stage {
    engine: Engine,
    wire: Wire,
    shared: Arc<Shared>,
    register: Register,
    orders: Arc<Mutex<Vec<AccountsOrder>>>,
    now: Timestamp,
    clients: u64,
}

impl Stage {
    /// A backend that cannot be reached, so that clients are greeted by the front door alone, and accounts
    /// that have not been read.
    fn new() -> Self {
        let ours = ("monitor".to_owned(), "x".to_owned().into());
        let register = Register::new([], Some(ours));
        let settings = Settings {
            accounts: register.directory(),
            login_timeout: Span::from_secs(10),
            ..Settings::default()
        };
        let shared = Shared::new(1, 8);
        let orders: Arc<Mutex<Vec<AccountsOrder>>> = Arc::default();
        let ordered = orders.clone();
        shared.read_accounts_with(move |order| ordered.lock().unwrap().push(order));
        let engine = Engine::new(Arc::new(settings), shared.clone(), 0, [7; 32]);
        let mut stage = Self {
            engine,
            wire: Wire::default(),
            shared,
            register,
            orders,
            now: Timestamp::ZERO,
            clients: 0,
        };
        stage.turn();
        stage
    }

    fn turn(&mut self) {
        self.engine.turn_ended(&mut self.wire, self.now);
        for tag in std::mem::take(&mut self.wire.asked) {
            let error = ConnectError::Os(111);
            let wire = &mut self.wire;
            self.engine.connect_failed(wire, tag, error, self.now);
        }
        self.engine.check_invariants().unwrap();
    }

    /// The handshake response of a client, sent.
    fn log_in(&mut self, user: &str, password: &str) -> (u64, Tag) {
        self.clients += 1;
        let (handle, peer) = (
            self.clients,
            Peer::Tcp((Ipv4Addr::new(10, 0, 0, 1), 4_000).into()),
        );
        let wire = &mut self.wire;
        let tag = self
            .engine
            .accepted(wire, Handle(handle), peer, [9; 32], self.now);
        let greeting = std::mem::take(self.wire.outbox(Handle(handle)));
        let greeting = whole_packet(&greeting).unwrap();
        let payload = greeting.payload.bytes().to_vec();
        let handshake = InitialHandshake::parse(&payload).unwrap();
        let usual =
            Capabilities::PROTOCOL_41 | Capabilities::SECURE_CONNECTION | Capabilities::PLUGIN_AUTH;
        let response = HandshakeResponse {
            capabilities: usual,
            extended: ExtendedCapabilities::empty(),
            max_packet_size: 1 << 24,
            collation: 45,
            user: user.as_bytes(),
            auth_response: &native_password(password.as_bytes(), &handshake.nonce),
            schema: None,
            auth_plugin: NATIVE_PASSWORD,
            attributes: b"",
        };
        let mut bytes = Vec::new();
        response.encode(&mut bytes, 1);
        self.engine.received(&mut self.wire, tag, &bytes, self.now);
        self.turn();
        (handle, tag)
    }

    fn told(&mut self, client: u64) -> Told {
        let bytes = std::mem::take(self.wire.outbox(Handle(client)));
        let Ok(packet) = whole_packet(&bytes) else {
            return Told::Nothing;
        };
        let payload = packet.payload.bytes();
        match payload[0] {
            0 => Told::Ok,
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
    fn publish(&mut self, accounts: &[(&str, &str)]) {
        let found = accounts.iter().map(|(user, hash)| Found {
            name: AccountName::new(*user, "%"),
            credential: Credential::native(hash),
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

    fn take_orders(&self) -> Vec<AccountsOrder> {
        std::mem::take(&mut self.orders.lock().unwrap())
    }

    /// The database was asked for the last of some orders.
    fn answer(&mut self, orders: &[AccountsOrder], read: bool) {
        let ticket = orders.last().unwrap().ticket;
        self.deliver(Mail::AccountsRead { ticket, read });
    }

    fn deliver(&mut self, mail: Mail) {
        self.engine.mail(&mut self.wire, mail, self.now);
        self.turn();
    }
}

#[test]
fn who_is_not_known_waits_until_the_database_was_asked() {
    let mut stage = Stage::new();
    let (client, _) = stage.log_in("app", "secret");
    let orders = stage.take_orders();
    assert_eq!((orders.len(), stage.told(client)), (1, Told::Nothing));
    stage.publish(&[("app", SECRET)]);
    stage.answer(&orders, true);
    assert_eq!(stage.told(client), Told::Ok);
    // Whoever is known need not wait.
    let (client, _) = stage.log_in("app", "secret");
    assert_eq!(
        (stage.told(client), stage.take_orders().len()),
        (Told::Ok, 0)
    );
}

#[test]
fn whoever_is_refused_is_asked_about_once_and_told_the_same() {
    let mut stage = Stage::new();
    stage.publish(&[("app", SECRET)]);
    let mut tell = |user| {
        let (client, _) = stage.log_in(user, "wrong");
        let orders = stage.take_orders();
        assert_eq!((orders.len(), stage.told(client)), (1, Told::Nothing));
        stage.answer(&orders, true);
        assert!(stage.wire.closed.contains(&client));
        assert_eq!(stage.take_orders().len(), 0);
        stage.told(client)
    };
    let (known, unknown) = (tell("app"), tell("eve"));
    let Told::Err(1045, text) = known else {
        panic!("{known:?}");
    };
    assert_eq!(unknown, Told::Err(1045, text.replace("app", "eve")));
}

#[test]
fn a_password_that_changed_is_the_right_one() {
    let mut stage = Stage::new();
    stage.publish(&[("app", OTHER)]);
    let (client, _) = stage.log_in("app", "secret");
    let orders = stage.take_orders();
    stage.publish(&[("app", SECRET)]);
    stage.answer(&orders, true);
    assert_eq!(stage.told(client), Told::Ok);
    // What is published counts before any mail about it comes.
    stage.publish(&[("app", OTHER)]);
    let (client, _) = stage.log_in("app", "secret");
    assert_eq!(
        (stage.told(client), stage.take_orders().len()),
        (Told::Nothing, 1)
    );
}

#[test]
fn an_answer_is_for_those_who_asked_before() {
    let mut stage = Stage::new();
    let (first, _) = stage.log_in("app", "secret");
    let orders = stage.take_orders();
    let (second, _) = stage.log_in("app", "secret");
    stage.answer(&orders, true);
    assert!(matches!(stage.told(first), Told::Err(1045, _)));
    assert_eq!(stage.told(second), Told::Nothing);
    let orders = stage.take_orders();
    stage.publish(&[("app", SECRET)]);
    stage.answer(&orders, true);
    assert_eq!(stage.told(second), Told::Ok);
}

#[test]
fn many_who_wait_are_dealt_with_in_parts() {
    const MANY: usize = 1_000;
    let mut stage = Stage::new();
    let clients: Vec<u64> = (0..MANY).map(|_| stage.log_in("app", "secret").0).collect();
    let orders = stage.take_orders();
    assert_eq!(orders.len(), MANY);
    stage.publish(&[("app", SECRET)]);
    stage.answer(&orders, true);
    let mut parts = 1;
    while let Some(rest) = stage.wire.posted.pop() {
        stage.deliver(rest);
        parts += 1;
    }
    assert!((3..10).contains(&parts), "{parts}");
    for client in clients {
        assert_eq!(stage.told(client), Told::Ok);
    }
}

#[test]
fn who_hangs_up_or_speaks_while_it_waits_is_forgotten() {
    let mut stage = Stage::new();
    let (_, gone) = stage.log_in("app", "secret");
    let (loud, tag) = stage.log_in("app", "secret");
    let orders = stage.take_orders();
    let how = events::HangUp::Closed;
    stage.engine.hung_up(&mut stage.wire, gone, how, stage.now);
    stage
        .engine
        .received(&mut stage.wire, tag, b"\x01\0\0\x03x", stage.now);
    assert!(matches!(stage.told(loud), Told::Err(1043, _)));
    stage.publish(&[("app", SECRET)]);
    stage.answer(&orders, true);
    assert_eq!(stage.told(loud), Told::Nothing);
}

#[test]
fn nobody_waits_for_longer_than_a_login_may_take() {
    let mut stage = Stage::new();
    let (client, _) = stage.log_in("app", "secret");
    stage.now = Timestamp::ZERO + Span::from_secs(10);
    stage.engine.timer(&mut stage.wire, stage.now);
    assert!(stage.wire.closed.contains(&client));
}

#[test]
fn a_database_that_cannot_be_asked_is_no_reason_to_call_a_password_wrong() {
    let mut stage = Stage::new();
    let tell = |stage: &mut Stage| {
        let (client, _) = stage.log_in("app", "secret");
        let orders = stage.take_orders();
        stage.answer(&orders, false);
        stage.told(client)
    };
    let unread = tell(&mut stage);
    assert!(
        matches!(&unread, Told::Err(1105, text) if text.contains("cannot read")),
        "{unread:?}"
    );
    // What is known holds.
    stage.publish(&[("app", OTHER)]);
    assert!(matches!(tell(&mut stage), Told::Err(1045, _)));
}
