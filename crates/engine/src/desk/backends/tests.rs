//! The connection phase of one backend against a server that is written down here.

use std::sync::Arc;

use accounts::Directory;
use events::{Handle, Handler, Recorder, Timestamp};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use rsa::pkcs8::{EncodePublicKey, LineEnding};
use rsa::{Oaep, RsaPrivateKey};
use wire::{
    CACHING_SHA2_PASSWORD, ExtendedCapabilities, HandshakeResponse, InitialHandshake,
    NATIVE_PASSWORD, ServerStatus, caching_sha2_password, native_password, whole_packet,
    write_packet,
};

use super::*;
use crate::{Settings, Shared};

const NONCE: [u8; 20] = *b"abcdefghijklmnopqrst";
const OTHER: [u8; 20] = *b"tsrqponmlkjihgfedcba";
const BACKEND: Handle = Recorder::<Mail>::ASKED;

/// An engine that logs in, and the server's side of that.
struct Stage {
    engine: Engine,
    wire: Recorder<Mail>,
    sequence_id: u8,
}

impl Stage {
    /// The server greets with `plugin`; the engine's response is returned, too.
    fn new(on_unix_socket: bool, plugin: &[u8]) -> (Self, Vec<u8>) {
        let settings = Settings {
            accounts: Directory::configured([("app".to_owned(), "secret".to_owned().into())])
                .into(),
            backend_on_unix_socket: on_unix_socket,
            ..Settings::default()
        };
        let engine = Engine::new(Arc::new(settings), Shared::new(1, 1), 0, [7; 32]);
        let mut stage = Self {
            engine,
            wire: Recorder::default(),
            sequence_id: 0,
        };
        stage.engine.turn_ended(&mut stage.wire, Timestamp::ZERO);
        let mut packet = Vec::new();
        let handshake = InitialHandshake {
            server_version: b"9.7.0",
            connection_id: 8,
            nonce: NONCE,
            capabilities: Capabilities::all(),
            extended: ExtendedCapabilities::empty(),
            collation: 255,
            status: ServerStatus::AUTOCOMMIT,
            auth_plugin: plugin,
        };
        handshake.encode(&mut packet, 0);
        let response = stage.receive(&packet);
        (stage, response)
    }

    /// The server says `payload`. Returns the payload of the engine's answer.
    fn say(&mut self, payload: &[u8]) -> Vec<u8> {
        let mut packet = Vec::new();
        write_packet(&mut packet, self.sequence_id, payload);
        self.receive(&packet)
    }

    fn receive(&mut self, packet: &[u8]) -> Vec<u8> {
        let tag = *self.wire.asked.last().expect("a connection was asked for");
        self.engine
            .received(&mut self.wire, tag, packet, Timestamp::ZERO);
        let sent = self.wire.take(BACKEND);
        match whole_packet(&sent) {
            Ok(answer) => {
                self.sequence_id = answer.sequence_id.wrapping_add(1);
                answer.payload.bytes().to_vec()
            }
            Err(_) => Vec::new(),
        }
    }

    /// The server says OK, and the engine begins with its first command.
    fn assert_welcome(&mut self) {
        let command = self.say(b"\0\0\0\x02\0\0\0");
        assert_eq!(command.first(), Some(&0x03));
        assert!(!self.wire.has_closed(BACKEND));
    }
}

#[test]
fn the_first_response_is_for_the_plugin_that_the_server_names() {
    let native = (NATIVE_PASSWORD, native_password(b"secret", &NONCE));
    let sha2 = (
        CACHING_SHA2_PASSWORD,
        caching_sha2_password(b"secret", &NONCE),
    );
    let table = [
        (NATIVE_PASSWORD, native.clone()),
        (CACHING_SHA2_PASSWORD, sha2),
        (b"unknown", native),
    ];
    for (named, (plugin, expected)) in table {
        let (mut stage, response) = Stage::new(true, named);
        let response = HandshakeResponse::parse(&response).unwrap();
        assert_eq!(response.auth_plugin, plugin);
        assert_eq!(response.auth_response, expected);
        assert!(response.attributes.ends_with(b"\x0cprogram_name\x06myriad"));
        stage.assert_welcome();
    }
}

#[test]
fn the_fast_path_needs_nothing_more() {
    let (mut stage, _) = Stage::new(false, CACHING_SHA2_PASSWORD);
    assert_eq!(stage.say(b"\x01\x03"), b"");
    stage.sequence_id += 1;
    stage.assert_welcome();
    assert_eq!(
        stage.engine.records.counters.backend_full_authentications,
        0
    );
}

#[test]
fn a_server_behind_a_unix_socket_gets_the_password_itself() {
    let (mut stage, _) = Stage::new(true, NATIVE_PASSWORD);
    let switch = [b"\xfecaching_sha2_password\0", &OTHER[..], b"\0"].concat();
    assert_eq!(stage.say(&switch), caching_sha2_password(b"secret", &OTHER));
    assert_eq!(stage.say(b"\x01\x04"), b"secret\0");
    stage.assert_welcome();
    assert_eq!(
        stage.engine.records.counters.backend_full_authentications,
        1
    );
}

#[test]
fn any_other_server_gets_it_under_its_public_key() {
    let (mut stage, _) = Stage::new(false, CACHING_SHA2_PASSWORD);
    let key = RsaPrivateKey::new(&mut ChaCha20Rng::from_seed([1; 32]), 1024).unwrap();
    let pem = key.to_public_key().to_public_key_pem(LineEnding::LF);
    assert_eq!(stage.say(b"\x01\x04"), b"\x02");
    let encrypted = stage.say(&[b"\x01", pem.unwrap().as_bytes()].concat());
    let mut password = key.decrypt(Oaep::new::<sha1::Sha1>(), &encrypted).unwrap();
    for (byte, mask) in password.iter_mut().zip(NONCE) {
        *byte ^= mask;
    }
    assert_eq!(password, b"secret\0");
    stage.assert_welcome();
}

/// Whether by TCP, the plugin, and what the server says one after the other.
type Row<'a> = (bool, &'a [u8], &'a [&'a [u8]]);

#[test]
fn what_is_out_of_place_ends_the_attempt() {
    let table: [Row<'_>; 8] = [
        (false, NATIVE_PASSWORD, &[b"\x01\x04"]),
        (false, CACHING_SHA2_PASSWORD, &[b"\x01"]),
        (false, CACHING_SHA2_PASSWORD, &[b"\x01\x05"]),
        (false, CACHING_SHA2_PASSWORD, &[b"\x01\x04", b"\x01\x03"]),
        (false, CACHING_SHA2_PASSWORD, &[b"\x01\x04", b"\x01no key"]),
        (true, CACHING_SHA2_PASSWORD, &[b"\x01\x04", b"\x01\x04"]),
        (
            true,
            CACHING_SHA2_PASSWORD,
            &[b"\xfemysql_clear_password\0"],
        ),
        (
            true,
            NATIVE_PASSWORD,
            &[b"\xfemysql_native_password\0abc\0"],
        ),
    ];
    for (on_unix_socket, plugin, packets) in table {
        let (mut stage, _) = Stage::new(on_unix_socket, plugin);
        let answers: Vec<_> = packets.iter().map(|packet| stage.say(packet)).collect();
        assert!(stage.wire.has_closed(BACKEND), "{packets:?}");
        assert_eq!(answers.last(), Some(&Vec::new()), "{packets:?}");
        assert_eq!(stage.engine.records.counters.backend_connect_errors, 1);
    }
}
