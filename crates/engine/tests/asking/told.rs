//! What a text sets must be told: the session tracker of some servers mixes up variables, or leaves some out.

use accounts::Standing;
use events::{Handle, Tag};
use wire::{Capabilities, InitialHandshake, NATIVE_PASSWORD, ServerStatus, whole_packet};

use crate::account_statements::{none, row};
use crate::relays::greeted;
use crate::stage::{SECRET, Stage, Told, collations, ok, query, set_up, sound, telling};

/// A backend whose probe is answered so; sessions of one account come to it.
struct Backend {
    stage: Stage,
    tag: Tag,
}

impl Backend {
    fn new(probed: &[u8], is_sound: bool) -> Self {
        let mut stage = Stage::new();
        stage.skills = Capabilities::MULTI_STATEMENTS;
        stage.publish_one(("app", SECRET), Standing::Open);
        let (_, first) = stage.log_in("app", "secret");
        stage.say(first, &query("DO 1"));
        let tag = greeted(&mut stage);
        let facts = ["utf8mb4", "utf8mb4", "utf8mb4_bin", "", "", "1", "0", "0"];
        let privileges = row(&["0", "app@%"]);
        let facts = row(&facts);
        let probed = probed.to_vec();
        for answer in [ok(2, 0), collations(), set_up(), facts, probed, privileges] {
            stage.say(tag, &answer);
        }
        if !is_sound {
            // What sessions begin with.
            stage.say(tag, &row(&["unique_checks", "ON"]));
        }
        for answer in [none(), row(&["1"]), ok(1, 0)] {
            stage.say(tag, &answer);
        }
        stage.sent();
        Self { stage, tag }
    }

    fn client(&mut self) -> (Handle, Tag) {
        let client = self.stage.log_in("app", "secret");
        assert_eq!(self.stage.told(client.0), Told::Ok);
        client
    }

    /// The texts that the backend has got since it was looked at last.
    fn sent(&mut self) -> String {
        let bytes = self.stage.sent();
        let (mut rest, mut texts) = (&bytes[..], Vec::new());
        while let Ok(packet) = whole_packet(rest) {
            let payload = packet.payload.bytes();
            texts.push(String::from_utf8_lossy(&payload[1..]).into_owned());
            rest = &rest[packet.consumed..];
        }
        texts.join("; ")
    }

    /// A client's statement, and these answers to it: what is sent to the backend behind the last.
    fn runs(&mut self, client: Tag, text: &str, answers: &[Vec<u8>]) -> String {
        self.stage.say(client, &query(text));
        self.stage.sent();
        for answer in answers {
            self.stage.say(self.tag, answer);
        }
        self.sent()
    }
}

/// MariaDB 11.8 tells another flag.
fn mixed_up() -> Vec<u8> {
    telling(&[
        ("autocommit", "ON"),
        ("innodb_lock_wait_timeout", "50"),
        ("myisam_sort_buffer_size", "1"),
    ])
}

#[test]
fn what_a_sound_server_tells_is_asked_for_by_nobody() {
    let mut backend = Backend::new(&sound(), true);
    let (_, client) = backend.client();
    for (text, told) in [
        (
            "SET foreign_key_checks = 0",
            &[("foreign_key_checks", "OFF")][..],
        ),
        (
            "SET @@long_query_time = 5",
            &[("log_slow_query_time", "5.000000")],
        ),
        (
            "SET wsrep_osu_method = 'RSU', SESSION sql_notes = 0",
            &[("wsrep_OSU_method", "RSU"), ("sql_notes", "OFF")],
        ),
        ("SET timestamp = 1", &[("timestamp", "1")]),
    ] {
        assert_eq!(backend.runs(client, text, &[telling(told)]), "", "{text}");
    }
}

#[test]
fn what_is_set_and_not_told_is_asked_for_and_carried() {
    let mut backend = Backend::new(&mixed_up(), false);
    let (_, client) = backend.client();
    let (_, other) = backend.client();
    let told = telling(&[("autocommit", "ON")]);
    let asked = backend.runs(client, "SET foreign_key_checks = 0", &[told]);
    assert_eq!(asked, "SELECT @@session.foreign_key_checks LIMIT 1");
    // Of another session, which waits.
    backend.stage.say(other, &query("DO 2"));
    assert_eq!(backend.sent(), "");
    backend.stage.say(backend.tag, &row(&["0"]));
    let sent = backend.sent();
    let gives_up = "@@session.foreign_key_checks=@@global.foreign_key_checks";
    assert!(
        sent.starts_with("SET ") && sent.contains(gives_up),
        "{sent}"
    );
}

/// Older MariaDB 11.4 tells another flag, and of variables of plugins only that something has changed.
#[test]
fn a_server_that_tells_nothing_but_another_flag_is_used() {
    let told = telling(&[("autocommit", "ON")]);
    let mut backend = Backend::new(&told, false);
    let (_, client) = backend.client();
    let asked = backend.runs(client, "SET foreign_key_checks = 0", &[told]);
    assert_eq!(asked, "SELECT @@session.foreign_key_checks LIMIT 1");
}

#[test]
fn of_several_statements_those_are_asked_about_that_ran() {
    let mut backend = Backend::new(&mixed_up(), false);
    let (_, client) = backend.client();
    let mut first = telling(&[]);
    // More results follow.
    let status = (ServerStatus::AUTOCOMMIT
        | ServerStatus::SESSION_STATE_CHANGED
        | ServerStatus::MORE_RESULTS_EXISTS)
        .bits();
    first[7..9].copy_from_slice(&status.to_le_bytes());
    let mut error = b"\x09\0\0\x02\xff\x48\x04#42S22".to_vec();
    error.truncate(13);
    let text = "SET unique_checks = 0, @a = 1; SET nothing = 0; SET sql_notes = 0";
    // An error leaves open whether there is a transaction, and its conditions are read before anything is asked.
    let asked = backend.runs(client, text, &[first, error, ok(1, 0), none()]);
    assert!(
        asked.contains("SELECT @@session.unique_checks LIMIT 1"),
        "{asked}"
    );
    assert!(
        !asked.contains("nothing") && !asked.contains("sql_notes"),
        "{asked}"
    );
}

#[test]
fn a_session_that_cannot_be_asked_keeps_its_backend() {
    let mut backend = Backend::new(&mixed_up(), false);
    let (_, client) = backend.client();
    let (_, other) = backend.client();
    let told = telling(&[]);
    let asked = backend.runs(client, "SET sql_log_off = 1", &[told]);
    assert_eq!(asked, "SELECT @@session.sql_log_off LIMIT 1");
    backend
        .stage
        .say(backend.tag, b"\x09\0\0\x01\xff\x25\x05#70100");
    backend.stage.say(other, &query("DO 2"));
    assert_eq!(backend.sent(), "");
    backend.stage.say(client, &query("DO 3"));
    assert_eq!(backend.sent(), "DO 3");
}

/// What a client that has gone has set is known to nobody.
#[test]
fn whoever_hangs_up_behind_a_set_leaves_a_backend_to_be_cleaned() {
    let mut backend = Backend::new(&mixed_up(), false);
    let (_, client) = backend.client();
    backend.stage.say(client, &query("SET unique_checks = 0"));
    assert_eq!(backend.sent(), "SET unique_checks = 0");
    let now = backend.stage.now;
    let stage = &mut backend.stage;
    events::Handler::hung_up(
        &mut stage.engine,
        &mut stage.wire,
        client,
        events::HangUp::Closed,
        now,
    );
    stage.turn();
    stage.say(backend.tag, &telling(&[]));
    let sent = backend.sent();
    assert!(sent.contains("SET session_track_schema=1"), "{sent}");
}

fn greet(stage: &mut Stage, version: &str, capabilities: Capabilities) {
    let backend = stage.wire.asked.pop().expect("a connection is asked for");
    let handshake = InitialHandshake {
        server_version: version.as_bytes(),
        connection_id: 7,
        nonce: [9; 20],
        capabilities,
        extended: wire::ExtendedCapabilities::empty(),
        collation: 45,
        status: ServerStatus::AUTOCOMMIT,
        auth_plugin: NATIVE_PASSWORD,
    };
    let mut bytes = Vec::new();
    handshake.encode(&mut bytes, 0);
    stage.say(backend, &bytes);
}

#[test]
fn a_server_that_cannot_track_sessions_is_refused_at_once() {
    let mut stage = Stage::new();
    stage.publish_one(("app", SECRET), Standing::Open);
    let (client, tag) = stage.log_in("app", "secret");
    assert_eq!(stage.told(client), Told::Ok);
    stage.say(tag, &query("DO 1"));
    let lacking = Capabilities::all() - Capabilities::SSL - Capabilities::SESSION_TRACK;
    greet(&mut stage, "5.6.51", lacking);
    let why = "Myriad cannot use the database behind it: 5.6.51 cannot track sessions; MariaDB 10.2 and MySQL 5.7 are \
               the oldest that can";
    assert_eq!(stage.told(client), Told::Err(1235, why.into()));
    // So is who comes before it is tried again.
    stage.say(tag, &query("DO 2"));
    assert_eq!(stage.told(client), Told::Err(1235, why.into()));
    assert!(stage.wire.asked.is_empty());
}

#[test]
fn a_server_that_tells_nothing_is_refused_at_once() {
    let mut stage = Stage::new();
    stage.publish_one(("app", SECRET), Standing::Open);
    let (client, tag) = stage.log_in("app", "secret");
    assert_eq!(stage.told(client), Told::Ok);
    stage.say(tag, &query("DO 1"));
    let backend = greeted(&mut stage);
    let facts = ["utf8mb4", "utf8mb4", "utf8mb4_bin", "", "1", "0", "0"];
    for answer in [ok(2, 0), collations(), set_up(), row(&facts), telling(&[])] {
        stage.say(backend, &answer);
    }
    let Told::Err(1235, why) = stage.told(client) else {
        panic!("it is not told");
    };
    assert!(
        why.ends_with("does not tell which variables its sessions set"),
        "{why}"
    );
}
