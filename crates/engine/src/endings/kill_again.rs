//! A KILL QUERY that overtook its statement. A server ignores a KILL QUERY for a connection that waits for a command, and a
//! connection looks like that until its thread has read what was sent (`KILL` in the MySQL manual). So a KILL that was answered
//! while its victim goes on is sent again. Owns when; the desk sends.

use events::{Span, Timestamp};
use membership::Key;

use crate::record::backend::Backend;

/// How long after the answer to the first KILL its victim is looked at; twice as long each time after.
const FIRST_LOOK: Span = Span::from_ms(50);

/// More KILLs than that do not help, over 3.15 s: the server knows, and is slow in ending the statement.
const MOST_KILLS: u8 = 7;

/// A backend that was told to end what it runs, and ran it still.
pub(crate) struct Surviving {
    pub backend: Key,
    /// When it is to be looked at again.
    pub at: Timestamp,
}

impl Backend {
    /// True if it runs, or will run, what a KILL may end.
    pub(crate) fn may_be_ended(&self) -> bool {
        let mut exchanges = self.exchanges.iter();
        exchanges.any(|exchange| exchange.purpose.may_be_ended())
    }

    /// Something was answered: KILLs were for that.
    pub(crate) fn no_kill_survives(&mut self) {
        if self.kills > 0 && !self.may_be_ended() {
            self.kills = 0;
        }
    }
}

/// How long after the answer to a KILL its victim is looked at, `survived` others before; `None`: not again.
pub(crate) fn look_after(survived: u8) -> Option<Span> {
    (survived < MOST_KILLS - 1).then(|| Span::from_us(FIRST_LOOK.as_us() << survived))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_victim_is_looked_at_later_each_time_and_at_last_no_more() {
        let waits = (0..=u8::MAX).map(look_after);
        let waits: Vec<_> = waits.flatten().map(Span::as_us).collect();
        assert_eq!(waits, [50, 100, 200, 400, 800, 1600].map(|ms| ms * 1000));
    }
}
