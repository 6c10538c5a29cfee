//! The end of a worker. Owns when it is over: once nobody is left, and backends were told, so that the server does
//! not take their connections for lost.

use events::{Io, Span};
use membership::Key;

use crate::backend::{Backend, Purpose};
use crate::{Engine, Mail, Turn};

/// How long backends that are just being cleaned are waited for.
const CLEANING_MAX: Span = Span::from_ms(1_000);

impl Engine {
    /// Nobody is left, and nobody will come: says farewell to the backends that have nothing to do.
    pub(crate) fn leave<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        let Some(deadline) = self.draining.filter(|_| self.clients.len() == 0) else {
            return;
        };
        let deadline = deadline.min(turn.now + CLEANING_MAX);
        self.draining = Some(deadline);
        let late = turn.now >= deadline;
        let rests = |backend: &Backend| backend.login.is_none() && !backend.is_working();
        self.backends_that(|backend| rests(backend) || late && is_cleaned(backend))
            .into_iter()
            .for_each(|key| self.drop_backend(turn, key));
    }

    /// True once nothing is left to be done: what runs for nobody any more is not waited for.
    pub(crate) fn has_left(&self) -> bool {
        self.draining.is_some()
            && self.clients.len() == 0
            && self.backends_that(is_cleaned).is_empty()
    }

    pub(crate) fn backends_that(&self, wanted: impl Fn(&Backend) -> bool) -> Vec<Key> {
        let all = (0..self.pool.places()).filter_map(|place| self.pool.at(place));
        let found = all.filter(|(_, backend)| wanted(backend));
        found.map(|(key, _)| key).collect()
    }
}

/// True for one that does nothing for anybody any more.
fn is_cleaned(backend: &Backend) -> bool {
    let of_client = |purpose: &Purpose| matches!(purpose, Purpose::Command(_));
    let mut exchanges = backend.exchanges.iter();
    backend.login.is_none() && !exchanges.any(|exchange| of_client(&exchange.purpose))
}
