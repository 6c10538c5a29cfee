//! Statements about accounts: they are answered when the accounts were read again, and the session goes on when
//! its backend, too, has told all that is asked of it.

use accounts::Standing;
use events::Tag;
use wire::{OkPacket, ServerStatus, write_packet};

use crate::relays::greeted;
use crate::stage::{SECRET, Stage, Told, collations, ok, query, set_up, sound};

/// A result set of one row, as a backend sends it.
pub(crate) fn row(values: &[&str]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let count = [values.len() as u8];
    let mut packets = vec![count.to_vec()];
    packets.extend(values.iter().map(|_| b"def".to_vec()));
    let value = |value: &&str| [&[value.len() as u8], value.as_bytes()].concat();
    packets.push(values.iter().flat_map(value).collect());
    for (place, packet) in packets.iter().enumerate() {
        write_packet(&mut bytes, place as u8 + 1, packet);
    }
    end(bytes, packets.len())
}

/// What follows so many packets of rows, with autocommit.
fn end(mut bytes: Vec<u8>, packets: usize) -> Vec<u8> {
    let ok = OkPacket {
        status: ServerStatus::AUTOCOMMIT,
        ..OkPacket::default()
    };
    ok.encode(&mut bytes, packets as u8 + 1, 0xfe);
    bytes
}

/// A result set of one column without rows.
pub(crate) fn none() -> Vec<u8> {
    let mut bytes = Vec::new();
    for (place, packet) in [b"\x01".to_vec(), b"def".to_vec()].iter().enumerate() {
        write_packet(&mut bytes, place as u8 + 1, packet);
    }
    end(bytes, 2)
}

/// The backend that a statement of the client is sent to, which has got it.
fn runs(stage: &mut Stage, client: Tag, text: &str) -> Tag {
    stage.say(client, &query(text));
    let backend = greeted(stage);
    stage.sent();
    stage.say(backend, &ok(2, 0));
    stage.say(backend, &collations());
    stage.say(backend, &set_up());
    let facts = ["utf8mb4", "utf8mb4", "utf8mb4_bin", "", "", "1", "0"];
    stage.say(backend, &row(&facts));
    stage.say(backend, &sound());
    stage.say(backend, &row(&["0", "app@%"]));
    let asked = stage.sent();
    let of_triggers = b"information_schema.TRIGGERS";
    assert!(
        asked
            .windows(of_triggers.len())
            .any(|part| part == of_triggers)
    );
    stage.say(backend, &none());
    // The list of conditions is emptied behind it.
    stage.say(backend, &row(&["1"]));
    let all = stage.sent();
    let statement = query(text);
    assert!(all.ends_with(&statement), "{}", all.escape_ascii());
    backend
}

#[test]
fn warnings_are_there_however_soon_the_accounts_were_read() {
    let mut stage = Stage::new();
    stage.publish_one(("app", SECRET), Standing::Open);
    let (client, tag) = stage.log_in("app", "secret");
    assert_eq!(stage.told(client), Told::Ok);
    let backend = runs(&mut stage, tag, "CREATE ROLE IF NOT EXISTS there");
    stage.take_orders();
    stage.say(backend, &ok(1, 1));
    assert_eq!(stage.sent(), query("SHOW WARNINGS"));
    let orders = stage.take_orders();
    assert_eq!(
        stage.told(client),
        Told::Nothing,
        "not before they are read"
    );
    stage.answer(&orders, true);
    assert_eq!(stage.told(client), Told::Ok);
    stage.say(tag, &query("SHOW WARNINGS"));
    assert_eq!(stage.told(client), Told::Nothing, "not before it is known");
    stage.say(backend, &row(&["Note", "3163", "it is there"]));
    let told = stage.wire.take(client);
    assert!(told.windows(11).any(|part| part == b"it is there"));
}
