//! What sessions begin with, where MySQL's handshake says something else.

use accounts::Standing;
use events::{Handle, Handler, HangUp, Tag};
use wire::{OkPacket, ServerStatus, whole_packet};

use crate::account_statements::{none, row};
use crate::relays::{greeted, greeted_by};
use crate::stage::{SECRET, Stage, collations, ok, query, set_up, sound};

/// A backend that is asked what its session began with, greeted by MySQL. The first one lists the collations.
fn opened(stage: &mut Stage, is_first: bool) -> Tag {
    let backend = greeted_by(stage, "9.7.4");
    stage.sent();
    stage.say(backend, &ok(2, 0));
    if is_first {
        stage.say(backend, &collations());
    }
    stage.say(backend, &set_up());
    backend
}

/// The database says that autocommit is off for sessions that begin, and that nothing else is of concern.
fn tells_autocommit_off(stage: &mut Stage, backend: Tag) {
    let facts = ["utf8mb4", "utf8mb4", "utf8mb4_bin", "", "", "0", "0"];
    let privileges = row(&["0", "app@%"]);
    for answer in [row(&facts), sound(), privileges, none(), row(&["1"])] {
        stage.say(backend, &answer);
    }
}

/// A client that has logged in, and whether it was told that it has autocommit.
fn log_in(stage: &mut Stage) -> ((Handle, Tag), bool) {
    let (client, tag) = stage.log_in("app", "secret");
    let told = stage.wire.take(client);
    let payload = whole_packet(&told).unwrap().payload.bytes().to_vec();
    let status = OkPacket::parse(&payload).unwrap().status;
    ((client, tag), status.contains(ServerStatus::AUTOCOMMIT))
}

fn restores_autocommit_off(sent: &[u8]) -> bool {
    let restored = b"autocommit='OFF'";
    sent.windows(restored.len()).any(|part| part == restored)
}

/// The handshake of MySQL has the flag whatever `@@global.autocommit` is: what runs in a session must not be committed
/// because another connection was being opened when it began.
#[test]
fn a_session_begins_without_autocommit_also_while_a_connection_is_opened() {
    let mut stage = Stage::new();
    stage.publish_one(("app", SECRET), Standing::Open);
    // It is there before anything is known of the database.
    let ((_, first), _) = log_in(&mut stage);
    stage.say(first, &query("INSERT INTO t VALUES (1)"));
    let backend = opened(&mut stage, true);
    // So is this one, although a handshake has come.
    let ((_, second), _) = log_in(&mut stage);
    tells_autocommit_off(&mut stage, backend);
    let sent = stage.sent();
    assert!(restores_autocommit_off(&sent), "{}", sent.escape_ascii());
    // Another handshake comes.
    stage.say(second, &query("INSERT INTO t VALUES (2)"));
    opened(&mut stage, false);
    let (_, has_autocommit) = log_in(&mut stage);
    assert!(!has_autocommit);
}

/// The command that waited when that became known stands behind it.
#[test]
fn what_is_run_for_a_session_that_begins_is_not_taken_for_the_command_that_waited() {
    let mut stage = Stage::new();
    stage.publish_one(("app", SECRET), Standing::Open);
    let ((_, client), _) = log_in(&mut stage);
    stage.say(client, &query("SELECT a FROM t"));
    let backend = greeted(&mut stage);
    let wire = &mut stage.wire;
    stage
        .engine
        .hung_up(wire, client, HangUp::Closed, stage.now);
    // By now it is known how texts are read.
    let ((_, client), _) = log_in(&mut stage);
    stage.say(client, &query("SELECT a FROM t"));
    stage.sent();
    let of_session = ["utf8mb4", "utf8mb4", "utf8mb4_bin", "", "", "1", "0", "0"];
    // SET @a = 1
    let of_all = [
        "534554204061203d2031",
        "28800",
        "28800",
        "",
        "1",
        "0",
        "NONE",
    ];
    let facts = row(&[&of_session[..], &of_all].concat());
    for answer in [
        ok(2, 0),
        collations(),
        set_up(),
        facts.clone(),
        sound(),
        row(&["0", "app@%"]),
        // What was run for the backend is cleaned off it.
        ok(1, 0),
        set_up(),
        facts,
        none(),
        row(&["1"]),
    ] {
        stage.say(backend, &answer);
    }
    let sent = stage.sent();
    assert!(sent.ends_with(b"\x03SET @a = 1"), "{}", sent.escape_ascii());
}
