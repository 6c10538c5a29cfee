//! `SHOW QUEUE`: the statements that wait, over all workers, the oldest first.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap};

use engine::ClientLine;

use super::{Column, Row, number, text};

pub(super) const COLUMNS: &[Column] = &[
    number("position"),
    number("id"),
    text("account"),
    text("schema"),
    text("waits_for"),
    number("wait_us"),
    text("statement"),
];

/// Keeps the oldest of those who wait, and counts the others.
pub(super) struct Oldest {
    heap: BinaryHeap<Waiter>,
    most: usize,
    /// How many did not fit.
    pub(super) left_out: u64,
}

/// Ordered by age, so that the youngest is on top of the heap.
struct Waiter(ClientLine);

impl Oldest {
    pub(super) fn new(most: usize) -> Self {
        Self {
            heap: BinaryHeap::new(),
            most,
            left_out: 0,
        }
    }

    pub(super) fn add(&mut self, line: ClientLine) {
        self.heap.push(Waiter(line));
        if self.heap.len() > self.most {
            self.heap.pop();
            self.left_out += 1;
        }
    }

    /// The oldest first; the position is that among the statements of the same account.
    pub(super) fn rows(self) -> Vec<Row> {
        let mut positions: BTreeMap<String, u64> = BTreeMap::new();
        let waiters = self.heap.into_sorted_vec().into_iter();
        let rows = waiters.map(|Waiter(line)| {
            let position = positions.entry(account(&line)).or_default();
            *position += 1;
            row(*position, line)
        });
        rows.collect()
    }
}

/// Whoever is counted together, stands in one queue.
fn account(line: &ClientLine) -> String {
    line.account
        .as_deref()
        .map_or_else(|| line.user.clone(), str::to_owned)
}

fn row(position: u64, line: ClientLine) -> Row {
    let waits_for = match (line.limit, line.state) {
        (Some(limit), _) => limit,
        (None, "for_lane") => "lane",
        (None, "for_lock") => "lock",
        (None, _) => "backend",
    };
    vec![
        position.into(),
        u64::from(line.id).into(),
        account(&line).into(),
        line.schema.into(),
        waits_for.into(),
        line.state_us.into(),
        line.statement.into(),
    ]
}

impl Ord for Waiter {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |waiter: &Self| (waiter.0.since, waiter.0.id);
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for Waiter {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Waiter {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Waiter {}

#[cfg(test)]
mod tests {
    use super::super::Value;
    use super::*;
    use crate::tests::client_line;

    #[test]
    fn no_more_are_held_than_are_told() {
        let mut oldest = Oldest::new(1_000);
        for id in 0..100_000 {
            oldest.add(client_line(id, "a", "waiting", u64::from(id % 777)));
            assert!(oldest.heap.len() <= 1_000);
        }
        assert!(oldest.heap.capacity() < 3_000, "{}", oldest.heap.capacity());
        assert_eq!((oldest.left_out, oldest.rows().len()), (99_000, 1_000));
    }

    #[test]
    fn the_oldest_are_kept_and_numbered_within_their_account() {
        let mut oldest = Oldest::new(3);
        for (id, user, since) in [(1, "a", 50), (2, "b", 40), (3, "a", 10), (4, "b", 30)] {
            oldest.add(client_line(id, user, "waiting", since));
        }
        assert_eq!(oldest.left_out, 1);
        let rows = oldest.rows();
        let numbers = rows.iter().map(|row| (row[0].clone(), row[1].clone()));
        let expected = [(1, 3), (1, 4), (2, 2)];
        let expected = expected.map(|(a, b): (u64, u64)| (Value::from(a), Value::from(b)));
        assert_eq!(numbers.collect::<Vec<_>>(), expected);
    }
}
