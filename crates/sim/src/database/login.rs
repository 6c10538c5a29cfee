//! The connection phase, as the database sees it.

use wire::{
    AuthPlugin, Capabilities, ExtendedCapabilities, HandshakeResponse, InitialHandshake,
    NATIVE_PASSWORD, OkPacket, ServerStatus, code,
};

use super::answer::put_err;
use super::connection::{Connection, Phase};
use super::session::Session;
use crate::catalog::ACCOUNTS;
use crate::failure::{Broken, Rule, ensure};

/// What the database offers: without CLIENT_LONG_PASSWORD, as MariaDB does it.
const OFFERED: Capabilities = Capabilities::all().difference(
    Capabilities::LONG_PASSWORD
        .union(Capabilities::SSL)
        .union(Capabilities::COMPRESS),
);

/// The packet that the database sends first.
pub(crate) fn initial_handshake(id: usize, nonce: [u8; 20]) -> Vec<u8> {
    let handshake = InitialHandshake {
        server_version: b"5.5.5-10.11.14-MariaDB",
        connection_id: id as u32,
        nonce,
        capabilities: OFFERED,
        extended: ExtendedCapabilities::EXTENDED_METADATA,
        collation: 45,
        status: ServerStatus::AUTOCOMMIT,
        auth_plugin: NATIVE_PASSWORD,
    };
    let mut out = Vec::new();
    handshake.encode(&mut out, 0);
    out
}

/// Deals with the handshake response. Returns what is answered.
pub(crate) fn answer(connection: &mut Connection, payload: &[u8]) -> Result<Vec<u8>, Broken> {
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
    let right = account.filter(|&place| {
        let password = ACCOUNTS[place].1.as_bytes();
        let plugin = AuthPlugin::NativePassword;
        plugin.verify(password, &connection.nonce, response.auth_response)
    });
    let mut out = Vec::new();
    let Some(account) = right else {
        put_err(&mut out, 2, code::ACCESS_DENIED);
        return Ok(out);
    };
    connection.account = account;
    connection.capabilities = response.capabilities;
    connection.session = Session::new(response.collation);
    connection.phase = Phase::Ready;
    let ok = OkPacket {
        status: ServerStatus::AUTOCOMMIT,
        ..OkPacket::default()
    };
    ok.encode(&mut out, 2, 0x00);
    Ok(out)
}
