//! Answers that no session waits for, because the client hung up: the next session of the backend learns nothing of them.

use events::{Handler, HangUp};
use wire::{Command, ServerStatus, whole_packet};

use crate::account_statements::row;
use crate::stage::{command, query};
use crate::steady::{Session, done};

/// Each leaves something that an answer tells, or that a session would be asked about.
const LEAVING: [&str; 6] = [
    "SELECT SQL_CALC_FOUND_ROWS a FROM t LIMIT 1",
    "SELECT a FROM t UNION SELECT 2 LIMIT 1",
    "SELECT @a := 1",
    "SELECT LAST_INSERT_ID(7)",
    "SELECT CAST('x' AS SIGNED)",
    "CALL p()",
];

const ROLLBACK: &[u8] = b"ROLLBACK AND NO CHAIN NO RELEASE";

/// Answers what the front door asks, and sets, before a statement.
fn bring_to(session: &mut Session, text: &str) {
    for _ in 0..10 {
        let sent = std::mem::take(session.sent());
        let mut before = &sent[..];
        while !before.is_empty() && before != query(text) {
            let packet = whole_packet(before).unwrap();
            let asks = packet.payload.bytes().starts_with(b"\x03SELECT");
            before = &before[packet.consumed..];
            let answer = if asks {
                row(&["0"])
            } else {
                done(ServerStatus::AUTOCOMMIT)
            };
            session.receive(session.backend, &answer);
        }
        if !before.is_empty() {
            return;
        }
    }
    panic!("{text} was never sent");
}

#[test]
fn a_backend_is_cleaned_whose_session_left_in_the_middle_of_an_answer() {
    for text in LEAVING {
        let mut session = Session::new();
        session.receive(session.client.1, &query(text));
        bring_to(&mut session, text);
        let (answer, now) = (row(&["1"]), session.stage.now);
        session.receive(session.backend, &answer[..answer.len() / 2]);
        let stage = &mut session.stage;
        let (client, wire) = (session.client.1, &mut stage.wire);
        stage.engine.hung_up(wire, client, HangUp::Closed, now);
        stage.engine.turn_ended(wire, now);
        session.receive(session.backend, &answer[answer.len() / 2..]);
        if session.sent().ends_with(ROLLBACK) {
            // It may have prepared an XA transaction, which a reset would spoil.
            session.forget();
            session.receive(session.backend, &done(ServerStatus::AUTOCOMMIT));
        }
        let reset = command(Command::ResetConnection as u8, "");
        let sent = session.sent();
        assert!(sent.starts_with(&reset), "{text}: {sent:?}");
        session.stage.engine.check_invariants().unwrap();
    }
}
