//! Commands of many bytes: they are prepared elsewhere, while the worker goes on, and sent in pieces.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use engine::{DisconnectReason, LongCommand, Mail, Preparer, Settings};
use events::{Handle, Handler, HangUp, Recorder};
use wire::{MAX_PAYLOAD, ServerStatus, write_packet};

use crate::stage::{Stage, ok, query, telling};
use crate::steady::{Session, done};

/// No more than so much goes into the outbox of a backend at a time.
const PIECE: usize = 130 << 10;

/// Takes commands, and leaves it to the test when they are prepared.
#[derive(Clone, Default)]
pub(crate) struct Patient(Arc<Mutex<Vec<LongCommand>>>);

impl Preparer for Patient {
    fn prepare(&self, command: LongCommand) -> Result<(), LongCommand> {
        self.0.lock().unwrap().push(command);
        Ok(())
    }
}

impl Patient {
    pub(crate) fn take(&self) -> Option<LongCommand> {
        self.0.lock().unwrap().pop()
    }
}

fn begin() -> (Session, Patient) {
    let session = Session::with(Settings::default());
    let preparer = Patient::default();
    session.stage.shared.prepare_commands_with(preparer.clone());
    (session, preparer)
}

fn insert(len: usize) -> Vec<u8> {
    query(&format!("INSERT INTO t VALUES ('{}')", "x".repeat(len)))
}

/// A command comes as sockets bring it.
fn send(session: &mut Session, bytes: &[u8]) {
    for part in bytes.chunks(60_000) {
        session.stage.say(session.client.1, part);
    }
}

fn prepare(session: &mut Session, preparer: &Patient) {
    let command = preparer.take().expect("it is to be prepared");
    let (worker, mail) = command.prepare();
    assert_eq!(worker, 0);
    session.stage.deliver(mail);
}

/// All that the backend gets, piece by piece.
fn sent(session: &mut Session) -> Vec<u8> {
    let mut all = session.stage.sent();
    assert!(all.len() <= PIECE, "{}", all.len());
    loop {
        let (wire, now) = (&mut session.stage.wire, session.stage.now);
        session.stage.engine.drained(wire, session.backend, now);
        let piece = session.stage.sent();
        assert!(piece.len() <= PIECE, "{}", piece.len());
        if piece.is_empty() {
            return all;
        }
        all.extend(piece);
    }
}

#[test]
fn a_long_command_is_prepared_elsewhere_and_sent_in_pieces() {
    let (mut session, preparer) = begin();
    let command = insert(3 << 20);
    let behind = query("DO 2");
    send(&mut session, &[&command[..], &behind].concat());
    assert!(session.stage.sent().is_empty(), "it is being prepared");
    let reserved = session.stage.shared.command_memory().0;
    assert!((3 << 20..5 << 20).contains(&reserved), "{reserved}");
    prepare(&mut session, &preparer);
    assert!(sent(&mut session) == command);
    assert_eq!(session.stage.shared.command_memory(), (0, 0));
    // What came behind it is not lost.
    session.stage.say(session.backend, &ok(1, 0));
    assert!(session.stage.sent().ends_with(&behind));
    assert_eq!(session.stage.engine.report().counters.long_commands, 1);
}

#[test]
fn a_command_of_several_packets_arrives_as_it_was_sent() {
    for len in [
        MAX_PAYLOAD - 1,
        MAX_PAYLOAD,
        MAX_PAYLOAD + 1,
        2 * MAX_PAYLOAD,
    ] {
        let (mut session, preparer) = begin();
        let mut payload = b"\x03INSERT INTO t VALUES ('".to_vec();
        payload.resize(len - 2, b'x');
        payload.extend_from_slice(b"')");
        let mut command = Vec::new();
        write_packet(&mut command, 0, &payload);
        send(&mut session, &command);
        prepare(&mut session, &preparer);
        assert!(sent(&mut session) == command, "{len}");
        let last = command[command.len() - 4..].to_vec();
        let sequence_id = if len.is_multiple_of(MAX_PAYLOAD) {
            last[3]
        } else {
            (len / MAX_PAYLOAD) as u8
        };
        session.stage.say(session.backend, &ok(sequence_id + 1, 0));
        let told = session.stage.wire.take(session.client.0);
        assert_eq!(told[3], sequence_id + 1);
    }
}

#[test]
fn without_anybody_to_prepare_it_a_command_goes_on_all_the_same() {
    let mut session = Session::with(Settings::default());
    let command = insert(1 << 20);
    send(&mut session, &command);
    assert!(sent(&mut session) == command);
}

#[test]
fn a_client_that_leaves_while_its_command_is_prepared_leaves_nothing() {
    let (mut session, preparer) = begin();
    send(&mut session, &insert(1 << 20));
    let (wire, now) = (&mut session.stage.wire, session.stage.now);
    let client = session.client.1;
    session
        .stage
        .engine
        .hung_up(wire, client, HangUp::Closed, now);
    session.stage.turn();
    prepare(&mut session, &preparer);
    assert!(session.stage.sent().is_empty());
    assert_eq!(session.stage.shared.command_memory(), (0, 0));
}

#[test]
fn a_client_whose_command_was_lost_while_it_was_prepared_is_closed() {
    let (mut session, preparer) = begin();
    send(&mut session, &insert(1 << 20));
    let (worker, client) = preparer.take().expect("it is to be prepared").asker();
    assert_eq!(worker, 0);
    session.stage.deliver(Mail::CommandLost(client));
    assert!(session.stage.wire.has_closed(session.client.0));
    assert_eq!(session.stage.shared.command_memory(), (0, 0));
    let closed_for = DisconnectReason::Defect as usize;
    let counters = session.stage.engine.report().counters;
    assert_eq!(counters.disconnects[closed_for], 1);
}

#[test]
fn the_memory_of_a_command_is_reserved_while_it_is_prepared_whatever_comes_behind_it() {
    let (mut session, preparer) = begin();
    let (command, behind) = (insert(3 << 20), query("DO 2"));
    send(&mut session, &command);
    let is_paused = |session: &Session| session.stage.wire.paused.contains(&session.client.0);
    assert!(!is_paused(&session));
    for byte in &behind {
        session.stage.say(session.client.1, &[*byte]);
        assert!(is_paused(&session), "it sends ahead");
        let reserved = session.stage.shared.command_memory().0;
        assert!((3 << 20..5 << 20).contains(&reserved), "{reserved}");
    }
    prepare(&mut session, &preparer);
    assert!(sent(&mut session) == command);
    session.stage.say(session.backend, &ok(1, 0));
    assert!(session.stage.sent().ends_with(&behind));
    assert_eq!(session.stage.shared.command_memory(), (0, 0));
    session.stage.say(session.backend, &ok(1, 0));
    assert!(!is_paused(&session));
}

/// Panics when it is given a command.
struct Clumsy;

impl Preparer for Clumsy {
    fn prepare(&self, _: LongCommand) -> Result<(), LongCommand> {
        panic!("a defect")
    }
}

#[test]
fn a_client_whose_command_is_lost_on_the_way_to_be_prepared_is_closed() {
    let mut session = Session::with(Settings::default());
    session.stage.shared.prepare_commands_with(Clumsy);
    let command = insert(1 << 20);
    let (last, parts) = command.split_last().unwrap();
    send(&mut session, parts);
    let Stage {
        engine, wire, now, ..
    } = &mut session.stage;
    let client = session.client;
    let received = AssertUnwindSafe(|| engine.received(wire, client.1, &[*last], *now));
    assert!(catch_unwind(received).is_err());
    // Not even that the event was about this client is known.
    let kept = engine.recover(wire, &mut Vec::new(), *now).unwrap();
    assert!(!kept.contains(&client.0), "it would wait for ever");
    assert!(wire.has_closed(client.0));
    session.stage.turn();
    assert_eq!(session.stage.shared.command_memory(), (0, 0));
}

#[test]
fn a_backend_that_answers_before_it_has_the_command_is_not_used_again() {
    let (mut session, preparer) = begin();
    send(&mut session, &insert(1 << 20));
    prepare(&mut session, &preparer);
    assert!(!session.stage.sent().is_empty());
    let mut error = Vec::new();
    write_packet(&mut error, 1, b"\xff\x81\x04#08S01Got a packet bigger");
    session.stage.say(session.backend, &error);
    let told = session.stage.wire.take(session.client.0);
    assert!(told.ends_with(b"Got a packet bigger"));
    let closed = |handle: Handle| session.stage.wire.has_closed(handle);
    assert!(closed(Recorder::<Mail>::ASKED) && !closed(session.client.0));
}

#[test]
fn the_answer_to_what_is_sent_ahead_of_a_long_command_is_not_its_own() {
    let (mut session, preparer) = begin();
    let (first, backend) = (session.client.1, session.backend);
    session
        .stage
        .say(first, &query("SET foreign_key_checks = 0"));
    session.stage.sent();
    let told = telling(&[("foreign_key_checks", "OFF")]);
    session.stage.say(backend, &told);
    let (_, other) = session.stage.log_in("app", "secret");
    let command = insert(1 << 20);
    for part in command.chunks(60_000) {
        session.stage.say(other, part);
    }
    prepare(&mut session, &preparer);
    let mut all = session.stage.sent();
    assert!(!all.is_empty() && !all.starts_with(&command[..100]));
    session.stage.say(backend, &done(ServerStatus::AUTOCOMMIT));
    all.extend(sent(&mut session));
    assert!(all.ends_with(&command));
    session.stage.say(backend, &done(ServerStatus::AUTOCOMMIT));
    assert!(!session.stage.wire.has_closed(Recorder::<Mail>::ASKED));
}
