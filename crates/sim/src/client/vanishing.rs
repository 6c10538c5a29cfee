//! Clients that vanish without a word, as behind a cable that was pulled: the kernel notices after
//! a while, and soon after that nothing of theirs is left.

use events::HangUp;

use super::{Client, Phase, Surroundings};
use crate::catalog::{OWN_KEYS, SHARED_KEYS};
use crate::failure::{Broken, Rule, ensure};

/// What the kernel says when its probes were not answered.
const TIMED_OUT: i32 = 110;

/// A statement that runs is finished, and the session cleaned away, within this and the time that
/// it may wait for a row.
const CLEANED_US: u64 = 3_000_000;

impl Client {
    /// Nothing is heard of the client any more, nor does it take anything.
    pub(super) fn vanish(&mut self, around: &mut Surroundings<'_>) {
        self.phase = Phase::Vanished;
        if let Some(handle) = self.handle {
            around.outside.network.cut_off(handle);
        }
        let keepalive = self.rng.u64(100_000..8_000_000);
        self.plan(around, keepalive);
    }

    /// The kernel gives the connection up; or, later, all must be cleaned away.
    pub(super) fn is_gone(&mut self, around: &mut Surroundings<'_>) -> Result<(), Broken> {
        if !self.told_end {
            self.told_end = true;
            let outside = &mut around.outside;
            if let Some(handle) = self.handle {
                let how = HangUp::Failed(TIMED_OUT);
                outside.network.end_by_peer(outside.schedule, handle, how);
            }
            let us = around.database.health.lock_wait_us + CLEANED_US;
            self.plan(around, us);
            return Ok(());
        }
        let first = SHARED_KEYS + self.profile.client as u32 * OWN_KEYS;
        let held = around.database.holds_rows(first..first + OWN_KEYS);
        ensure(Rule::Liveness, !held, || {
            format!("client {} vanished, its locks did not", self.profile.client)
        })?;
        self.leave(around)
    }
}
