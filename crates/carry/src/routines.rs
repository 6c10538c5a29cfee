//! Stored procedures and functions: what those may leave in a session that a statement calls, told from their bodies,
//! which are asked for once and kept for a while. Who calls routines that leave nothing behind unseen is not pinned.
//!
//! Owns the questions and what was learned; how a body is judged is `session`'s.

pub mod search;

use std::collections::HashMap;

use events::Timestamp;
use session::statement::{Body, Called, Dialect, PinReason, Statement, called};

/// So many routines are known at a time.
const KNOWN_MAX: usize = 1_024;

/// What is known of routines, by a hash of who calls which.
#[derive(Default)]
pub struct Routines {
    known: HashMap<u64, Learned>,
    /// What was known in another epoch may be another one by now.
    pub epoch: u32,
}

/// What is known of a routine.
pub struct Learned {
    /// `None` if it may leave something behind, or cannot be looked at.
    pub looked: Option<Looked>,
    /// It is asked for again after that.
    pub until: Timestamp,
    /// How often routines had been defined when it was asked for.
    pub epoch: u32,
}

/// A routine whose body was looked at.
#[derive(Default)]
pub struct Looked {
    /// What its body does.
    pub body: Body,
    /// The user variables that it mentions.
    pub variables: Box<[Box<[u8]>]>,
    /// What it calls.
    pub calls: Box<[Routine]>,
}

/// A routine that something calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Routine {
    /// The schema, if the text names it.
    pub schema: Option<Box<[u8]>>,
    /// The name.
    pub name: Box<[u8]>,
    /// A function, and no procedure.
    pub is_function: bool,
}

impl Routine {
    /// The routine as a text calls it.
    pub fn called(&self) -> Called<'_> {
        Called {
            schema: self.schema.as_deref(),
            name: &self.name,
            is_function: self.is_function,
        }
    }
}

impl From<&Called<'_>> for Routine {
    fn from(called: &Called<'_>) -> Self {
        Self {
            schema: called.schema.map(Box::from),
            name: called.name.into(),
            is_function: called.is_function,
        }
    }
}

/// A question about a routine, and its answer.
pub struct ReadRoutine {
    /// What it is found by.
    pub hash: u64,
    /// The schema that it is in.
    pub schema: Box<[u8]>,
    /// A function, and no procedure.
    pub is_function: bool,
    /// Without its row it is not there, so that nothing runs.
    pub may_be_missing: bool,
    /// How often routines had been defined when it was asked for.
    pub epoch: u32,
}

impl Routines {
    fn get(&self, hash: u64, now: Timestamp) -> Option<&Learned> {
        let known = self.known.get(&hash)?;
        (known.epoch == self.epoch && now < known.until).then_some(known)
    }

    /// Some may be others from now on.
    pub const fn defined(&mut self) {
        self.epoch = self.epoch.wrapping_add(1);
    }

    /// Notes what was learned of the routine with this hash.
    pub fn learn(&mut self, hash: u64, learned: Learned) {
        if self.known.len() >= KNOWN_MAX && !self.known.contains_key(&hash) {
            self.known.clear();
        }
        self.known.insert(hash, learned);
    }
}

/// True of a statement that pins for nothing but the routines that it calls.
pub fn pins_for_routines(found: &Statement) -> bool {
    let mut others = found.pins;
    others.remove(PinReason::Call);
    others.remove(PinReason::UnknownFunction);
    !found.pins.is_empty() && others.is_empty()
}

/// The routines that a text calls, for who runs it later. Empty if they cannot be told.
pub fn routines_of(text: &[u8], found: &Statement, dialect: &Dialect) -> Box<[Routine]> {
    let calls = pins_for_routines(found).then(|| called(text, dialect));
    let calls = calls.flatten().unwrap_or_default();
    calls.iter().map(Routine::from).collect()
}

/// The bytes that hexadecimal digits stand for.
pub fn unhex(digits: &[u8]) -> Option<Vec<u8>> {
    let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
    digits.chunks(2).map(byte).collect()
}
