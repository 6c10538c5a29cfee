//! Packets of a backend that no command had asked for: no client is told any of them.

use events::{Handler, Recorder};

use engine::Mail;

use crate::account_statements::row;
use crate::stage::{ok, query};
use crate::steady::{Exchange, Session};

impl Session {
    fn has_lost_backend(&self) -> bool {
        self.stage.wire.has_closed(Recorder::<Mail>::ASKED)
    }

    fn unasked(&self) -> u64 {
        self.stage.engine.report().counters.backend_unasked_packets
    }

    /// What the client was told.
    fn told(&mut self) -> Vec<u8> {
        self.stage.wire.take(self.client.0)
    }
}

fn read() -> Exchange {
    Exchange {
        command: query("SELECT c FROM sbtest1 WHERE id=12345"),
        answer: row(&["some text"]),
    }
}

#[test]
fn a_backend_that_sends_a_packet_while_idle_is_closed() {
    let mut session = Session::new();
    session.receive(session.backend, &ok(1, 0));
    assert!(session.has_lost_backend());
    assert_eq!((session.unasked(), session.told()), (1, Vec::new()));
}

#[test]
fn what_is_behind_an_answer_is_not_the_answer_to_the_next_command() {
    let mut session = Session::new();
    let Exchange { command, answer } = read();
    session.receive(session.client.1, &[&command[..], &query("DO 2")].concat());
    assert_eq!(*session.sent(), command);
    session.forget();
    session.receive(session.backend, &[&answer[..], &ok(1, 0)].concat());
    assert!(session.has_lost_backend());
    assert_eq!(session.unasked(), 1);
    let told = session.told();
    assert!(told.starts_with(&answer));
    // 1053: whether the next command has run is not known.
    assert_eq!(told[answer.len() + 4..][..3], [0xff, 0x1d, 0x04]);
}

#[test]
fn what_comes_before_a_command_has_left_is_not_its_answer() {
    let mut session = Session::new();
    let now = session.stage.now;
    let Session {
        stage,
        client,
        backend,
    } = &mut session;
    let wire = &mut stage.wire;
    stage.engine.received(wire, client.1, &query("DO 2"), now);
    stage.engine.received(wire, *backend, &ok(1, 0), now);
    stage.engine.turn_ended(wire, now);
    assert!(session.has_lost_backend());
    assert_eq!(session.unasked(), 1);
}

#[test]
fn a_lane_that_answers_more_than_it_was_asked_is_closed() {
    let mut session = Session::new();
    let read = read();
    let in_lanes = |session: &Session| session.stage.engine.report().counters.lane_statements;
    for _ in 0..100 {
        if in_lanes(&session) == 0 {
            session.learn(&read);
        }
    }
    session.receive(session.client.1, &read.command);
    assert_eq!(in_lanes(&session), 2);
    session.forget();
    session.receive(session.backend, &[&read.answer[..], &read.answer].concat());
    assert!(session.has_lost_backend());
    assert_eq!((session.unasked(), session.told()), (1, read.answer));
}

#[test]
fn an_err_packet_before_the_end_is_no_packet_that_nobody_asked_for() {
    let mut session = Session::new();
    session.receive(session.backend, b"\x0b\0\0\0\xff\xbf\x0f#HY000No");
    assert!(session.has_lost_backend());
    assert_eq!((session.unasked(), session.told()), (0, Vec::new()));
}
