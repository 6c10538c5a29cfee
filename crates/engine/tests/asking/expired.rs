//! Accounts whose password has expired: who is let in, what they may run, and how they go on.

use accounts::Standing;
use events::{Handle, Recorder, Tag};
use wire::{Capabilities, write_packet};

use engine::Mail;

use crate::relays::greeted;
use crate::stage::{OTHER, SECRET, Stage, Told, command, ok, query};

const FLAG: Capabilities = Capabilities::CAN_HANDLE_EXPIRED_PASSWORDS;
const CHANGE: &str = "ALTER USER USER() IDENTIFIED BY 'other'";
const SETUP: &[u8] = b"SET session_track";

/// An account whose password has expired, and a client of it that can handle that.
fn let_in() -> (Stage, (Handle, Tag)) {
    let mut stage = Stage::new();
    stage.publish_one(("app", SECRET), Standing::Expired);
    stage.skills = FLAG;
    let client = stage.log_in("app", "secret");
    let orders = stage.take_orders();
    assert_eq!(stage.told(client.0), Told::Nothing, "it may be over");
    stage.answer(&orders, true);
    assert_eq!(stage.told(client.0), Told::Ok);
    (stage, client)
}

/// The client sets its password; the backend that is opened for that, which has the statement and nothing else.
fn sets_password(stage: &mut Stage, client: Tag) -> Tag {
    stage.say(client, &query(CHANGE));
    let backend = greeted(stage);
    let response = stage.sent();
    let flags = u32::from_le_bytes(response[4..8].try_into().unwrap());
    assert_ne!(flags & FLAG.bits(), 0);
    stage.say(backend, &ok(2, 0));
    assert_eq!(stage.sent(), query(CHANGE));
    backend
}

fn code(told: Told) -> u16 {
    match told {
        Told::Err(code, _) => code,
        other => panic!("{other:?}"),
    }
}

#[test]
fn who_cannot_handle_it_is_turned_away() {
    let mut stage = Stage::new();
    stage.publish_one(("app", SECRET), Standing::Expired);
    for (password, expected) in [("secret", 1862), ("wrong", 1045)] {
        let (client, _) = stage.log_in("app", password);
        let orders = stage.take_orders();
        stage.answer(&orders, true);
        assert_eq!(code(stage.told(client)), expected);
    }
    stage.skills = FLAG;
    let (client, _) = stage.log_in("app", "wrong");
    let orders = stage.take_orders();
    stage.answer(&orders, true);
    assert_eq!(code(stage.told(client)), 1045);
}

#[test]
fn who_has_a_new_password_meanwhile_is_let_in_as_ever() {
    let mut stage = Stage::new();
    stage.publish_one(("app", SECRET), Standing::Expired);
    stage.skills = FLAG;
    let (client, tag) = stage.log_in("app", "secret");
    let orders = stage.take_orders();
    stage.publish_one(("app", SECRET), Standing::Open);
    stage.answer(&orders, true);
    assert_eq!(stage.told(client), Told::Ok);
    stage.say(tag, &query("SELECT 1"));
    assert_eq!(stage.wire.asked.len(), 1);
}

#[test]
fn nothing_but_a_new_password_reaches_the_database() {
    let (mut stage, (client, tag)) = let_in();
    let statements = [
        "SELECT 1",
        "SHOW WARNINGS",
        "SELECT ROW_COUNT()",
        "KILL 1",
        "SET NAMES utf8mb4",
        "ALTER USER USER() IDENTIFIED BY 'other'; SELECT 1",
    ];
    let commands = [
        (0x02, "shop"),
        (0x16, "SELECT 1"),
        (0x1f, ""),
        (0x11, "app"),
    ];
    let all = statements.map(query).into_iter();
    for bytes in all.chain(commands.map(|(kind, text)| command(kind, text))) {
        stage.say(tag, &bytes);
        assert_eq!(code(stage.told(client)), 1820, "{bytes:?}");
    }
    stage.say(tag, &command(0x0e, ""));
    assert_eq!(stage.told(client), Told::Ok);
    assert!(stage.wire.asked.is_empty());
}

#[test]
fn what_sets_the_password_frees_session_and_connection() {
    let (mut stage, (client, tag)) = let_in();
    let backend = sets_password(&mut stage, tag);
    stage.take_orders();
    stage.say(backend, &ok(1, 0));
    assert_eq!(stage.told(client), Told::Nothing, "not before it is known");
    let made_ready = stage.sent();
    assert!(made_ready.windows(SETUP.len()).any(|part| part == SETUP));
    let orders = stage.take_orders();
    stage.publish_one(("app", OTHER), Standing::Open);
    stage.answer(&orders, true);
    assert_eq!(stage.told(client), Told::Ok);
    stage.say(tag, &query("SELECT 1"));
    // It waits for the connection that it has brought: nothing else is known that opens one.
    assert_eq!(stage.told(client), Told::Nothing);
    assert!(stage.wire.asked.is_empty() && !stage.wire.has_closed(Recorder::<Mail>::ASKED));
}

#[test]
fn what_fails_to_set_it_leaves_both_as_they_are() {
    let (mut stage, (client, tag)) = let_in();
    let backend = sets_password(&mut stage, tag);
    let mut refusal = Vec::new();
    write_packet(&mut refusal, 1, b"\xff\x1b\x07#HY000too simple");
    stage.say(backend, &refusal);
    assert_eq!(code(stage.told(client)), 1819);
    assert!(stage.wire.has_closed(Recorder::<Mail>::ASKED));
    stage.say(tag, &query("SELECT 1"));
    assert_eq!(code(stage.told(client)), 1820);
    assert!(stage.wire.asked.is_empty());
}
