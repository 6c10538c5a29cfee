//! One run: a world from a seed, once without a trace and, if it fails, once more with it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::failure::{Broken, Failure, Rule};
use crate::sabotage::Sabotage;
use crate::trace::Detail;
use crate::world::World;

/// What is different in a run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// A world that is not left to chance.
    pub scenario: Option<Scenario>,
    /// A rule to break on purpose.
    pub sabotage: Option<Sabotage>,
    /// Of so many effects that the engine asks for, it panics at one; 0 for none.
    pub panics: u32,
    /// The trace of a failure has all lines, not only the last hundred.
    pub full_trace: bool,
}

/// Worlds with something particular in them; the rest comes from the seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scenario {
    /// 40 clients without autocommit read one row each and leave their sessions alone, over 8
    /// backends; 12 others come later.
    IdleTransactions,
    /// 40 clients in the same state do little else than read, over few backends.
    Readers,
    /// Whoever chance wants, and accounts may do only so much at once.
    Quotas,
    /// The same, and how much that is changes now and then.
    ChangingQuotas,
    /// Sessions prepare texts by name, which pins them, and all of them use the same few names.
    Texts,
    /// The database itself asks most clients who they are, who answer, are wrong, or leave.
    Questions,
    /// Sessions hold backends by transactions, pins, long reads and slow reading; clients of two accounts, with several
    /// keys each, are busy with those that are left.
    Holders,
    /// Most clients hang up while a statement of theirs runs, or in the middle of its answer. Where there are no lanes, the
    /// database also sends packets that nobody asked for.
    HangUps,
}

/// How much a run did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Events that happened.
    pub steps: u64,
    /// Answers that clients checked.
    pub answers: u64,
    /// Statements that a KILL ended.
    pub interrupted: u64,
    /// Statements that were not run, for want of a backend or of the right to be pinned.
    pub refused: u64,
    /// Statements of clients that the database ran.
    pub statements: u64,
    /// Prepared statements of the binary protocol that the database ran.
    pub executed: u64,
    /// Texts prepared by name that the database ran.
    pub texts: u64,
    /// Files of LOAD DATA LOCAL that arrived whole.
    pub files: u64,
    /// Sessions that went on elsewhere after what had pinned them was over.
    pub moved: u64,
    /// Statements that went behind others in lanes.
    pub followers: u64,
    /// Reads sent again elsewhere, because of what was before them in their lane.
    pub resent: u64,
    /// Reads that ran again because their warnings were asked for.
    pub repeated: u64,
    /// Prepared statements that a backend had to prepare before it could execute them.
    pub prepared: u64,
    /// Statements that waited for a permit and got it.
    pub admitted: u64,
    /// How often the engine panicked.
    pub panics: u64,
    /// Clients that were cut off for that.
    pub cut_off: u64,
    /// Clients that were closed because they held backends by reading slowly.
    pub slow_readers: u64,
    /// Answers that were read whole, however slowly their clients took them.
    pub read_whole: u64,
    /// Connections that were closed so that others could be opened.
    pub lent: u64,
    /// The longest time for which no client of an account and worker got a backend that some waited for, in µs.
    pub unserved_us: u64,
    /// Backend connections closed for a packet that nobody asked for.
    pub unasked: u64,
    /// How long it took in the world's own time, in µs.
    pub simulated_us: u64,
}

impl Stats {
    /// Adds another run's.
    pub fn add(&mut self, other: &Self) {
        self.steps += other.steps;
        self.answers += other.answers;
        self.interrupted += other.interrupted;
        self.refused += other.refused;
        self.statements += other.statements;
        self.executed += other.executed;
        self.texts += other.texts;
        self.files += other.files;
        self.moved += other.moved;
        self.followers += other.followers;
        self.resent += other.resent;
        self.repeated += other.repeated;
        self.prepared += other.prepared;
        self.admitted += other.admitted;
        self.panics += other.panics;
        self.cut_off += other.cut_off;
        self.slow_readers += other.slow_readers;
        self.read_whole += other.read_whole;
        self.lent += other.lent;
        self.unserved_us = self.unserved_us.max(other.unserved_us);
        self.unasked += other.unasked;
        self.simulated_us += other.simulated_us;
    }
}

impl Options {
    pub(crate) fn swaps_answers(&self) -> bool {
        self.sabotage == Some(Sabotage::SwapAnswers)
    }
}

/// Runs the world of `seed`. The failure holds the rule that was broken and the trace.
pub fn run(seed: u64, options: &Options) -> Result<Stats, Box<Failure>> {
    let (result, _) = attempt(seed, options, Detail::Off);
    if result.is_ok() {
        return result.map_err(|broken| failure(seed, broken, Vec::new()));
    }
    let detail = match options.full_trace {
        true => Detail::All,
        false => Detail::Tail,
    };
    let (result, trace) = attempt(seed, options, detail);
    result.map_err(|broken| failure(seed, broken, trace))
}

fn attempt(seed: u64, options: &Options, detail: Detail) -> (Result<Stats, Broken>, Vec<String>) {
    let mut world = World::new(seed, options, detail);
    let result = catch_unwind(AssertUnwindSafe(|| world.run()));
    let result = result.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(Broken::new(Rule::Panic, text.unwrap_or_default()))
    });
    (result, world.trace.into_lines())
}

fn failure(seed: u64, broken: Broken, trace: Vec<String>) -> Box<Failure> {
    Box::new(Failure {
        seed,
        broken,
        trace,
    })
}
