//! Statements that must hold a row first: waiting, deadlocks, giving up.

use std::ops::Range;

use super::answer::Outcome;
use super::connection::{Blocked, Phase};
use super::execute::{LOCK_WAIT_TIMEOUT, row_to_lock};
use super::session::Condition;
use super::sql::Sql;
use super::{Database, Outside};
use crate::failure::Broken;
use crate::schedule::Event;

impl Database {
    /// Begins a statement: it runs, or waits for the row that it writes.
    pub(super) fn start(
        &mut self,
        outside: &mut Outside<'_>,
        id: usize,
        sql: Sql,
        tag: Option<String>,
    ) -> Result<(), Broken> {
        self.note_running(id, &sql, tag.as_deref());
        match &sql {
            Sql::KillQuery(victim) => return self.kill_query(outside, id, *victim),
            Sql::LoadLocal(rows) => return self.ask_for_file(outside, id, (*rows, tag)),
            Sql::Multiple(parts) => return self.run_multiple(outside, id, parts, tag.as_deref()),
            _ => {}
        }
        let row = row_to_lock(&self.connections[id].session, &sql);
        let Some(row) = row.filter(|row| self.storage.has(&row.0)) else {
            return self.run(outside, id, &sql, tag.as_deref());
        };
        let Some(holder) = self.storage.lock(&row, id) else {
            return self.run(outside, id, &sql, tag.as_deref());
        };
        if self.waits_for(holder, id) {
            self.work(id).rollback();
            let error = Condition::Error(wire::code::DEADLOCK);
            self.connections[id].session.diagnostics = Some(error);
            self.tell(outside, id, &Outcome::Err(wire::code::DEADLOCK))?;
            return self.wake(outside);
        }
        let connection = &mut self.connections[id];
        connection.phase = Phase::Blocked;
        connection.number += 1;
        let number = connection.number;
        let since = outside.schedule.now();
        connection.blocked = Some(Blocked {
            sql,
            tag,
            row,
            since,
        });
        let timeout = self.health.lock_wait_us;
        let connection = id;
        outside
            .schedule
            .after_us(timeout, Event::LockTimeout { connection, number });
        Ok(())
    }

    /// A statement has waited for a row long enough: it alone is given up.
    pub(crate) fn lock_timeout(
        &mut self,
        outside: &mut Outside<'_>,
        id: usize,
        number: u64,
    ) -> Result<(), Broken> {
        let connection = &mut self.connections[id];
        if connection.phase != Phase::Blocked || connection.number != number {
            return Ok(());
        }
        connection.blocked = None;
        connection.session.diagnostics = Some(Condition::Error(LOCK_WAIT_TIMEOUT));
        self.tell(outside, id, &Outcome::Err(LOCK_WAIT_TIMEOUT))
    }

    /// Rows may have become free: whoever waited the longest goes on.
    pub(super) fn wake(&mut self, outside: &mut Outside<'_>) -> Result<(), Broken> {
        while let Some(id) = self.next_unblocked() {
            let connection = &mut self.connections[id];
            connection.phase = Phase::Ready;
            let Some(blocked) = connection.blocked.take() else {
                continue;
            };
            self.start(outside, id, blocked.sql, blocked.tag)?;
        }
        Ok(())
    }

    /// True if anybody holds one of these rows.
    pub(crate) fn holds_rows(&self, keys: Range<u32>) -> bool {
        self.storage.holds_rows(&keys)
    }

    /// True if the statement with this tag waits for a row.
    pub(super) fn is_blocked(&self, tag: &str) -> bool {
        let blocked = self.connections.iter().filter_map(|c| c.blocked.as_ref());
        blocked
            .into_iter()
            .any(|blocked| blocked.tag.as_deref() == Some(tag))
    }

    fn next_unblocked(&mut self) -> Option<usize> {
        let ids = 0..self.connections.len();
        let mut waiting: Vec<_> = ids
            .filter_map(|id| Some((self.connections[id].blocked.as_ref()?.since, id)))
            .collect();
        waiting.sort_unstable();
        waiting.into_iter().map(|(_, id)| id).find(|&id| {
            let blocked = self.connections[id].blocked.as_ref();
            blocked.is_some_and(|blocked| self.storage.lock(&blocked.row, id).is_none())
        })
    }

    /// True if `waiter` waits for `holder`, directly or through others.
    fn waits_for(&mut self, waiter: usize, holder: usize) -> bool {
        let mut at = waiter;
        for _ in 0..self.connections.len() {
            let Some(row) = self.connections[at].blocked.as_ref().map(|b| b.row.clone()) else {
                return false;
            };
            let Some(next) = self.storage.lock(&row, at) else {
                return false;
            };
            if next == holder {
                return true;
            }
            at = next;
        }
        false
    }
}
