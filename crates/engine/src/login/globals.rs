//! Global variables that somebody changes through the front door. The backend connections of before are retired, so that a
//! session sees a new value from its next connection on, unless it has set the variable itself. What sessions begin with is
//! asked at once, on the connection of whoever made the change: logins need it before another connection is opened.

use std::sync::Arc;

use events::Io;
use membership::Key;
use wire::TextResultSet;

use crate::record::backend::Due;
use crate::record::records::Records;
use crate::record::shared::Mail;
use crate::record::turn::Turn;

impl Records {
    /// A statement has changed global variables.
    pub(crate) fn globals_set<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        self.global_changed(turn);
        if let Some(backend) = self.pool.get_mut(key) {
            backend.due |= Due::GLOBALS;
        }
    }

    /// The server has said what they are now: all workers learn it.
    pub(crate) fn learn_changed_globals<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        facts: TextResultSet,
    ) {
        let facts = Arc::new(facts);
        self.post_to_others(turn, || Mail::Globals(facts.clone()));
        self.learn_globals(&facts);
    }
}
