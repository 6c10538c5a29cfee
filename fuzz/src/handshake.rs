//! The packets of the connection phase, read and written again.

use wire::{
    AuthMoreData, AuthPlugin, AuthSwitchRequest, Capabilities, ChangeUser, HEADER_LEN,
    HandshakeResponse, InitialHandshake,
};

use crate::input::Input;

/// The first byte says which packet it is, the rest is its payload.
pub fn check(data: &[u8]) {
    let mut input = Input::new(data);
    match input.byte() % 6 {
        0 => initial_handshake(input.rest()),
        1 => handshake_response(input.rest()),
        2 => auth_switch(input.rest()),
        3 => auth_more_data(input.rest()),
        4 => change_user(input),
        _ => verify(input),
    }
}

fn initial_handshake(payload: &[u8]) {
    if let Ok(handshake) = InitialHandshake::parse(payload) {
        let mut again = Vec::new();
        assert_eq!(handshake.encode(&mut again, 0), 1);
        let read = InitialHandshake::parse(&again[HEADER_LEN..]);
        assert_eq!(read, Ok(handshake));
    }
}

fn handshake_response(payload: &[u8]) {
    if let Ok(response) = HandshakeResponse::parse(payload) {
        let mut again = Vec::new();
        assert_eq!(response.encode(&mut again, 1), 2);
        let read = HandshakeResponse::parse(&again[HEADER_LEN..]);
        assert_eq!(read, Ok(response));
    }
}

fn auth_switch(payload: &[u8]) {
    if let Ok(request) = AuthSwitchRequest::parse(payload) {
        let mut again = Vec::new();
        assert_eq!(request.encode(&mut again, 2), 3);
        let read = AuthSwitchRequest::parse(&again[HEADER_LEN..]);
        assert_eq!(read, Ok(request));
    }
}

fn auth_more_data(payload: &[u8]) {
    if let Ok(data) = AuthMoreData::parse(payload) {
        let mut again = Vec::new();
        assert_eq!(data.encode(&mut again, 2), 3);
        assert_eq!(&again[HEADER_LEN..], payload);
    }
}

/// A byte chooses the capabilities that decide about the form.
fn change_user(mut input: Input<'_>) {
    let choice = input.byte();
    let flags = [
        Capabilities::SECURE_CONNECTION,
        Capabilities::PLUGIN_AUTH,
        Capabilities::CONNECT_ATTRS,
    ];
    let mut client = Capabilities::PROTOCOL_41;
    for (bit, flag) in flags.into_iter().enumerate() {
        client.set(flag, choice >> bit & 1 == 1);
    }
    let payload = input.rest();
    if let Ok(change) = ChangeUser::parse(payload, client) {
        assert!(change.user.len() + change.auth_response.len() < payload.len());
        assert_ne!(change.schema, Some(&b""[..]));
    }
}

/// A nonce, and what somebody answers to it.
fn verify(mut input: Input<'_>) {
    let mut nonce = [0; 20];
    let given = input.bytes(nonce.len());
    nonce[..given.len()].copy_from_slice(given);
    for plugin in [AuthPlugin::NativePassword, AuthPlugin::CachingSha2Password] {
        assert_eq!(AuthPlugin::named(plugin.name()), Some(plugin));
        let right = plugin.response(b"secret", &nonce);
        assert!(plugin.verify(b"secret", &nonce, &right));
        let guessed = plugin.verify(b"secret", &nonce, input.rest());
        assert_eq!(guessed, right == input.rest());
    }
}
