//! Panics in the middle of the engine: it panics where it asks something of its driver, now and then.
//!
//! Nothing in the engine knows of this. What a driver does then is done here as there: see `driver::event_loop::tell`.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use events::{Handle, Handler, Timestamp};
use fastrand::Rng;

use crate::failure::{Broken, Rule};
use crate::network::WorkerIo;
use crate::world::World;

/// When the engine panics.
pub(crate) struct Panics {
    /// Of so many effects one; 0 for none.
    one_in: u32,
    rng: Rng,
    /// When it did last.
    pub(crate) last: Option<Timestamp>,
    /// How often it did.
    pub(crate) count: u64,
}

/// What the engine panics with.
struct Injected;

impl Panics {
    pub(crate) fn new(one_in: u32, seed: u64) -> Self {
        Self {
            one_in,
            rng: Rng::with_seed(seed ^ 0x7061_6e69_6373),
            last: None,
            count: 0,
        }
    }

    /// Panics if it is time.
    pub(crate) fn strike(&mut self) {
        if self.one_in > 0 && self.rng.u32(..self.one_in) == 0 {
            // No hook is called, so nothing is printed.
            resume_unwind(Box::new(Injected));
        }
    }
}

impl World {
    /// Has an engine deal with an event; what follows if it panics is done. `None` then.
    pub(crate) fn tell<T>(
        &mut self,
        worker: usize,
        about: Option<Handle>,
        event: impl FnOnce(&mut engine::Engine, &mut WorkerIo<'_>, Timestamp) -> T,
    ) -> Option<T> {
        let now = self.schedule.now();
        let mut io = WorkerIo::new(&mut self.network, &mut self.schedule, worker);
        let engine = &mut self.workers[worker].engine;
        let told = catch_unwind(AssertUnwindSafe(|| event(engine, &mut io, now)));
        let panic = match told {
            Ok(told) => return Some(told),
            Err(panic) => panic,
        };
        let mut suspects = std::mem::take(&mut io.touched);
        if !panic.is::<Injected>() {
            resume_unwind(panic);
        }
        suspects.extend(about);
        let peers = |handles: &[Handle]| {
            let mut peers: Vec<_> = handles
                .iter()
                .map(|&handle| self.network.link(handle).peer)
                .collect();
            peers.dedup();
            peers
        };
        self.trace.line(now, || {
            let (about, suspects) = (peers(about.as_slice()), peers(&suspects));
            format!("worker {worker} panics in an event about {about:?}; suspects: {suspects:?}")
        });
        let one_in = std::mem::take(&mut self.network.panics.one_in);
        let mut io = WorkerIo::new(&mut self.network, &mut self.schedule, worker);
        let engine = &mut self.workers[worker].engine;
        match engine.recover(&mut io, &mut suspects, now) {
            Some(kept) => self.network.discard_all_but(worker, &kept),
            None => {
                let text = format!("worker {worker} is not in order after a panic");
                self.network.breach(Broken::new(Rule::Records, text));
            }
        }
        for handle in suspects {
            self.network.discard(handle);
        }
        let panics = &mut self.network.panics;
        (panics.one_in, panics.last) = (one_in, Some(now));
        panics.count += 1;
        None
    }
}
