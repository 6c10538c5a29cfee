//! Logins over TLS, of clients and on backends.

use std::net::Ipv4Addr;
use std::sync::Arc;

use accounts::{Certain, Configured, Directory, Requires};
use events::{ConnectError, Handle, Handler, PeerCertificate, Recorder, Tag, Timestamp, TlsFacts};
use session::statement::Flavor;
use sha1::{Digest, Sha1};
use wire::{
    CACHING_SHA2_PASSWORD, Command, ErrPacket, ExtendedCapabilities, HandshakeResponse,
    InitialHandshake, NATIVE_PASSWORD, OkPacket, ServerStatus, code, native_password,
    native_password_hash, server_proof, whole_packet, write_packet,
};

use super::*;
use crate::{Settings, Shared, TlsMode};

const NOW: Timestamp = Timestamp::ZERO;
const CLIENT: Handle = Handle(1);
const BACKEND: Handle = Recorder::<Mail>::ASKED;
const NONCE: [u8; 20] = *b"abcdefghijklmnopqrst";
const TCP: Peer = Peer::Tcp(std::net::SocketAddr::V4(std::net::SocketAddrV4::new(
    Ipv4Addr::LOCALHOST,
    40_000,
)));

struct Stage {
    engine: Engine,
    wire: Recorder<Mail>,
    handle: Handle,
    tag: Tag,
}

impl Stage {
    fn engine(settings: Settings) -> (Engine, Recorder<Mail>) {
        let engine = Engine::new(Arc::new(settings), Shared::new(1, 1), 0, [7; 32]);
        let (mut engine, mut wire) = (engine, Recorder::default());
        engine.turn_ended(&mut wire, NOW);
        (engine, wire)
    }

    /// A client that was greeted; there is no backend.
    fn client(tls: TlsMode, require: Requires, peer: Peer) -> Self {
        let (mut engine, mut wire) = Self::engine(Settings {
            accounts: account(require),
            tls,
            ..Settings::default()
        });
        for tag in std::mem::take(&mut wire.asked) {
            Handler::connect_failed(&mut engine, &mut wire, tag, ConnectError::Os(111), NOW);
        }
        let tag = engine.accepted(&mut wire, CLIENT, peer, [0; 32], NOW);
        Self {
            engine,
            wire,
            handle: CLIENT,
            tag,
        }
    }

    /// A backend that greets with these flags.
    fn backend(offered: Capabilities, plugin: &[u8]) -> Self {
        let (engine, mut wire) = Self::engine(Settings {
            accounts: account(Requires::Nothing),
            backend_tls: true,
            ..Settings::default()
        });
        let tag = wire.asked.pop().expect("a connection was asked for");
        let mut stage = Self {
            engine,
            wire,
            handle: BACKEND,
            tag,
        };
        let mut packet = Vec::new();
        let handshake = InitialHandshake {
            server_version: b"9.7.0",
            connection_id: 8,
            nonce: NONCE,
            capabilities: offered,
            extended: ExtendedCapabilities::empty(),
            collation: 255,
            status: ServerStatus::AUTOCOMMIT,
            auth_plugin: plugin,
        };
        handshake.encode(&mut packet, 0);
        stage.hears(&packet);
        stage
    }

    fn hears(&mut self, bytes: &[u8]) {
        self.engine.received(&mut self.wire, self.tag, bytes, NOW);
    }

    fn is_secured(&mut self, certificate: Option<PeerCertificate>) {
        let facts = TlsFacts {
            version: "TLSv1.3",
            cipher: "TLS_AES_256_GCM_SHA384",
            certificate: certificate.map(Box::new),
            shown: Some([5; 32].into()),
        };
        self.engine
            .tls_established(&mut self.wire, self.tag, facts, NOW);
    }

    fn sent(&mut self) -> Vec<u8> {
        self.wire.take(self.handle)
    }

    /// Sequence id and payload of the one packet that was sent since.
    fn told(&mut self) -> (u8, Vec<u8>) {
        let sent = self.sent();
        let packet = whole_packet(&sent).expect("a packet");
        assert_eq!(packet.consumed, sent.len(), "and no more");
        (packet.sequence_id, packet.payload.bytes().to_vec())
    }

    /// The flags of the initial handshake, and its nonce.
    fn greeting(&mut self) -> (Capabilities, [u8; 20]) {
        let (_, payload) = self.told();
        let handshake = InitialHandshake::parse(&payload).expect("an initial handshake");
        (handshake.capabilities, handshake.nonce)
    }

    /// Whether the login went well, or the error's number.
    fn verdict(&mut self) -> Result<(), u16> {
        let (_, payload) = self.told();
        match payload.first() {
            Some(0) => Ok(()),
            _ => Err(ErrPacket::parse(&payload).expect("an ERR").code),
        }
    }
}

fn account(requires: Requires) -> Arc<Directory> {
    let account = Configured {
        user: "app".to_owned(),
        password: "secret".to_owned().into(),
        requires,
    };
    Directory::configured([account]).into()
}

const FLAGS: Capabilities = Capabilities::PROTOCOL_41
    .union(Capabilities::SECURE_CONNECTION)
    .union(Capabilities::PLUGIN_AUTH);

fn request() -> Vec<u8> {
    let request = SslRequest {
        capabilities: FLAGS | Capabilities::SSL,
        extended: ExtendedCapabilities::empty(),
        max_packet_size: 1 << 24,
        collation: 45,
    };
    let mut packet = Vec::new();
    request.encode(&mut packet, 1);
    packet
}

fn response(nonce: &[u8; 20], sequence_id: u8) -> Vec<u8> {
    let response = HandshakeResponse {
        capabilities: FLAGS,
        extended: ExtendedCapabilities::empty(),
        max_packet_size: 1 << 24,
        collation: 45,
        user: b"app",
        auth_response: &native_password(b"secret", nonce),
        schema: None,
        auth_plugin: NATIVE_PASSWORD,
        attributes: b"",
    };
    let mut packet = Vec::new();
    response.encode(&mut packet, sequence_id);
    packet
}

#[test]
fn what_stands_behind_a_request_for_tls_is_not_heard_as_if_it_came_over_it() {
    let mut stage = Stage::client(TlsMode::Offer, Requires::Nothing, TCP);
    let (offered, nonce) = stage.greeting();
    assert!(offered.contains(Capabilities::SSL));
    let injected = response(&nonce, 2);
    stage.hears(&[request(), injected.clone()].concat());
    let asked = stage.wire.tls.take();
    assert_eq!(asked, Some((stage.tag, TlsSide::Server, injected)));
    assert_eq!(stage.sent(), b"");
    stage.is_secured(None);
    assert_eq!(stage.sent(), b"", "nobody has logged in");
    stage.hears(&response(&nonce, 2));
    assert_eq!(stage.verdict(), Ok(()));
    assert_eq!(stage.engine.records.counters.tls_handshakes, 1);
    assert_eq!(stage.engine.records.counters.logins, 1);
}

#[test]
fn tls_is_begun_once_and_only_where_it_was_offered() {
    for peer in [TCP, Peer::Unix] {
        let mut stage = Stage::client(TlsMode::Off, Requires::Nothing, peer);
        let (offered, _) = stage.greeting();
        assert!(!offered.contains(Capabilities::SSL));
        stage.hears(&request());
        assert_eq!(stage.verdict(), Err(code::BAD_HANDSHAKE));
        assert_eq!(stage.wire.tls, None);
    }

    for peer in [TCP, Peer::Unix] {
        let mut stage = Stage::client(TlsMode::Offer, Requires::Nothing, peer);
        let (offered, _) = stage.greeting();
        assert!(offered.contains(Capabilities::SSL));
        stage.hears(&request());
        stage.is_secured(None);
        stage.wire.tls = None;
        let mut again = request();
        again[3] = 2;
        stage.hears(&again);
        assert_eq!(stage.verdict(), Err(code::BAD_HANDSHAKE));
        assert_eq!(stage.wire.tls, None);
    }
}

#[test]
fn who_must_come_securely_is_refused_otherwise_whatever_its_password() {
    for (mode, peer, expected) in [
        (TlsMode::Require, TCP, Err(code::SECURE_TRANSPORT_REQUIRED)),
        (TlsMode::Require, Peer::Unix, Ok(())),
        (TlsMode::Offer, TCP, Ok(())),
    ] {
        let mut stage = Stage::client(mode, Requires::Nothing, peer);
        let (_, nonce) = stage.greeting();
        stage.hears(&response(&nonce, 1));
        assert_eq!(stage.verdict(), expected, "{mode:?} {peer:?}");
        assert_eq!(stage.wire.has_closed(CLIENT), expected.is_err());
    }
}

#[test]
fn accounts_are_for_those_who_come_as_they_require() {
    let certificate = || PeerCertificate {
        subject: "/CN=app".into(),
        issuer: "/CN=ca".into(),
    };
    let certain = |cipher: &str, subject: &str, issuer: &str| {
        let named = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        Requires::Certain(Box::new(Certain {
            certificate: false,
            cipher: named(cipher),
            subject: named(subject),
            issuer: named(issuer),
        }))
    };
    let cipher = "TLS_AES_256_GCM_SHA384";
    let on_mysql = Requires::Certain(Box::new(Certain {
        certificate: true,
        cipher: Some(cipher.to_owned()),
        ..Certain::default()
    }));
    let denied = Err(code::ACCESS_DENIED);
    for (require, plain, tls, verified) in [
        (Requires::Nothing, Ok(()), Ok(()), Ok(())),
        (Requires::Ssl, denied, Ok(()), Ok(())),
        (Requires::X509, denied, denied, Ok(())),
        (certain(cipher, "", ""), denied, Ok(()), Ok(())),
        (certain("AES", "", ""), denied, denied, denied),
        (on_mysql, denied, denied, Ok(())),
        (certain("", "/CN=app", ""), denied, denied, Ok(())),
        (certain("", "/CN=App", ""), denied, denied, denied),
        (certain("", "", "/CN=ca"), denied, denied, Ok(())),
        (certain(cipher, "/CN=app", "/CN=ca"), denied, denied, Ok(())),
        (certain(cipher, "/CN=app", "/CN=c"), denied, denied, denied),
    ] {
        let mut stage = Stage::client(TlsMode::Offer, require.clone(), TCP);
        let (_, nonce) = stage.greeting();
        stage.hears(&response(&nonce, 1));
        assert_eq!(stage.verdict(), plain, "{require:?}");
        for (certificate, expected) in [(None, tls), (Some(certificate()), verified)] {
            let mut stage = Stage::client(TlsMode::Offer, require.clone(), TCP);
            let (_, nonce) = stage.greeting();
            stage.hears(&request());
            stage.is_secured(certificate);
            stage.hears(&response(&nonce, 2));
            assert_eq!(stage.verdict(), expected, "{require:?}");
        }
    }
}

#[test]
fn a_backend_is_told_who_we_are_over_tls_only() {
    let mut stage = Stage::backend(Capabilities::all(), CACHING_SHA2_PASSWORD);
    let (sequence_id, payload) = stage.told();
    assert!(SslRequest::is(&payload) && sequence_id == 1);
    let asked = stage.wire.tls.take();
    assert_eq!(asked, Some((stage.tag, TlsSide::Client, Vec::new())));
    stage.is_secured(None);
    let (sequence_id, payload) = stage.told();
    let response = HandshakeResponse::parse(&payload).expect("a response");
    assert_eq!((sequence_id, response.user), (2, &b"app"[..]));
    assert!(response.capabilities.contains(Capabilities::SSL));
    // It wants the password itself, which nobody else can hear.
    let mut packet = Vec::new();
    write_packet(&mut packet, 3, b"\x01\x04");
    stage.hears(&packet);
    assert_eq!(stage.told(), (4, b"secret\0".to_vec()));
    let mut packet = Vec::new();
    write_packet(&mut packet, 5, b"\0\0\0\x02\0\0\0");
    stage.hears(&packet);
    assert_eq!(stage.sent().get(4), Some(&(Command::Query as u8)));
}

#[test]
fn a_backend_without_tls_learns_nothing() {
    let offered = Capabilities::all() - Capabilities::SSL;
    let mut stage = Stage::backend(offered, NATIVE_PASSWORD);
    assert_eq!(stage.sent(), b"");
    assert!(stage.wire.has_closed(BACKEND));
    assert_eq!(stage.engine.records.counters.backend_connect_errors, 1);
}

#[test]
fn what_a_backend_says_behind_its_handshake_is_taken_as_tls() {
    let (engine, mut wire) = Stage::engine(Settings {
        accounts: account(Requires::Nothing),
        backend_tls: true,
        ..Settings::default()
    });
    let tag = wire.asked.pop().expect("a connection was asked for");
    let mut stage = Stage {
        engine,
        wire,
        handle: BACKEND,
        tag,
    };
    let mut packets = Vec::new();
    let handshake = InitialHandshake {
        server_version: b"9.7.0",
        connection_id: 8,
        nonce: NONCE,
        capabilities: Capabilities::all(),
        extended: ExtendedCapabilities::empty(),
        collation: 255,
        status: ServerStatus::AUTOCOMMIT,
        auth_plugin: NATIVE_PASSWORD,
    };
    handshake.encode(&mut packets, 0);
    let mut ok = Vec::new();
    write_packet(&mut ok, 2, b"\0\0\0\x02\0\0\0");
    packets.extend_from_slice(&ok);
    stage.hears(&packets);
    assert_eq!(stage.wire.tls, Some((tag, TlsSide::Client, ok)));
    assert_eq!(stage.engine.records.counters.backend_connections, 0);
}

/// The digest of the certificate is that of [`Stage::is_secured`].
#[test]
fn a_client_is_told_over_tls_what_proves_that_its_password_is_known() {
    let stage1: [u8; 20] = Sha1::digest(b"secret").into();
    let kept = native_password_hash(&stage1);
    for (flavor, secured) in [
        (Flavor::MariaDb, true),
        (Flavor::MariaDb, false),
        (Flavor::MySql, true),
    ] {
        let mut stage = Stage::client(TlsMode::Offer, Requires::Nothing, TCP);
        let (_, nonce) = stage.greeting();
        let facts = stage.engine.records.known.facts.as_mut().expect("facts");
        facts.flavor = flavor;
        if secured {
            stage.hears(&request());
            stage.is_secured(None);
        }
        stage.hears(&response(&nonce, 1 + u8::from(secured)));
        let (_, payload) = stage.told();
        let ok = OkPacket::parse(&payload).expect("an OK");
        let proof = server_proof(&kept, &nonce, &[5; 32]);
        let expected = match (flavor, secured) {
            (Flavor::MariaDb, true) => &proof[..],
            _ => b"",
        };
        assert_eq!(ok.info, expected, "{flavor:?} {secured}");
        assert!(ok.state_changes.is_empty());
    }
}
