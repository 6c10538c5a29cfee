//! `SHOW PINS`: the reasons for which sessions are pinned, added up over all workers.

use std::collections::BTreeMap;

use engine::{PinLine, PinReason};

use super::{Column, Row, number, text};

pub(super) const COLUMNS: &[Column] = &[
    text("reason"),
    number("sessions"),
    number("pins"),
    text("user"),
    text("example"),
];

/// Adds up what the workers told.
pub(super) fn rows(lines: impl IntoIterator<Item = PinLine>) -> Vec<Row> {
    let mut sums: BTreeMap<PinReason, PinLine> = BTreeMap::new();
    for line in lines {
        match sums.get_mut(&line.reason) {
            None => {
                sums.insert(line.reason, line);
            }
            Some(sum) => {
                sum.sessions += line.sessions;
                sum.pins += line.pins;
                if sum.example.is_empty() {
                    (sum.user, sum.example) = (line.user, line.example);
                }
            }
        }
    }
    sums.into_values().map(row).collect()
}

fn row(line: PinLine) -> Row {
    vec![
        line.reason.name().into(),
        line.sessions.into(),
        line.pins.into(),
        line.user.into(),
        line.example.into(),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::Value;
    use super::*;

    fn line(reason: PinReason, (sessions, pins): (u64, u64), example: &str) -> PinLine {
        PinLine {
            reason,
            sessions,
            pins,
            user: "app".into(),
            example: example.into(),
        }
    }

    #[test]
    fn counts_are_added_up_and_the_first_example_stays() {
        let rows = rows([
            line(PinReason::UserLock, (1, 2), ""),
            line(PinReason::UserVariable, (0, 1), "SET @a = ?"),
            line(PinReason::UserLock, (3, 4), "SELECT GET_LOCK(...)"),
            line(PinReason::UserVariable, (1, 1), "SET @b = ?"),
        ]);
        let expected = [
            (PinReason::UserVariable, 1, 2, "SET @a = ?"),
            (PinReason::UserLock, 4, 6, "SELECT GET_LOCK(...)"),
        ];
        let expected = expected.map(|(reason, sessions, pins, example): (_, u64, u64, _)| {
            let row: Row = vec![
                reason.name().into(),
                sessions.into(),
                pins.into(),
                Value::from("app"),
                example.into(),
            ];
            row
        });
        assert_eq!(rows, expected);
    }
}
