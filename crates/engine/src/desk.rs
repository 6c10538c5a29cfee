//! The desk takes events, asks the rooms, and carries out what they decide. The only room with methods of [`Engine`].

mod accounts;
mod answers;
mod attach;
mod backends;
mod commands;
mod endings;
mod handler;
mod invariants;
mod kill;
mod login;
mod panics;
mod serving;
mod settle;
mod timers;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use events::Timestamp;
use membership::Key;
use pool::KeyId;

use crate::endings::kill_again::Surviving;
use crate::endings::orphans::Orphan;
use crate::endings::panics::AtHand;
use crate::login::denial::Denials;
use crate::matching::Matching;
use crate::record::directory::Asking;
use crate::record::limits::{Intent, Kept};
use crate::record::owner::Owner;
use crate::record::places::Places;
use crate::record::records::Records;
use crate::record::settings::Settings;
use crate::record::shared::Shared;
use crate::steps::stalls::Stalls;

/// One worker's state machine.
pub struct Engine {
    /// Clients, backends, and what is known.
    records: Records,
    /// Who waits, and for what.
    matching: Matching,
    /// Who waits for the accounts to be read again.
    asking: Asking,
    /// Keys that cannot have a backend, whose clients are told so when the turn ends.
    locked_out: Vec<KeyId>,
    /// Who is in the connection phase, by address.
    places: Places,
    /// Answers that clients do not take.
    stalls: Stalls,
    /// Backends that run something for clients that hung up, the first first.
    orphans: VecDeque<Orphan>,
    /// Orphans whose statement was killed and still runs.
    killed_orphans: VecDeque<Orphan>,
    /// Backends that go on with what a KILL was to end.
    surviving: Vec<Surviving>,
    /// When idle backends are to be looked at.
    idle_due: Option<Timestamp>,
    /// When the first idle backend must be closed because of the `wait_timeout` it carries.
    short_idle: Option<Timestamp>,
    /// What other workers were told last of those who hold backends and of those who wait.
    holders_published: (usize, Timestamp, usize),
    /// When the worker last looked for a standstill.
    standstill_seen: Option<Timestamp>,
    /// When to look whether the database is still there, since the last connection to it was lost.
    find_out_at: Option<Timestamp>,
    /// Backends whose statement is to be ended, the first first.
    kills: VecDeque<Key>,
    /// Statements that change limits and were not sent.
    intents: HashMap<Key, Intent>,
    /// OKs that are told once the limits are kept.
    kept: HashMap<Key, Kept>,
    /// Wrong passwords that are told later.
    denials: Denials,
    /// Whom a panic would forget now.
    at_hand: AtHand,
    /// Whose bytes are out of their records right now.
    at_work: Vec<Owner>,
    /// Since when the process ends.
    draining: Option<Timestamp>,
    /// The worker has begun.
    started: bool,
}

impl Engine {
    /// The engine of worker number `worker`. `seed`: fresh random bytes, this engine's own.
    pub fn new(
        settings: Arc<Settings>,
        shared: Arc<Shared>,
        worker: usize,
        seed: [u8; 32],
    ) -> Self {
        let records = Records::new(settings, shared, worker, seed);
        Self {
            matching: Matching::new(&records),
            records,
            asking: Asking::default(),
            locked_out: Vec::new(),
            places: Places::default(),
            stalls: Stalls::default(),
            orphans: VecDeque::new(),
            killed_orphans: VecDeque::new(),
            surviving: Vec::new(),
            idle_due: None,
            short_idle: None,
            holders_published: Default::default(),
            standstill_seen: None,
            find_out_at: None,
            kills: VecDeque::new(),
            intents: HashMap::new(),
            kept: HashMap::new(),
            denials: Denials::default(),
            at_hand: AtHand::default(),
            at_work: Vec::new(),
            draining: None,
            started: false,
        }
    }
}
