//! One link: its two pipes and how far either side has ended it.

use events::{HangUp, Tag};
use fastrand::Rng;

/// Who is at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    /// A client, by its place.
    Client(usize),
    /// A connection of the database, by its place.
    Database(usize),
    /// Nobody yet: the engine's attempt to connect is under way.
    Nobody,
}

/// What the engine may still do with a link, and be told of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EngineSide {
    Connecting,
    Open,
    /// It was told that the peer hung up and must close.
    HungUp,
    /// Closed, or never made.
    Gone,
}

/// How bytes come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Mostly in one piece.
    Even,
    /// Cut anywhere.
    Choppy,
    /// A few bytes at a time, and late.
    Slow,
    /// As if it had forgotten to read.
    Stuck,
    /// What is small comes at once, and what fills the kernel's memory as if the peer had forgotten to read.
    Clogged,
}

pub(crate) struct Link {
    pub(crate) worker: usize,
    pub(crate) peer: Peer,
    pub(crate) outbox: Vec<u8>,
    pub(super) tag: Option<Tag>,
    pub(super) engine: EngineSide,
    pub(super) pace: Pace,
    /// Bytes that the kernel takes ahead of the peer.
    pub(super) window: usize,
    pub(super) to_peer: Vec<u8>,
    pub(super) to_peer_planned: bool,
    pub(super) end_to_peer: Option<HangUp>,
    pub(super) to_engine: Vec<u8>,
    pub(super) to_engine_planned: bool,
    pub(super) end_to_engine: Option<HangUp>,
    /// All that is under way to the engine arrives in one piece.
    pub(super) in_one: bool,
    pub(super) paused: bool,
    pub(super) notify_drained: bool,
    pub(super) drain_planned: bool,
    /// The peer hung up, or was told that the engine did.
    pub(super) peer_ended: bool,
}

impl Link {
    pub(super) fn new(worker: usize, peer: Peer, pace: Pace, window: usize) -> Self {
        let engine = match peer {
            Peer::Nobody => EngineSide::Connecting,
            Peer::Client(_) | Peer::Database(_) => EngineSide::Open,
        };
        Self {
            worker,
            peer,
            outbox: Vec::new(),
            tag: None,
            engine,
            pace,
            window,
            to_peer: Vec::new(),
            to_peer_planned: false,
            end_to_peer: None,
            to_engine: Vec::new(),
            to_engine_planned: false,
            end_to_engine: None,
            in_one: false,
            paused: false,
            notify_drained: false,
            drain_planned: false,
            peer_ended: false,
        }
    }

    pub(super) fn unused() -> Self {
        let mut link = Self::new(usize::MAX, Peer::Nobody, Pace::Even, 0);
        link.engine = EngineSide::Gone;
        link
    }

    /// How the bytes come that the kernel has for the peer now.
    pub(super) fn pace_to_peer(&self) -> Pace {
        match self.pace {
            Pace::Clogged if self.to_peer.len() < self.window => Pace::Even,
            pace => pace,
        }
    }

    /// True while the engine owns the handle.
    pub(crate) fn is_engines(&self) -> bool {
        self.engine != EngineSide::Gone
    }

    /// True for a connection to the database, also one that is being made.
    pub(crate) fn is_backend(&self) -> bool {
        !matches!(self.peer, Peer::Client(_))
    }
}

impl Pace {
    pub(super) fn delay_us(self, rng: &mut Rng) -> u64 {
        match self {
            Self::Even => rng.u64(5..60),
            Self::Choppy => rng.u64(1..120),
            Self::Slow => rng.u64(500..6_000),
            Self::Stuck | Self::Clogged => rng.u64(800_000..4_000_000),
        }
    }

    /// How many of `len` bytes come at once.
    pub(super) fn chunk(self, rng: &mut Rng, len: usize) -> usize {
        let wanted = match self {
            Self::Even if rng.u8(..) < 200 => len.min(64 << 10),
            // Large answers are not cut into thousands of pieces.
            Self::Even | Self::Choppy if len > 4_096 => rng.usize(len / 8..=len),
            Self::Even | Self::Choppy => match rng.u8(0..4) {
                0 => 1,
                1 => rng.usize(1..=len.min(8)),
                _ => rng.usize(1..=len),
            },
            Self::Slow => rng.usize(1..=len.clamp(1, 8_192)),
            Self::Stuck | Self::Clogged => rng.usize(len / 2..=len),
        };
        wanted.clamp(1, len)
    }
}
