//! Answers that no session waits for, because the client hung up: the next session of the backend learns nothing of them.

use events::{Handler, HangUp};
use wire::Command;

use crate::account_statements::row;
use crate::stage::{command, query};
use crate::steady::Session;

/// Each leaves something that an answer tells, or that a session would be asked about.
const LEAVING: [&str; 6] = [
    "SELECT SQL_CALC_FOUND_ROWS a FROM t LIMIT 1",
    "SELECT a FROM t UNION SELECT 2 LIMIT 1",
    "SELECT @a := 1",
    "SELECT LAST_INSERT_ID(7)",
    "SELECT CAST('x' AS SIGNED)",
    "CALL p()",
];

#[test]
fn a_backend_is_cleaned_whose_session_left_in_the_middle_of_an_answer() {
    for text in LEAVING {
        let mut session = Session::new();
        session.receive(session.client.1, &query(text));
        while *session.sent() != query(text) {
            session.forget();
            session.receive(session.backend, &row(&["0"]));
        }
        session.forget();
        let (answer, now) = (row(&["1"]), session.stage.now);
        session.receive(session.backend, &answer[..answer.len() / 2]);
        let stage = &mut session.stage;
        let (client, wire) = (session.client.1, &mut stage.wire);
        stage.engine.hung_up(wire, client, HangUp::Closed, now);
        stage.engine.turn_ended(wire, now);
        session.receive(session.backend, &answer[answer.len() / 2..]);
        let reset = command(Command::ResetConnection as u8, "");
        assert!(session.sent().starts_with(&reset), "{text}: {:?}", session.sent());
        session.stage.engine.check_invariants().unwrap();
    }
}
