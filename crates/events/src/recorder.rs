//! A driver that does nothing but write down what it is asked: for tests of handlers and layers.

use std::collections::{HashMap, HashSet};

use crate::{Close, Handle, Io, Tag, TlsSide};

/// What a handler has asked for so far.
#[derive(Debug)]
pub struct Recorder<M> {
    /// What is to leave.
    pub outboxes: HashMap<Handle, Vec<u8>>,
    /// The connections that are to be made, each with the handle [`Recorder::ASKED`].
    pub asked: Vec<Tag>,
    /// What was closed, and how.
    pub closed: Vec<(Handle, Close)>,
    /// What is not to be heard at the moment.
    pub paused: HashSet<Handle>,
    /// How often a word was wanted when all has left.
    pub drains_wanted: u32,
    /// What other workers are to be told.
    pub posted: Vec<M>,
    /// The connection that began to speak TLS last, and what had come already.
    pub tls: Option<(Tag, TlsSide, Vec<u8>)>,
}

impl<M> Recorder<M> {
    /// The handle of connections that were asked for.
    pub const ASKED: Handle = Handle(u64::MAX - 1);

    /// What was to leave for this connection, which has left now.
    pub fn take(&mut self, handle: Handle) -> Vec<u8> {
        self.outboxes.remove(&handle).unwrap_or_default()
    }

    /// Whether this connection was closed.
    pub fn has_closed(&self, handle: Handle) -> bool {
        self.closed.iter().any(|(closed, _)| *closed == handle)
    }
}

impl<M> Default for Recorder<M> {
    fn default() -> Self {
        Self {
            outboxes: HashMap::new(),
            asked: Vec::new(),
            closed: Vec::new(),
            paused: HashSet::new(),
            drains_wanted: 0,
            posted: Vec::new(),
            tls: None,
        }
    }
}

impl<M> Io<M> for Recorder<M> {
    fn outbox(&mut self, handle: Handle) -> &mut Vec<u8> {
        self.outboxes.entry(handle).or_default()
    }

    fn unsent(&self, handle: Handle) -> usize {
        self.outboxes.get(&handle).map_or(0, Vec::len)
    }

    fn unsent_total(&self) -> usize {
        self.outboxes.values().map(Vec::len).sum()
    }

    fn notify_drained(&mut self, _handle: Handle) {
        self.drains_wanted += 1;
    }

    fn pause_receive(&mut self, handle: Handle) {
        self.paused.insert(handle);
    }

    fn resume_receive(&mut self, handle: Handle) {
        self.paused.remove(&handle);
    }

    fn connect(&mut self, tag: Tag) -> Handle {
        self.asked.push(tag);
        Self::ASKED
    }

    fn close(&mut self, handle: Handle, how: Close) {
        self.closed.push((handle, how));
    }

    fn post(&mut self, _worker: usize, mail: M) -> Result<(), M> {
        self.posted.push(mail);
        Ok(())
    }

    fn stop_accepting(&mut self) {}

    fn start_tls(&mut self, (_, tag): (Handle, Tag), side: TlsSide, early: &[u8]) {
        self.tls = Some((tag, side, early.to_vec()));
    }
}
