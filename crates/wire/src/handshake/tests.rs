//! Golden packets and round trips of the connection phase.

use super::*;

#[test]
fn a_request_for_tls_is_the_beginning_of_a_response_and_no_more() {
    let request = SslRequest {
        capabilities: Capabilities::PROTOCOL_41 | Capabilities::SSL,
        extended: ExtendedCapabilities::empty(),
        max_packet_size: 1 << 24,
        collation: 45,
    };
    let mut packet = Vec::new();
    assert_eq!(request.encode(&mut packet, 1), 2);
    let payload = &packet[4..];
    assert!(SslRequest::is(payload));
    assert!(!SslRequest::is(&payload[..31]));
    assert!(!SslRequest::is(&[payload, b"\0"].concat()));
    let without = SslRequest {
        capabilities: Capabilities::PROTOCOL_41,
        ..request
    };
    let mut packet = Vec::new();
    without.encode(&mut packet, 1);
    assert!(!SslRequest::is(&packet[4..]));
}

/// The initial handshake of a MariaDB 10.11, connection 30, nonce `a…t`.
const MARIADB: &[u8] =
    b"\x0a5.5.5-10.11.19-MariaDB\0\x1e\0\0\0abcdefgh\0\xfe\xf7\x2d\x02\0\xff\x81\
    \x15\0\0\0\0\0\0\x1d\0\0\0ijklmnopqrst\0mysql_native_password\0";

fn response() -> HandshakeResponse<'static> {
    HandshakeResponse {
        capabilities: Capabilities::PROTOCOL_41
            | Capabilities::LONG_PASSWORD
            | Capabilities::CONNECT_WITH_DB
            | Capabilities::PLUGIN_AUTH
            | Capabilities::PLUGIN_AUTH_LENENC_DATA
            | Capabilities::SECURE_CONNECTION
            | Capabilities::CONNECT_ATTRS,
        extended: ExtendedCapabilities::empty(),
        max_packet_size: 1 << 24,
        collation: 45,
        user: b"app",
        auth_response: b"12345678901234567890",
        schema: Some(b"shop"),
        auth_plugin: b"mysql_native_password",
        attributes: b"\x03_os\x05Linux",
    }
}

#[test]
fn reads_and_writes_what_mariadb_says_first() {
    let handshake = InitialHandshake::parse(MARIADB).expect("golden packet");
    assert_eq!(handshake.server_version, b"5.5.5-10.11.19-MariaDB");
    assert_eq!(handshake.connection_id, 30);
    assert_eq!(&handshake.nonce, b"abcdefghijklmnopqrst");
    assert!(handshake.capabilities.contains(Capabilities::DEPRECATE_EOF));
    assert!(
        handshake
            .extended
            .contains(ExtendedCapabilities::EXTENDED_METADATA)
    );
    assert_eq!(handshake.auth_plugin, b"mysql_native_password");
    let mut out = Vec::new();
    assert_eq!(handshake.encode(&mut out, 0), 1);
    assert_eq!(&out[4..], MARIADB);
}

#[test]
fn a_response_survives_a_round_trip_in_each_style_of_authentication_data() {
    let styles = [
        Capabilities::PLUGIN_AUTH_LENENC_DATA,
        Capabilities::SECURE_CONNECTION,
    ];
    for dropped in [&styles[..0], &styles[..1], &styles[..]] {
        let mut expected = response();
        for flag in dropped {
            expected.capabilities.remove(*flag);
        }
        let mut out = Vec::new();
        expected.encode(&mut out, 1);
        assert_eq!(HandshakeResponse::parse(&out[4..]), Ok(expected));
    }
}

#[test]
fn a_response_of_255_bytes_fits_behind_its_one_byte_of_length() {
    let mut expected = response();
    expected
        .capabilities
        .remove(Capabilities::PLUGIN_AUTH_LENENC_DATA);
    expected.auth_response = &[7; 255];
    let mut out = Vec::new();
    expected.encode(&mut out, 1);
    assert_eq!(HandshakeResponse::parse(&out[4..]), Ok(expected));
}

#[test]
fn no_cut_of_a_response_panics_or_invents_fields() {
    let mut out = Vec::new();
    response().encode(&mut out, 1);
    for cut in 0..out.len() - 4 {
        if let Ok(short) = HandshakeResponse::parse(&out[4..4 + cut]) {
            assert_ne!(short, response());
            assert_eq!(short.user, b"app");
        }
    }
}

#[test]
fn clients_of_before_4_1_are_refused() {
    assert!(HandshakeResponse::parse(b"\x05\0\0\0\0root\0").is_err());
}

#[test]
fn an_auth_switch_survives_a_round_trip() {
    let request = AuthSwitchRequest {
        plugin: b"mysql_native_password",
        data: b"abcdefghijklmnopqrst",
    };
    let mut out = Vec::new();
    request.encode(&mut out, 2);
    assert_eq!(AuthSwitchRequest::parse(&out[4..]), Ok(request));
    assert!(AuthSwitchRequest::parse(b"\xfe").is_err());
}
