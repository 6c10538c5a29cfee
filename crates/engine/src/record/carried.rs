//! How one thing follows its session: a [`Carried`], in a file of its own in `follow`. The table of all is in
//! `follow::carried`.

use carry::conditions::ReadWarnings;
use carry::ending::Ending;
use carry::told::ReadVariables;
use carry::user_variables::ReadUserVariables;
use events::Timestamp;
use wire::{OkPacket, TextResultSet};

use crate::record::backend::ClientCommand;
use crate::record::pair::Pair;

/// What is done about a thing, and when.
pub(crate) struct Carried {
    /// A backend that refuses to say what it is is of no use.
    pub must_be_answered: bool,
    /// A command of the session was answered: notes what that says, and puts on the agenda what it does not say.
    pub answered: fn(&mut Pair<'_>, &ClientCommand, &Ending),
    /// It is on the agenda: asks the backend. False if there is nothing to ask after all.
    pub ask: fn(&mut Pair<'_>, &mut Vec<u8>, Timestamp) -> bool,
    /// The session is about to let go of the backend. True if only that knows it: then it is asked.
    pub leave: fn(&Pair<'_>) -> bool,
    /// The backend has answered; it may be sent something more.
    pub told: fn(&mut Pair<'_>, &mut Vec<u8>, Reply<'_>),
    /// What the session tracker says with the answer.
    pub tracked: fn(&mut Pair<'_>, &OkPacket<'_>),
}

impl Carried {
    /// Nothing is done.
    pub(crate) const NOTHING: Self = Self {
        must_be_answered: true,
        answered: |_, _, _| {},
        ask: |_, _, _| false,
        leave: |_| false,
        told: |_, _, _| {},
        tracked: |_, _| {},
    };
}

/// The answer to a question about a thing.
pub(crate) struct Reply<'a> {
    /// What was kept for it.
    pub kept: Kept,
    /// The rows, or the ERR.
    pub rows: Result<&'a TextResultSet, &'a [u8]>,
}

/// What is kept of a question until its answer is complete.
pub(crate) enum Kept {
    /// Only rows.
    Nothing,
    /// Which variables are asked for.
    Variables(Box<ReadVariables>),
    /// Which user variables are asked for, and their rows as they come.
    UserVariables(Box<ReadUserVariables>),
    /// Conditions as they come.
    Conditions(Box<ReadWarnings>),
}

/// What is to be asked of a backend about the session that is attached to it.
#[derive(Default)]
pub(crate) struct Agenda(Vec<&'static Carried>);

impl Agenda {
    /// Puts a thing on it.
    pub(crate) fn add(&mut self, thing: &'static Carried) {
        if !self.has(thing) {
            self.0.push(thing);
        }
    }

    /// True if a thing is on it.
    pub(crate) fn has(&self, thing: &'static Carried) -> bool {
        self.0.iter().any(|other| std::ptr::eq(*other, thing))
    }

    /// True if nothing is to be asked.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True if nothing else than this is to be asked.
    pub(crate) fn is_only(&self, thing: &'static Carried) -> bool {
        self.0.iter().all(|other| std::ptr::eq(*other, thing))
    }

    /// Takes the first of `order` from it.
    pub(crate) fn next(&mut self, order: &[&'static Carried]) -> Option<&'static Carried> {
        let place = |thing: &'static Carried| {
            let is = |other: &&'static Carried| std::ptr::eq(*other, thing);
            order.iter().position(is)
        };
        let first = self
            .0
            .iter()
            .enumerate()
            .min_by_key(|(_, thing)| place(thing))?
            .0;
        Some(self.0.swap_remove(first))
    }

    /// Nobody asks any more.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}
