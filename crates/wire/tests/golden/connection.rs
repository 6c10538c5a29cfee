//! The connection phase, read and written again.

use wire::{
    AuthMoreData, AuthPlugin, AuthSwitchRequest, Capabilities, ErrPacket, ExtendedCapabilities,
    HEADER_LEN, InitialHandshake, OkPacket, ServerStatus, StateChange, is_server_proof,
};

use crate::{all, each};

#[test]
fn initial_handshakes() {
    for kept in each("initial_handshake") {
        let payload = kept.golden.payload();
        let hello = InitialHandshake::parse(payload).unwrap();
        let mariadb = kept.server != "mysql";
        let begins = match kept.server {
            "mariadb" => &b"5.5.5-10.11."[..],
            "mariadb-11.8" => b"11.8.",
            _ => b"9.",
        };
        assert!(hello.server_version.starts_with(begins));
        let plugin = match mariadb {
            true => AuthPlugin::NativePassword,
            false => AuthPlugin::CachingSha2Password,
        };
        assert_eq!(hello.auth_plugin, plugin.name());
        assert!(!hello.nonce.contains(&0));
        let modern = Capabilities::DEPRECATE_EOF | Capabilities::SESSION_TRACK;
        assert!(hello.capabilities.contains(modern));
        let progress = hello.extended.contains(ExtendedCapabilities::PROGRESS);
        assert_eq!(progress, mariadb);
        assert_eq!(hello.status, ServerStatus::AUTOCOMMIT);
        let mut again = Vec::new();
        assert_eq!(hello.encode(&mut again, 0), 1);
        assert_eq!(again, kept.golden.bytes, "{}", kept.server);
    }
}

/// What one packet of a login is.
fn told(packet: &[u8]) -> (&'static str, Vec<u8>) {
    let (payload, sequence_id) = (&packet[HEADER_LEN..], packet[3]);
    let mut again = Vec::new();
    let what = if let Ok(request) = AuthSwitchRequest::parse(payload) {
        assert_eq!(request.data.len(), 20);
        request.encode(&mut again, sequence_id);
        "switch"
    } else if let Ok(data) = AuthMoreData::parse(payload) {
        data.encode(&mut again, sequence_id);
        match data {
            AuthMoreData::FastAuthSuccess => "fast",
            AuthMoreData::FullAuthentication => "full",
            AuthMoreData::Data(_) => "key",
        }
    } else if let Ok(err) = ErrPacket::parse(payload) {
        assert_eq!((err.code, err.sql_state), (1045, &b"28000"[..]));
        err.encode(&mut again, sequence_id, Capabilities::PROTOCOL_41);
        "err"
    } else {
        let ok = OkPacket::parse(payload).unwrap();
        ok.encode(&mut again, sequence_id, payload[0]);
        "ok"
    };
    (what, again)
}

#[test]
fn logins_with_either_plugin() {
    let expected = [
        ("mariadb", "login_native_", "ok"),
        ("mariadb", "login_native_wrong_", "err"),
        ("mariadb", "login_sha2_first_", "switch ok"),
        ("mariadb", "login_sha2_again_", "switch ok"),
        ("mariadb-11.8", "login_native_", "ok"),
        ("mariadb-11.8", "login_native_wrong_", "err"),
        ("mariadb-11.8", "login_sha2_first_", "switch ok"),
        ("mariadb-11.8", "login_sha2_again_", "switch ok"),
        ("mysql", "login_native_", "switch fast ok"),
        ("mysql", "login_native_wrong_", "switch full key err"),
        ("mysql", "login_sha2_first_", "full key ok"),
        ("mysql", "login_sha2_again_", "fast ok"),
    ];
    for (server, prefix, expected) in expected {
        let mut found = Vec::new();
        for kept in all(prefix) {
            let is_number = |c: char| c.is_ascii_digit();
            let rest = kept.name.strip_prefix(prefix).unwrap_or_default();
            if kept.server != server || !rest.chars().all(is_number) {
                continue;
            }
            let (what, again) = told(&kept.golden.bytes);
            assert_eq!(again, kept.golden.bytes, "{server} {}", kept.name);
            found.push(what);
        }
        assert_eq!(found.join(" "), expected, "{server} {prefix}");
    }
}

/// What the OK of a login tells a client that asked for session tracking: nothing on older servers.
#[test]
fn what_a_login_tells_of_its_session() {
    let variables = [
        "autocommit=ON",
        "time_zone=SYSTEM",
        "character_set_client=utf8mb4",
        "character_set_connection=utf8mb4",
        "character_set_results=utf8mb4",
        "redirect_url=",
    ];
    for kept in all("login_tracked_") {
        let packet = kept.golden.packets()[0];
        let Ok(ok) = OkPacket::parse(&packet[HEADER_LEN..]) else {
            // MySQL asks for another plugin first.
            continue;
        };
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        let told = ok.changes().map(|change| match change {
            StateChange::SystemVariable { name, value } => text(name) + "=" + &text(value),
            other => panic!("{}: {other:?}", kept.server),
        });
        let is_newer = kept.server == "mariadb-11.8";
        let expected: &[_] = if is_newer { &variables } else { &[] };
        assert_eq!(told.collect::<Vec<_>>(), expected, "{}", kept.server);
        assert_eq!(is_server_proof(ok.info), is_newer, "{}", kept.server);
    }
}
