//! The virtual network: a link per connection with a pipe in each direction. Bytes arrive late and
//! in pieces; either side may end a link. Owns what a driver promises its handler; knows nothing
//! of what the bytes mean.

mod io;
mod link;

use std::collections::HashSet;

use events::{Close, Handle, HangUp, Tag};
use fastrand::Rng;

use crate::failure::Broken;
use crate::panics::Panics;
use crate::schedule::{Event, Schedule};
use link::EngineSide;

pub(crate) use io::WorkerIo;
pub(crate) use link::{Link, Pace, Peer};

const CONNECTION_RESET: i32 = 104;

/// All links there ever were. A handle is a place among them.
pub(crate) struct Network {
    links: Vec<Link>,
    /// Per worker: links whose outbox may have something in it.
    touched: Vec<Vec<Handle>>,
    /// Workers that do not accept any more.
    pub(crate) closed_doors: Vec<bool>,
    /// Workers that have ended.
    pub(crate) ended: Vec<bool>,
    /// Sabotage: mail of one kind is lost.
    pub(crate) loses_global_news: bool,
    /// The same of another kind.
    pub(crate) loses_wake_ups: bool,
    /// When the engine panics.
    pub(crate) panics: Panics,
    rng: Rng,
    scratch: Vec<u8>,
    broken: Option<Broken>,
}

/// What the engine is to be told of a link.
pub(crate) enum ToEngine {
    Nothing,
    Received(Tag, Vec<u8>),
    HungUp(Tag, HangUp),
}

/// What a peer gets from the engine.
pub(crate) enum ToPeer {
    Nothing,
    Bytes(Vec<u8>),
    End,
}

impl Network {
    pub(crate) fn new(workers: usize, rng: Rng, panics: Panics) -> Self {
        Self {
            // Place 0 is nobody's: a handle that was never given out is noticed.
            links: vec![Link::unused()],
            touched: vec![Vec::new(); workers],
            closed_doors: vec![false; workers],
            ended: vec![false; workers],
            loses_global_news: false,
            loses_wake_ups: false,
            panics,
            rng,
            scratch: Vec::new(),
            broken: None,
        }
    }

    /// The first breach of the contract since the last call.
    pub(crate) fn broken(&mut self) -> Result<(), Broken> {
        self.broken.take().map_or(Ok(()), Err)
    }

    pub(crate) fn link(&self, handle: Handle) -> &Link {
        self.links.get(place(handle)).unwrap_or(&self.links[0])
    }

    /// A client connects to a worker.
    pub(crate) fn open(&mut self, worker: usize, client: usize, pace: Pace) -> Handle {
        let window = self.window_for(pace);
        let link = Link::new(worker, Peer::Client(client), pace, window);
        self.links.push(link);
        Handle((self.links.len() - 1) as u64)
    }

    /// The engine names an accepted link.
    pub(crate) fn set_tag(&mut self, handle: Handle, tag: Tag) {
        self.links[place(handle)].tag = Some(tag);
    }

    /// True while the engine's attempt to connect is under way.
    pub(crate) fn is_connecting(&self, handle: Handle) -> bool {
        self.link(handle).engine == EngineSide::Connecting
    }

    /// The attempt of the engine to connect succeeded: who is at the other end. Returns its tag.
    pub(crate) fn established(&mut self, handle: Handle, connection: usize) -> Option<Tag> {
        let link = &mut self.links[place(handle)];
        link.peer = Peer::Database(connection);
        if link.engine != EngineSide::Connecting {
            return None;
        }
        link.engine = EngineSide::Open;
        link.tag
    }

    /// The attempt failed. Returns the tag if the engine still wants to know.
    pub(crate) fn refused(&mut self, handle: Handle) -> Option<Tag> {
        let link = &mut self.links[place(handle)];
        let wanted = link.engine == EngineSide::Connecting;
        link.engine = EngineSide::Gone;
        wanted.then_some(link.tag).flatten()
    }

    /// The peer sends.
    pub(crate) fn send(&mut self, schedule: &mut Schedule, handle: Handle, bytes: &[u8]) {
        let link = &mut self.links[place(handle)];
        if link.peer_ended || link.engine == EngineSide::Gone {
            return;
        }
        link.to_engine.extend_from_slice(bytes);
        self.plan_to_engine(schedule, handle);
    }

    /// The peer sends, and all that is under way arrives in one piece.
    pub(crate) fn send_in_one(&mut self, schedule: &mut Schedule, handle: Handle, bytes: &[u8]) {
        self.links[place(handle)].in_one = true;
        self.send(schedule, handle, bytes);
    }

    /// True if nothing is under way to the peer, nor waits to be sent.
    pub(crate) fn is_quiet_to_peer(&self, handle: Handle) -> bool {
        let link = self.link(handle);
        link.to_peer.is_empty() && link.outbox.is_empty()
    }

    /// The peer ends the link. After a failure part of what it sent may be lost.
    pub(crate) fn end_by_peer(&mut self, schedule: &mut Schedule, handle: Handle, how: HangUp) {
        let link = &mut self.links[place(handle)];
        if link.peer_ended {
            return;
        }
        link.peer_ended = true;
        link.end_to_engine = Some(how);
        link.to_peer.clear();
        if how != HangUp::Closed {
            let left = self.rng.usize(0..=link.to_engine.len());
            link.to_engine.truncate(left);
        }
        self.plan_to_engine(schedule, handle);
    }

    /// The peer takes nothing any more and says nothing, not even that it is gone.
    pub(crate) fn cut_off(&mut self, handle: Handle) {
        let link = &mut self.links[place(handle)];
        // As if something were under way for ever.
        link.to_peer_planned = true;
    }

    /// Part of what the peer sent never arrives: it ended in the middle.
    pub(crate) fn cut_short(&mut self, handle: Handle) {
        let link = &mut self.links[place(handle)];
        let left = self.rng.usize(0..=link.to_engine.len());
        link.to_engine.truncate(left);
    }

    /// Something of a link arrives at the engine.
    pub(crate) fn arrive_at_engine(&mut self, schedule: &mut Schedule, handle: Handle) -> ToEngine {
        let link = &mut self.links[place(handle)];
        link.to_engine_planned = false;
        let (Some(tag), EngineSide::Open) = (link.tag, link.engine) else {
            return ToEngine::Nothing;
        };
        if let (Some(how), true) = (link.end_to_engine, link.paused || link.to_engine.is_empty()) {
            link.engine = EngineSide::HungUp;
            link.to_engine = Vec::new();
            return ToEngine::HungUp(tag, how);
        }
        if link.paused || link.to_engine.is_empty() {
            return ToEngine::Nothing;
        }
        let len = match std::mem::take(&mut link.in_one) {
            true => link.to_engine.len(),
            false => link.pace.chunk(&mut self.rng, link.to_engine.len()),
        };
        let rest = link.to_engine.split_off(len);
        let bytes = std::mem::replace(&mut link.to_engine, rest);
        if !link.to_engine.is_empty() || link.end_to_engine.is_some() {
            self.plan_to_engine(schedule, handle);
        }
        ToEngine::Received(tag, bytes)
    }

    /// Something of a link arrives at the peer.
    pub(crate) fn arrive_at_peer(&mut self, schedule: &mut Schedule, handle: Handle) -> ToPeer {
        let link = &mut self.links[place(handle)];
        link.to_peer_planned = false;
        if link.peer_ended {
            return ToPeer::Nothing;
        }
        if link.to_peer.is_empty() {
            if link.end_to_peer.is_some() && link.outbox.is_empty() {
                link.peer_ended = true;
                return ToPeer::End;
            }
            return ToPeer::Nothing;
        }
        let len = link.pace.chunk(&mut self.rng, link.to_peer.len());
        let rest = link.to_peer.split_off(len);
        let bytes = std::mem::replace(&mut link.to_peer, rest);
        self.flush(schedule, handle);
        ToPeer::Bytes(bytes)
    }

    /// True if the engine still wants to hear that an outbox is empty; asked as it is told.
    pub(crate) fn is_drained(&mut self, handle: Handle) -> Option<Tag> {
        let link = &mut self.links[place(handle)];
        let drained = link.engine == EngineSide::Open && link.outbox.is_empty();
        link.drain_planned = false;
        if !drained || !std::mem::take(&mut link.notify_drained) {
            return None;
        }
        link.tag
    }

    /// The end of a worker's turn: what stands in its outboxes goes as far as there is room.
    pub(crate) fn flush_worker(&mut self, schedule: &mut Schedule, worker: usize) {
        for handle in std::mem::take(&mut self.touched[worker]) {
            self.flush(schedule, handle);
        }
    }

    /// A worker has ended: its sockets are closed.
    pub(crate) fn end_worker(&mut self, schedule: &mut Schedule, worker: usize) {
        self.ended[worker] = true;
        self.closed_doors[worker] = true;
        let of_worker = |link: &Link| link.worker == worker && link.is_engines();
        let open = (1..self.links.len()).filter(|&at| of_worker(&self.links[at]));
        for at in open.collect::<Vec<_>>() {
            self.close(Handle(at as u64), Close::Flush);
        }
        self.flush_worker(schedule, worker);
    }

    /// Links that the engine has not closed.
    pub(crate) fn engines(&self) -> impl Iterator<Item = (Handle, &Link)> {
        let links = self.links.iter().enumerate();
        links
            .filter(|(_, link)| link.is_engines())
            .map(|(at, link)| (Handle(at as u64), link))
    }

    /// What is under way to each connection of the database; `None` for one that is being made.
    pub(crate) fn to_database(&self) -> impl Iterator<Item = (Option<usize>, Vec<u8>)> {
        let links = self.links.iter().filter(|link| link.is_backend());
        links.map(|link| {
            let connection = match link.peer {
                Peer::Database(connection) => Some(connection),
                Peer::Client(_) | Peer::Nobody => None,
            };
            let bytes = [&link.to_peer[..], &link.outbox[..]].concat();
            (connection, bytes)
        })
    }

    /// Swaps what two clients are about to be sent, if there are two. For sabotage.
    pub(crate) fn swap_outboxes(&mut self, worker: usize) {
        let full = |handle: &&Handle| {
            let link = self.link(**handle);
            matches!(link.peer, Peer::Client(_)) && !link.outbox.is_empty()
        };
        let mut full = self.touched[worker].iter().filter(full);
        let (Some(a), Some(b)) = (full.next().copied(), full.next_back().copied()) else {
            return;
        };
        let of_a = std::mem::take(&mut self.links[place(a)].outbox);
        let of_b = std::mem::replace(&mut self.links[place(b)].outbox, of_a);
        self.links[place(a)].outbox = of_b;
    }

    fn close(&mut self, handle: Handle, how: Close) {
        let link = &mut self.links[place(handle)];
        link.engine = EngineSide::Gone;
        link.to_engine = Vec::new();
        link.end_to_peer = Some(HangUp::Closed);
        if how == Close::Abort {
            link.end_to_peer = Some(HangUp::Failed(CONNECTION_RESET));
            link.outbox.clear();
        }
        self.touched[link.worker].push(handle);
    }

    fn flush(&mut self, schedule: &mut Schedule, handle: Handle) {
        let link = &mut self.links[place(handle)];
        if link.engine == EngineSide::Connecting {
            return;
        }
        if link.peer_ended {
            // The kernel takes the bytes; they end nowhere.
            link.outbox.clear();
        }
        let room = link.window.saturating_sub(link.to_peer.len());
        let taken = link.outbox.drain(..room.min(link.outbox.len()));
        link.to_peer.extend(taken);
        let ends = link.end_to_peer.is_some() && link.outbox.is_empty();
        if (!link.to_peer.is_empty() || ends) && !link.to_peer_planned && !link.peer_ended {
            link.to_peer_planned = true;
            let delay = link.pace_to_peer().delay_us(&mut self.rng);
            schedule.after_us(delay, Event::ToPeer(handle));
        }
        if link.outbox.is_empty() && link.notify_drained && !link.drain_planned {
            link.drain_planned = true;
            schedule.after_us(self.rng.u64(1..50), Event::Drained(handle));
        }
    }

    fn plan_to_engine(&mut self, schedule: &mut Schedule, handle: Handle) {
        let link = &mut self.links[place(handle)];
        if !link.to_engine_planned {
            link.to_engine_planned = true;
            // What a client sends comes quickly, however slowly it reads.
            let delay = Pace::Even.delay_us(&mut self.rng);
            schedule.after_us(delay, Event::ToEngine(handle));
        }
    }

    fn window_for(&mut self, pace: Pace) -> usize {
        match pace {
            Pace::Slow => 1 << self.rng.u32(8..14),
            Pace::Stuck | Pace::Clogged => 1 << 15,
            Pace::Even | Pace::Choppy => 1 << self.rng.u32(10..18),
        }
    }

    /// After a panic of the engine: what it does not know any more is closed.
    pub(crate) fn discard_all_but(&mut self, worker: usize, kept: &HashSet<Handle>) {
        let of_worker = |link: &Link| link.worker == worker && link.is_engines();
        let open = (1..self.links.len()).filter(|&at| of_worker(&self.links[at]));
        let open = open.map(|at| Handle(at as u64));
        let lost: Vec<_> = open.filter(|handle| !kept.contains(handle)).collect();
        for handle in lost {
            self.discard(handle);
        }
    }

    /// After a panic of the engine: nothing that it wrote leaves, and it is done with the link.
    pub(crate) fn discard(&mut self, handle: Handle) {
        let link = &mut self.links[place(handle)];
        link.outbox.clear();
        if link.is_engines() {
            self.close(handle, Close::Abort);
        }
    }

    pub(crate) fn breach(&mut self, broken: Broken) {
        self.broken.get_or_insert(broken);
    }
}

fn place(handle: Handle) -> usize {
    handle.0 as usize
}
