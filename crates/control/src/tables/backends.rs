//! `SHOW BACKENDS`: the connections to the database.

use engine::BackendLine;

use super::{Column, Row, number, text};

pub(super) const COLUMNS: &[Column] = &[
    number("id"),
    number("worker"),
    text("user"),
    text("schema"),
    text("state"),
    number("state_us"),
    number("age_us"),
    number("session_id"),
    number("commands"),
];

pub(super) fn row(line: BackendLine) -> Row {
    vec![
        u64::from(line.id).into(),
        (line.worker as u64).into(),
        line.user.into(),
        line.schema.into(),
        line.state.into(),
        line.state_us.into(),
        line.age_us.into(),
        line.client.map(u64::from).into(),
        (line.commands as u64).into(),
    ]
}
