//! Who a client is: both plugins, with whatever greeting; other accounts on the same connection;
//! and those who never say.

use wire::{
    AuthPlugin, AuthSwitchRequest, CACHING_SHA2_PASSWORD, Capabilities, ErrPacket,
    ExtendedCapabilities, HandshakeResponse, InitialHandshake, NATIVE_PASSWORD,
    caching_sha2_password, encode_attributes, native_password, write_packet,
};

use crate::support::{Client, Database, FrontDoor, Login, Outcome, USUAL, eventually};

const COM_CHANGE_USER: u8 = 0x11;
const SHA2: &str = "server.default_authentication_plugin = \"caching_sha2_password\"";
const NATIVE: &str = "server.default_authentication_plugin = \"mysql_native_password\"";
/// One that nobody here can check.
const DIALOG: &[u8] = b"dialog";

/// A client in the connection phase.
struct Applicant {
    client: Client,
    nonce: [u8; 20],
    greeted: Vec<u8>,
}

/// What a client says of itself.
#[derive(Clone, Copy)]
struct Claim<'a> {
    user: &'a [u8],
    plugin: &'a [u8],
    response: &'a [u8],
    attributes: &'a [u8],
}

impl<'a> Claim<'a> {
    fn new(user: &'a str, plugin: &'a [u8], response: &'a [u8]) -> Self {
        Self {
            user: user.as_bytes(),
            plugin,
            response,
            attributes: b"\x03_os\x05Linux",
        }
    }
}

impl Applicant {
    fn new(door: &FrontDoor) -> Self {
        let (client, handshake) = Client::connect(&door.address()).unwrap();
        let handshake = InitialHandshake::parse(&handshake).unwrap();
        Self {
            nonce: handshake.nonce,
            greeted: handshake.auth_plugin.to_vec(),
            client,
        }
    }

    /// What comes of a login, `password` being for auth switches: each packet in a word.
    fn log_in(&mut self, claim: &Claim<'_>, password: &str) -> String {
        let mut bytes = Vec::new();
        let response = HandshakeResponse {
            capabilities: USUAL | Capabilities::CONNECT_ATTRS,
            extended: ExtendedCapabilities::empty(),
            max_packet_size: 1 << 24,
            collation: 45,
            user: claim.user,
            auth_response: claim.response,
            schema: None,
            auth_plugin: claim.plugin,
            attributes: claim.attributes,
        };
        response.encode(&mut bytes, 1);
        self.client.send_bytes(&bytes);
        self.told(2, password)
    }

    /// The same of COM_CHANGE_USER.
    fn change_user(&mut self, claim: &Claim<'_>, password: &str) -> String {
        let mut argument = [claim.user, b"\0"].concat();
        argument.push(claim.response.len() as u8);
        argument.extend_from_slice(claim.response);
        argument.extend_from_slice(b"\0\x2d\0");
        argument.extend_from_slice(claim.plugin);
        argument.push(0);
        self.client.send(COM_CHANGE_USER, &argument);
        self.told(1, password)
    }

    fn told(&mut self, mut sequence_id: u8, password: &str) -> String {
        let mut told = Vec::new();
        loop {
            let packet = self.client.receive().unwrap();
            assert_eq!(packet.sequence_id, sequence_id, "after {told:?}");
            sequence_id += 1;
            match packet.payload[0] {
                0x00 => told.push("ok".to_owned()),
                0xff => told.push(ErrPacket::parse(&packet.payload).unwrap().code.to_string()),
                0x01 => {
                    assert_eq!(packet.payload, b"\x01\x03");
                    told.push("fast".to_owned());
                    continue;
                }
                _ => {
                    let request = AuthSwitchRequest::parse(&packet.payload).unwrap();
                    let plugin = AuthPlugin::named(request.plugin).unwrap();
                    let nonce = request.data.first_chunk().unwrap();
                    let mut bytes = Vec::new();
                    let response = plugin.response(password.as_bytes(), nonce);
                    sequence_id = write_packet(&mut bytes, sequence_id, &response);
                    self.client.send_bytes(&bytes);
                    told.push(short(request.plugin).to_owned());
                    continue;
                }
            }
            return told.join(" ");
        }
    }
}

fn short(plugin: &[u8]) -> &'static str {
    match plugin {
        NATIVE_PASSWORD => "native",
        CACHING_SHA2_PASSWORD => "sha2",
        _ => "?",
    }
}

#[test]
fn a_client_may_use_either_plugin_whatever_it_was_greeted_with() {
    let database = Database::shared();
    for (setting, greeted) in [(NATIVE, "native"), (SHA2, "sha2")] {
        let door = FrontDoor::start(database.address(), &[setting]);
        let log_in = |plugin: &[u8], empty: bool, password: &str| {
            let mut applicant = Applicant::new(&door);
            assert_eq!(short(&applicant.greeted), greeted);
            let plugin_known = AuthPlugin::named(plugin);
            let right = plugin_known.map(|known| known.response(b"secret", &applicant.nonce));
            let response = match password {
                _ if empty => Vec::new(),
                "secret" => right.unwrap_or_else(|| b"x".to_vec()),
                _ => vec![7; 32],
            };
            applicant.log_in(&Claim::new("app", plugin, &response), password)
        };
        assert_eq!(log_in(NATIVE_PASSWORD, false, "secret"), "ok");
        assert_eq!(log_in(CACHING_SHA2_PASSWORD, false, "secret"), "fast ok");
        assert_eq!(log_in(NATIVE_PASSWORD, false, "wrong"), "1045");
        assert_eq!(log_in(CACHING_SHA2_PASSWORD, false, "wrong"), "1045");
        // Who names another plugin than the one greeted with may wait to be asked for it.
        let (native, sha2) = match greeted {
            "native" => ("1045", "sha2 fast ok"),
            _ => ("native ok", "1045"),
        };
        assert_eq!(log_in(NATIVE_PASSWORD, true, "secret"), native);
        assert_eq!(log_in(CACHING_SHA2_PASSWORD, true, "secret"), sha2);
        let switched = match greeted {
            "native" => ["native ok", "native 1045"],
            _ => ["sha2 fast ok", "sha2 1045"],
        };
        assert_eq!(log_in(DIALOG, false, "secret"), switched[0]);
        assert_eq!(log_in(DIALOG, true, "wrong"), switched[1]);
        assert_eq!(log_in(b"", false, "wrong"), "1045");
        assert_eq!(door.metric("myriad_auth_switches_total"), 3);
    }
}

#[test]
fn unless_told_otherwise_it_greets_as_the_server_does() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &[]);
    let greeted = |address| {
        let (_, handshake) = Client::connect(address).unwrap();
        let handshake = InitialHandshake::parse(&handshake).unwrap();
        handshake.auth_plugin.to_vec()
    };
    assert_eq!(greeted(&door.address()), greeted(database.address()));
}

#[test]
fn no_password_is_said_in_either_way() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &[SHA2, "[[account]]\nuser = \"free\""]);
    let table: [(&[u8], &[u8], &str); 4] = [
        (CACHING_SHA2_PASSWORD, b"", "ok"),
        (CACHING_SHA2_PASSWORD, b"\0", "ok"),
        (NATIVE_PASSWORD, b"", "native ok"),
        (NATIVE_PASSWORD, b"\0", "1045"),
    ];
    for (plugin, response, expected) in table {
        let claim = Claim::new("free", plugin, response);
        assert_eq!(Applicant::new(&door).log_in(&claim, ""), expected);
    }
    for response in [&b""[..], b"\0"] {
        let claim = Claim::new("app", CACHING_SHA2_PASSWORD, response);
        assert_eq!(Applicant::new(&door).log_in(&claim, ""), "1045");
    }
}

#[test]
fn another_account_may_prove_itself_with_another_plugin() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &[NATIVE]);
    let mut applicant = Applicant::new(&door);
    let nonce = applicant.nonce;
    let (sha2, native) = (
        |password: &str| caching_sha2_password(password.as_bytes(), &nonce),
        |password: &str| native_password(password.as_bytes(), &nonce),
    );
    let response = sha2("secret");
    let claim = Claim::new("app", CACHING_SHA2_PASSWORD, &response);
    assert_eq!(applicant.log_in(&claim, ""), "fast ok");
    type Row = (
        &'static str,
        &'static [u8],
        Vec<u8>,
        &'static str,
        &'static str,
    );
    let table: [Row; 6] = [
        ("admin", NATIVE_PASSWORD, native("all"), "all", "native ok"),
        (
            "app",
            CACHING_SHA2_PASSWORD,
            sha2("secret"),
            "secret",
            "native ok",
        ),
        ("admin", CACHING_SHA2_PASSWORD, vec![], "all", "native ok"),
        ("app", NATIVE_PASSWORD, vec![], "secret", "native ok"),
        ("admin", DIALOG, b"x".to_vec(), "all", "native ok"),
        ("app", b"", native("secret"), "secret", "native ok"),
    ];
    for (user, plugin, response, password, expected) in table {
        // Whatever comes with the command, it is asked.
        let claim = Claim::new(user, plugin, &response);
        assert_eq!(applicant.change_user(&claim, password), expected, "{user}");
        assert_eq!(
            applicant.client.value("SELECT CURRENT_USER()"),
            format!("{user}@localhost")
        );
    }
    let wrong = native("secret");
    let claim = Claim::new("app", CACHING_SHA2_PASSWORD, &wrong);
    assert_eq!(applicant.change_user(&claim, ""), "native 1045");
    assert_eq!(applicant.client.rest(), b"");
}

#[test]
fn attributes_must_be_whole() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &[]);
    let long = "x".repeat(70_000);
    for (attributes, expected) in [
        (b"\x03_os\x09Linux".to_vec(), "1043"),
        (encode_attributes(&[("_os", &long)]), "1043"),
        (
            encode_attributes(&[("_os", &long[..60_000]), ("", "")]),
            "ok",
        ),
        (Vec::new(), "ok"),
    ] {
        let mut applicant = Applicant::new(&door);
        let response = native_password(b"secret", &applicant.nonce);
        let claim = Claim {
            attributes: &attributes,
            ..Claim::new("app", NATIVE_PASSWORD, &response)
        };
        assert_eq!(applicant.log_in(&claim, ""), expected);
    }
}

#[test]
fn those_who_never_log_in_take_no_more_than_their_part() {
    let database = Database::shared();
    let settings = ["server.max_logins = 2", "server.login_timeout = \"1s\""];
    let door = FrontDoor::start(database.address(), &settings);
    let address = door.address();
    let in_login = r#"myriad_clients{state="login"}"#;
    eventually("an empty connection phase", || {
        (door.metric(in_login) == 0).then_some(())
    });
    let first = Client::connect(&address).map(|(client, _)| client);
    let second = Client::connect(&address).map(|(client, _)| client);
    assert!(first.is_ok() && second.is_ok());
    let third = Client::login(&address, &Login::default());
    let Err(Outcome::Err(1040, _)) = third.map(drop) else {
        panic!("a third one was let in at once");
    };
    let turned_away = r#"myriad_disconnects_total{reason="too_many_logins"}"#;
    assert!(door.metric(turned_away) >= 1);
    drop(first);
    // One place is free again as soon as the front door has seen that.
    let mut client = eventually("a place", || {
        Client::login(&address, &Login::default()).ok()
    });
    // Whoever has logged in needs none.
    let mut other = Client::login(&address, &Login::default()).unwrap();
    assert_eq!(
        (client.value("SELECT 1"), other.value("SELECT 1")),
        ("1".into(), "1".into())
    );
    let timed_out = r#"myriad_disconnects_total{reason="login_timeout"}"#;
    eventually("an end of the one that says nothing", || {
        (door.metric(timed_out) == 1).then_some(())
    });
}
