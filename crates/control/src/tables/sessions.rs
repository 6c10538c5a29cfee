//! `SHOW SESSIONS`: the client connections.

use engine::ClientLine;
use events::Peer;

use super::{Column, Row, number, text};

pub(super) const COLUMNS: &[Column] = &[
    number("id"),
    text("user"),
    text("host"),
    text("schema"),
    text("state"),
    number("state_us"),
    number("in_transaction"),
    text("pins"),
    number("backend_id"),
    text("statement"),
];

pub(super) fn row(line: ClientLine) -> Row {
    vec![
        u64::from(line.id).into(),
        line.user.into(),
        host(line.peer).into(),
        line.schema.into(),
        line.state.into(),
        line.state_us.into(),
        u64::from(line.in_transaction).into(),
        line.pins.join(",").into(),
        line.backend.map(u64::from).into(),
        line.statement.into(),
    ]
}

fn host(peer: Peer) -> String {
    match peer {
        Peer::Tcp(address) => address.to_string(),
        Peer::Unix => "localhost".to_owned(),
    }
}
