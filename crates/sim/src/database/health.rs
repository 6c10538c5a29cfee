//! What the database suffers: slow statements, stalls, connections that die, restarts, schemas
//! that come and go.

use events::{HangUp, Span, Timestamp};
use fastrand::Rng;

use super::connection::Phase;
use super::{Database, Outside};
use crate::failure::Broken;
use crate::schedule::Event;

/// How often bad things happen; 0 is never.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Incidents {
    /// Of 10,000 commands, so many kill their connection before they are run.
    pub(crate) dies_before: u32,
    /// The same after the answer was sent.
    pub(crate) dies_after: u32,
    /// Of 10,000 answers, so many are followed by a packet that nobody asked for.
    pub(crate) strays: u32,
    /// µs between other incidents, on average.
    pub(crate) every_us: u64,
    /// No incidents from then on.
    pub(crate) until_us: u64,
}

/// How the database feels.
pub(crate) struct Health {
    pub(crate) incidents: Incidents,
    /// How long a statement waits for a row.
    pub(crate) lock_wait_us: u64,
    /// The longest an ordinary statement takes.
    pub(crate) service_us: u64,
    /// Of 256 statements so many take this many times as long as others.
    pub(crate) slow: (u8, u64),
    /// When a connection last died or was refused.
    pub(crate) last_death: Option<Timestamp>,
    /// When the fickle schema last came or went.
    pub(crate) last_drop: Option<Timestamp>,
    refuses_until: Timestamp,
    mute_until: Timestamp,
    slow_until: Timestamp,
}

impl Health {
    pub(crate) fn new(incidents: Incidents, service_us: u64, lock_wait_us: u64) -> Self {
        Self {
            incidents,
            lock_wait_us,
            service_us,
            slow: (4, 20),
            last_death: None,
            last_drop: None,
            refuses_until: Timestamp::ZERO,
            mute_until: Timestamp::ZERO,
            slow_until: Timestamp::ZERO,
        }
    }

    /// True if connecting fails.
    pub(crate) fn refuses(&self, now: Timestamp) -> bool {
        now < self.refuses_until
    }

    /// True if connections are made but nothing is said on them.
    pub(super) fn is_mute(&self, now: Timestamp) -> bool {
        now < self.mute_until
    }

    /// True if a new connection is refused with 1040.
    pub(super) fn is_full(&self, rng: &mut Rng) -> bool {
        self.incidents.every_us > 0 && self.refuses_until > Timestamp::ZERO && rng.u8(..) < 8
    }

    pub(super) fn dies_before(&mut self, rng: &mut Rng, now: Timestamp) -> bool {
        now.as_us() < self.incidents.until_us && rng.u32(..10_000) < self.incidents.dies_before
    }

    pub(super) fn dies_after(&mut self, rng: &mut Rng, now: Timestamp) -> bool {
        now.as_us() < self.incidents.until_us && rng.u32(..10_000) < self.incidents.dies_after
    }

    /// True if a packet follows an answer that nobody asked for. The front door will close the connection.
    pub(super) fn strays(&mut self, rng: &mut Rng, now: Timestamp) -> bool {
        let strays = self.incidents.strays > 0 && rng.u32(..10_000) < self.incidents.strays;
        if strays {
            self.last_death = Some(now);
        }
        strays
    }

    /// How long a statement takes.
    pub(super) fn service_us(&self, rng: &mut Rng, now: Timestamp) -> u64 {
        let usual = rng.u64(10..=self.service_us);
        match rng.u8(..) {
            _ if now < self.slow_until => usual * 30,
            number if number < self.slow.0 => usual * self.slow.1,
            _ => usual,
        }
    }

    /// The last moment at which connecting or statements could fail for no reason of the engine.
    pub(crate) fn unwell_until(&self) -> Timestamp {
        let died = self.last_death.unwrap_or(Timestamp::ZERO);
        died.max(self.refuses_until)
            .max(self.mute_until)
            .max(self.slow_until)
    }
}

impl Database {
    /// Something happens, and the next thing is planned.
    pub(crate) fn incident(&mut self, outside: &mut Outside<'_>) -> Result<(), Broken> {
        let now = outside.schedule.now();
        if now.as_us() >= self.health.incidents.until_us {
            if self.storage.dropped {
                self.toggle_schema(now);
            }
            return Ok(());
        }
        let span = Span::from_us(self.rng.u64(1_000..400_000));
        match self.rng.u8(0..10) {
            0 => self.restart(outside, span),
            1 => self.health.refuses_until = now + span,
            2 => self.health.mute_until = now + span,
            3 => self.health.slow_until = now + span,
            4 | 5 => self.toggle_schema(now),
            _ => self.kill_somebody(outside),
        }
        let every = self.health.incidents.every_us;
        let next = self.rng.u64(1..=2 * every);
        outside.schedule.after_us(next, Event::Incident);
        self.wake(outside)
    }

    /// Ends a connection from this side.
    pub(super) fn kill(&mut self, outside: &mut Outside<'_>, id: usize, how: HangUp) {
        let now = outside.schedule.now();
        self.health.last_death = Some(now);
        outside
            .trace
            .line(now, || format!("database #{id} dies: {how:?}"));
        let handle = self.connections[id].handle;
        outside.network.end_by_peer(outside.schedule, handle, how);
        self.forget(id);
    }

    fn restart(&mut self, outside: &mut Outside<'_>, span: Span) {
        let now = outside.schedule.now();
        outside
            .trace
            .line(now, || format!("database restarts for {span:?}"));
        self.health.refuses_until = now + span;
        for id in self.alive() {
            self.kill(outside, id, HangUp::Failed(104));
        }
    }

    fn kill_somebody(&mut self, outside: &mut Outside<'_>) {
        let alive = self.alive();
        let Some(&id) = self.rng.choice(&alive) else {
            return;
        };
        let working = self.connections[id].phase != Phase::Ready;
        let how = match self.rng.bool() {
            true => HangUp::Closed,
            false => HangUp::Failed(104),
        };
        if working || self.rng.bool() {
            // In the middle of an answer that is under way.
            outside.network.cut_short(self.connections[id].handle);
        }
        self.kill(outside, id, how);
    }

    fn toggle_schema(&mut self, now: Timestamp) {
        self.storage.dropped = !self.storage.dropped;
        self.health.last_drop = Some(now);
    }
}
