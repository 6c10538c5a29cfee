//! Clients that take their answers more slowly than backends give them, and so hold backends. Owns how long that may
//! last: a client that takes nothing is closed after `client_write_timeout`; one that takes a little is closed earlier if
//! its account holds more than its share so, and others wait.
//!
//! Before that, memory helps: while a statement waits for a backend, answers of slow clients are read whole, as long as all
//! answers together take no more than half of `answer_buffer_total`. Reading an answer to its end sets the backend free.

use events::{Io, Span, Timestamp};
use membership::Key;

use crate::record::backend::Reading;
use crate::record::client::State;
use crate::record::records::Records;
use crate::record::shared::Mail;
use crate::record::turn::Turn;

/// How often clients that do not take their answers are looked at.
pub(crate) const LOOK_AT_STALLS: Span = Span::from_ms(250);

/// A client that does not take its answer, which holds a backend.
pub(crate) struct Stall {
    pub client: Key,
    /// Bytes that it had not taken when it was last looked at.
    pub untaken: usize,
    /// Bytes that it took between the last two looks.
    pub taken: Option<usize>,
    /// Since when it has taken none.
    pub since: Timestamp,
    /// When it is to be looked at next.
    pub look_at: Timestamp,
}

/// The clients that do not take their answers.
#[derive(Default)]
pub(crate) struct Stalls {
    pub stalls: Vec<Stall>,
    /// When one of them was last closed because others waited.
    pub closed: Option<Timestamp>,
}

impl Stalls {
    /// When one of them is to be looked at.
    pub(crate) fn due(&self) -> Option<Timestamp> {
        self.stalls.iter().map(|stall| stall.look_at).min()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.stalls.is_empty()
    }

    /// A client has taken all that there was, or is gone.
    pub(crate) fn forget(&mut self, client: Key) {
        self.stalls.retain(|stall| stall.client != client);
    }

    /// Forgets the clients that are not known any more.
    pub(crate) fn forget_strangers(&mut self, is_known: impl Fn(&Key) -> bool) {
        self.stalls.retain(|stall| is_known(&stall.client));
    }

    pub(crate) fn clients(&self) -> impl Iterator<Item = Key> {
        self.stalls.iter().map(|stall| stall.client)
    }
}

impl Stall {
    /// Notes how much the client has not taken by now. More of its answer may have come meanwhile.
    pub(crate) fn look(&mut self, untaken: usize, now: Timestamp) {
        let taken = self.untaken.saturating_sub(untaken);
        if taken > 0 {
            self.since = now;
        }
        (self.untaken, self.taken) = (untaken, Some(taken));
        self.look_at = now + LOOK_AT_STALLS;
    }
}

impl Records {
    /// The backend whose answer a client is being told.
    pub(crate) fn answering(&self, client: Key) -> Option<Key> {
        let lane = match self.clients.state(client) {
            Some(State::InLane) => self.place_in_lane(client),
            _ => None,
        };
        let lane = lane.filter(|&(_, place)| place == 0).map(|(lane, _)| lane);
        self.clients.get(client)?.backend.or(lane)
    }

    /// Bytes of a client's answer that may wait for it now, if that is read as `reading` says.
    pub(crate) fn answers_ahead<I: Io<Mail>>(&self, turn: &Turn<'_, I>, reading: Reading) -> usize {
        let (limit, total) = match reading {
            Reading::Paused => return usize::MAX,
            Reading::Bounded => (
                self.settings.answer_buffer,
                self.settings.answer_buffer_total,
            ),
            Reading::Whole => (usize::MAX, self.memory_for_whole_answers()),
        };
        match turn.io.unsent_total() > total {
            true => 0,
            false => limit,
        }
    }

    pub(crate) fn memory_for_whole_answers(&self) -> usize {
        self.settings.answer_buffer_total / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_takes_a_byte_begins_anew() {
        let mut keys = membership::Slab::default();
        let at = |ms: u64| Timestamp::ZERO + Span::from_ms(ms);
        let mut stall = Stall {
            client: keys.insert(()),
            untaken: 1_000,
            taken: None,
            since: at(0),
            look_at: at(250),
        };
        for (ms, untaken, taken, since) in [
            (250, 1_000, 0, 0),
            (500, 999, 1, 500),
            (750, 999, 0, 500),
            // More of its answer was read meanwhile.
            (1_000, 5_000, 0, 500),
            (1_250, 1_000, 4_000, 1_250),
        ] {
            stall.look(untaken, at(ms));
            assert_eq!((stall.taken, stall.since), (Some(taken), at(since)), "{ms}");
            assert_eq!(stall.look_at, at(ms + 250));
        }
    }
}
