//! The connection phase, as the database sees it.

use wire::{
    AuthPlugin, AuthSwitchRequest, Capabilities, ExtendedCapabilities, HandshakeResponse,
    InitialHandshake, NATIVE_PASSWORD, OkPacket, ServerStatus, code, write_packet,
};

use super::answer::put_err;
use super::connection::{Connection, Phase, Questioned};
use super::session::Session;
use crate::catalog::ACCOUNTS;
use crate::failure::{Broken, Rule, ensure};

/// What sessions begin with if nobody asks for another.
const DEFAULT_COLLATION: u8 = 45;

/// What the database offers: without CLIENT_LONG_PASSWORD, as MariaDB does it.
const OFFERED: Capabilities = Capabilities::all().difference(
    Capabilities::LONG_PASSWORD
        .union(Capabilities::SSL)
        .union(Capabilities::COMPRESS),
);

/// A plugin whose questions clients must be asked themselves.
pub(crate) const QUESTIONS: &[u8] = b"client_ed25519";

/// What it asks after the password; no packet of the protocol begins like that.
pub(crate) const SECOND_QUESTION: &[u8] = b"\x02sure?";

/// The right answer to that.
pub(crate) const SECOND_ANSWER: &[u8] = b"sure";

/// The packet that the database sends first.
pub(crate) fn initial_handshake(id: usize, nonce: [u8; 20]) -> Vec<u8> {
    let handshake = InitialHandshake {
        server_version: b"5.5.5-10.11.14-MariaDB",
        connection_id: id as u32,
        nonce,
        capabilities: OFFERED,
        extended: ExtendedCapabilities::EXTENDED_METADATA,
        collation: DEFAULT_COLLATION,
        status: ServerStatus::AUTOCOMMIT,
        auth_plugin: NATIVE_PASSWORD,
    };
    let mut out = Vec::new();
    handshake.encode(&mut out, 0);
    out
}

/// Deals with the handshake response. Returns what is answered.
pub(crate) fn answer(
    connection: &mut Connection,
    payload: &[u8],
    questions: bool,
) -> Result<Vec<u8>, Broken> {
    let response = HandshakeResponse::parse(payload)
        .map_err(|error| Broken::new(Rule::Protocol, format!("handshake response: {error}")))?;
    let required = Capabilities::DEPRECATE_EOF | Capabilities::SESSION_TRACK;
    ensure(
        Rule::Protocol,
        response.capabilities.contains(required),
        || format!("a backend negotiated {:?}", response.capabilities),
    )?;
    let account = ACCOUNTS
        .iter()
        .position(|(user, _)| user.as_bytes() == response.user);
    let mut out = Vec::new();
    if questions && account == Some(0) {
        connection.questioned = Some(Questioned {
            capabilities: response.capabilities,
            collation: response.collation,
            proved: None,
        });
        let request = AuthSwitchRequest {
            plugin: QUESTIONS,
            data: &connection.nonce,
        };
        request.encode(&mut out, 2);
        return Ok(out);
    }
    let right = account.filter(|&place| {
        let password = ACCOUNTS[place].1.as_bytes();
        let plugin = AuthPlugin::NativePassword;
        plugin.verify(password, &connection.nonce, response.auth_response)
    });
    let Some(account) = right else {
        put_err(&mut out, 2, code::ACCESS_DENIED);
        return Ok(out);
    };
    connection.account = account;
    welcome(connection, (response.capabilities, response.collation));
    put_ok(&mut out, 2);
    Ok(out)
}

/// Deals with an answer to a question of the plugin: first the password, then what it was asked besides.
/// Whoever is wrong is told so in the end.
pub(crate) fn next(connection: &mut Connection, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let Some(mut questioned) = connection.questioned else {
        return out;
    };
    match questioned.proved {
        None => {
            let password = ACCOUNTS[0].1.as_bytes();
            let right = AuthPlugin::NativePassword.verify(password, &connection.nonce, payload);
            questioned.proved = Some(right);
            connection.questioned = Some(questioned);
            write_packet(&mut out, 4, SECOND_QUESTION);
        }
        Some(true) if payload == SECOND_ANSWER => {
            connection.account = 0;
            connection.questioned = None;
            welcome(connection, (questioned.capabilities, questioned.collation));
            put_ok(&mut out, 6);
        }
        Some(_) => {
            put_err(&mut out, 6, code::ACCESS_DENIED);
        }
    }
    out
}

fn welcome(connection: &mut Connection, (capabilities, collation): (Capabilities, u8)) {
    connection.capabilities = capabilities;
    let is_unsound = connection.session.is_unsound;
    connection.session = Session::new(collation).tracked(is_unsound);
    connection.phase = Phase::Ready;
}

fn put_ok(out: &mut Vec<u8>, sequence_id: u8) {
    let ok = OkPacket {
        status: ServerStatus::AUTOCOMMIT,
        ..OkPacket::default()
    };
    ok.encode(out, sequence_id, 0x00);
}
