//! The network as one worker's engine sees it, and what of the contract the engine must keep.

use engine::Mail;
use events::{Close, Handle, Io, Tag};

use super::link::EngineSide;
use super::{Link, Network, Pace, Peer, place};
use crate::failure::{Broken, Rule};
use crate::schedule::{Event, Schedule};

/// Connections to the database over all workers are as even as a local network is.
const PACES: [Pace; 4] = [Pace::Even, Pace::Even, Pace::Even, Pace::Choppy];

/// One worker's effects.
pub(crate) struct WorkerIo<'a> {
    network: &'a mut Network,
    schedule: &'a mut Schedule,
    worker: usize,
    /// What this event has written to or asked for.
    pub(crate) touched: Vec<Handle>,
}

impl<'a> WorkerIo<'a> {
    /// For one event.
    pub(crate) fn new(network: &'a mut Network, schedule: &'a mut Schedule, worker: usize) -> Self {
        Self {
            network,
            schedule,
            worker,
            touched: Vec::new(),
        }
    }

    /// The link, if the engine may use it; else the contract is broken.
    fn link(&mut self, handle: Handle, effect: &str) -> Option<&mut Link> {
        let link = self.network.link(handle);
        if link.worker != self.worker || link.engine == EngineSide::Gone {
            let text = format!("{effect} of {handle:?}, which the engine does not own");
            self.network.breach(Broken::new(Rule::Contract, text));
            return None;
        }
        self.network.links.get_mut(place(handle))
    }
}

impl Io<Mail> for WorkerIo<'_> {
    fn outbox(&mut self, handle: Handle) -> &mut Vec<u8> {
        self.network.panics.strike();
        self.touched.push(handle);
        if self.link(handle, "outbox").is_none() {
            self.network.scratch.clear();
            return &mut self.network.scratch;
        }
        self.network.touched[self.worker].push(handle);
        &mut self.network.links[place(handle)].outbox
    }

    fn unsent(&self, handle: Handle) -> usize {
        self.network.link(handle).outbox.len()
    }

    fn untaken(&mut self, handle: Handle) -> usize {
        let link = self.network.link(handle);
        link.outbox.len() + link.to_peer.len()
    }

    fn unsent_total(&self) -> usize {
        let links = self.network.links.iter();
        let own = links.filter(|link| link.worker == self.worker);
        own.map(|link| link.outbox.len()).sum()
    }

    fn notify_drained(&mut self, handle: Handle) {
        self.network.panics.strike();
        if let Some(link) = self.link(handle, "notify_drained") {
            link.notify_drained = true;
            self.network.touched[self.worker].push(handle);
        }
    }

    fn pause_receive(&mut self, handle: Handle) {
        self.network.panics.strike();
        if let Some(link) = self.link(handle, "pause_receive") {
            link.paused = true;
        }
    }

    fn resume_receive(&mut self, handle: Handle) {
        self.network.panics.strike();
        if let Some(link) = self.link(handle, "resume_receive") {
            link.paused = false;
            self.network.plan_to_engine(self.schedule, handle);
        }
    }

    fn connect(&mut self, tag: Tag) -> Handle {
        self.network.panics.strike();
        let pace = PACES[self.network.rng.usize(..PACES.len())];
        let window = self.network.window_for(pace);
        let mut link = Link::new(self.worker, Peer::Nobody, pace, window);
        link.tag = Some(tag);
        self.network.links.push(link);
        let handle = Handle((self.network.links.len() - 1) as u64);
        self.touched.push(handle);
        let delay = self.network.rng.u64(20..400);
        self.schedule.after_us(delay, Event::Connect(handle));
        handle
    }

    fn close(&mut self, handle: Handle, how: Close) {
        self.network.panics.strike();
        if self.link(handle, "close").is_some() {
            self.network.close(handle, how);
        }
    }

    fn post(&mut self, worker: usize, mail: Mail) -> Result<(), Mail> {
        self.network.panics.strike();
        if worker >= self.network.ended.len() {
            let text = format!("post to worker {worker}, which there is not");
            self.network.breach(Broken::new(Rule::Contract, text));
        }
        if self.network.ended.get(worker).copied().unwrap_or(true) {
            return Err(mail);
        }
        let delay = self.network.rng.u64(1..300);
        if self.network.loses_global_news && matches!(mail, Mail::GlobalChanged) {
            return Ok(());
        }
        if self.network.loses_wake_ups && matches!(mail, Mail::Woken(_)) {
            return Ok(());
        }
        self.schedule.after_us(delay, Event::Mail { worker, mail });
        Ok(())
    }

    fn stop_accepting(&mut self) {
        self.network.closed_doors[self.worker] = true;
    }
}
