//! What sessions keep is bounded over all of them: who would have more does without.

use engine::Settings;
use wire::{Command, Header, write_packet};

use crate::stage::{command, query};
use crate::steady::Session;

const PREPARE: u8 = Command::StmtPrepare as u8;

/// What a backend says to COM_STMT_PREPARE of a statement without parameters and columns.
fn prepared(id: u32) -> Vec<u8> {
    let mut payload = vec![0];
    payload.extend_from_slice(&id.to_le_bytes());
    payload.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0]);
    let mut bytes = Vec::new();
    write_packet(&mut bytes, 1, &payload);
    bytes
}

/// The number of the ERR packet that a client is told.
fn code(told: &[u8]) -> Option<u16> {
    let payload = &told[4..];
    (payload[0] == 0xff).then(|| u16::from_le_bytes([payload[1], payload[2]]))
}

#[test]
fn no_session_prepares_more_when_all_have_too_much() {
    let mut session = Session::with(Settings {
        session_memory: 10_000,
        ..Settings::default()
    });
    let mut told = Vec::new();
    let mut count = 0;
    while told.is_empty() || code(&told).is_none() {
        count += 1;
        assert!(count < 1_000, "nothing bounds it");
        let text = format!("DO {count}");
        session
            .stage
            .say(session.client.1, &command(PREPARE, &text));
        let sent = session.stage.sent();
        if !sent.is_empty() {
            assert!(Header::parse(&sent).is_some());
            session.stage.say(session.backend, &prepared(count));
        }
        told = session.stage.wire.take(session.client.0);
    }
    assert_eq!(code(&told), Some(1461));
    assert!(count > 20, "{count}");
    let report = session.stage.engine.report();
    assert!((5_000..20_000).contains(&report.gauges.session_bytes));
    assert_eq!(report.counters.session_memory_refused, 1);
    // A session that begins anew gives it back.
    let reset = command(Command::ResetConnection as u8, "");
    session.stage.say(session.client.1, &reset);
    let report = session.stage.engine.report();
    assert!(report.gauges.session_bytes < 1_000, "{:?}", report.gauges);
    session.stage.say(session.client.1, &query("DO 1"));
    assert!(!session.stage.sent().is_empty());
}
