//! Logins that a backend decides: how many at a time, who gives way, and what a client is told of the backend's word.

use events::{Handler, Recorder, Span, Tag, Timestamp};
use wire::{
    AuthSwitchRequest, Capabilities, ExtendedCapabilities, InitialHandshake, NATIVE_PASSWORD,
    OkPacket, ServerStatus, write_packet,
};

use engine::{Mail, Settings, Shared};

use crate::stage::{Stage, Told};

const RESET: &[u8] = &[1, 0, 0, 0, 0x1f];

/// A worker, and so many logins that backends decide at a time.
fn stage(worker: (&std::sync::Arc<Shared>, usize), max_relays: usize) -> Stage {
    let settings = Settings {
        max_relays,
        ..Settings::default()
    };
    let mut stage = Stage::of_worker(worker, settings);
    stage.ask_the_database("ed");
    stage
}

fn alone(max_relays: usize) -> Stage {
    stage((&Shared::new(1, 8), 0), max_relays)
}

/// The backend connection that was asked for last, greeted by the server.
pub(crate) fn greeted(stage: &mut Stage) -> Tag {
    greeted_by(stage, "5.5.5-10.11.14-MariaDB")
}

/// The same by a server of this version.
pub(crate) fn greeted_by(stage: &mut Stage, version: &str) -> Tag {
    let backend = stage.wire.asked.pop().expect("a connection is asked for");
    let handshake = InitialHandshake {
        server_version: version.as_bytes(),
        connection_id: 7,
        nonce: [9; 20],
        capabilities: Capabilities::all() - Capabilities::SSL,
        extended: ExtendedCapabilities::empty(),
        collation: 45,
        status: ServerStatus::AUTOCOMMIT,
        auth_plugin: NATIVE_PASSWORD,
    };
    let mut bytes = Vec::new();
    handshake.encode(&mut bytes, 0);
    stage.say(backend, &bytes);
    backend
}

/// The same, which has asked its question.
fn asking(stage: &mut Stage) -> Tag {
    let backend = greeted(stage);
    let request = AuthSwitchRequest {
        plugin: b"client_ed25519",
        data: &[5; 32],
    };
    let mut bytes = Vec::new();
    request.encode(&mut bytes, 2);
    stage.say(backend, &bytes);
    backend
}

/// It does not let the client in.
fn refuse(stage: &mut Stage, backend: Tag, (code, text): (u16, &str)) {
    let mut payload = vec![0xff];
    payload.extend_from_slice(&code.to_le_bytes());
    payload.extend_from_slice(b"#28000");
    payload.extend_from_slice(text.as_bytes());
    let mut bytes = Vec::new();
    write_packet(&mut bytes, 2, &payload);
    stage.say(backend, &bytes);
}

fn at(ms: u64) -> Timestamp {
    Timestamp::ZERO + Span::from_ms(ms)
}

fn timer(stage: &mut Stage, ms: u64) {
    stage.now = at(ms);
    stage.engine.timer(&mut stage.wire, at(ms));
    stage.turn();
}

#[test]
fn who_has_a_backend_wait_gives_way_to_those_who_wait_for_one() {
    let mut stage = alone(2);
    let (first, _) = stage.log_in("ed", "");
    asking(&mut stage);
    let (second, _) = stage.log_in("ed", "");
    asking(&mut stage);
    assert_eq!(stage.told(first), Told::Question);
    assert_eq!(stage.told(second), Told::Question);
    // Nobody else wants to log in so.
    timer(&mut stage, 3_000);
    assert!(!stage.wire.has_closed(first));
    let (third, tag) = stage.log_in("ed", "");
    assert_eq!(stage.engine.next_timer(), Some(at(1_000)));
    timer(&mut stage, 3_000);
    assert!(matches!(stage.told(first), Told::Err(1040, _)));
    assert!(stage.wire.has_closed(first) && !stage.wire.has_closed(second));
    asking(&mut stage);
    assert_eq!(stage.told(third), Told::Question);
    // It has a second of its own, however long it has waited.
    let (_, fourth) = stage.log_in("ed", "");
    timer(&mut stage, 3_000);
    assert!(!stage.wire.has_closed(third));
    assert!(stage.wire.has_closed(second));
    let how = events::HangUp::Closed;
    stage
        .engine
        .hung_up(&mut stage.wire, fourth, how, at(3_000));
    stage.engine.hung_up(&mut stage.wire, tag, how, at(3_000));
    stage.turn();
    let (last, _) = stage.log_in("ed", "");
    asking(&mut stage);
    assert_eq!(stage.told(last), Told::Question);
}

#[test]
fn places_are_those_of_all_workers_together() {
    let shared = Shared::new(2, 8);
    let (mut one, mut other) = (stage((&shared, 0), 1), stage((&shared, 1), 1));
    let (silent, _) = one.log_in("ed", "");
    asking(&mut one);
    one.wire.posted.clear();
    let (waits, _) = other.log_in("ed", "");
    assert!(other.wire.asked.is_empty(), "there is no place for it");
    hand_over(&mut other, &mut one);
    timer(&mut one, 999);
    assert!(!one.wire.has_closed(silent));
    timer(&mut one, 1_000);
    assert!(one.wire.has_closed(silent));
    // The place goes where somebody waits for it, although somebody comes here, too.
    let (late, _) = one.log_in("ed", "");
    assert!(one.wire.asked.is_empty());
    hand_over(&mut one, &mut other);
    let backend = asking(&mut other);
    assert_eq!(other.told(waits), Told::Question);
    hand_over(&mut other, &mut one);
    refuse(
        &mut other,
        backend,
        (
            1045,
            "Access denied for user 'ed'@'here' (using password: YES)",
        ),
    );
    hand_over(&mut other, &mut one);
    asking(&mut one);
    assert_eq!(one.told(late), Told::Question);
}

/// What one worker has posted reaches the other.
fn hand_over(from: &mut Stage, to: &mut Stage) {
    let mails: Vec<Mail> = from.wire.posted.drain(..).collect();
    for mail in mails {
        to.deliver(mail);
    }
}

#[test]
fn what_the_database_says_of_addresses_is_not_told() {
    let denied = "Access denied for user 'ed'@'192.0.2.1'";
    let with = format!("{denied} (using password: YES)");
    let barred = "Host '192.0.2.1' is not allowed to connect to this MariaDB server";
    for (code, text, expected) in [
        (
            1045,
            &*with,
            (
                1045,
                "Access denied for user 'ed'@'10.0.0.1' (using password: YES)",
            ),
        ),
        (
            1698,
            denied,
            (1698, "Access denied for user 'ed'@'10.0.0.1'"),
        ),
        (1130, barred, (1053, "Server shutdown in progress")),
        (1129, barred, (1053, "Server shutdown in progress")),
        (1862, "expired", (1862, "expired")),
    ] {
        let mut stage = alone(1);
        let (client, _) = stage.log_in("ed", "");
        let backend = asking(&mut stage);
        stage.wire.take(client);
        refuse(&mut stage, backend, (code, text));
        assert_eq!(
            stage.told(client),
            Told::Err(expected.0, expected.1.to_owned())
        );
    }
}

#[test]
fn what_has_changed_for_all_sessions_holds_for_one_that_is_being_opened() {
    for changes in [false, true] {
        let mut stage = alone(1);
        let (_, client) = stage.log_in("ed", "");
        let backend = asking(&mut stage);
        if changes {
            stage.deliver(Mail::GlobalChanged);
        }
        let mut answer = Vec::new();
        write_packet(&mut answer, 3, b"proof");
        stage.say(client, &answer);
        stage.wire.take(Recorder::<Mail>::ASKED);
        let mut ok = Vec::new();
        OkPacket::default().encode(&mut ok, 4, 0x00);
        stage.say(backend, &ok);
        let sent = stage.wire.take(Recorder::<Mail>::ASKED);
        let resets = sent.windows(RESET.len()).filter(|part| *part == RESET);
        assert_eq!(resets.count(), usize::from(changes));
    }
}
