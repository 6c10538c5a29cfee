//! Probes the session tracker of servers, and asks those whose tracker is not sound.

use std::sync::Arc;

use carry::trust::{Beginning, Probe, Tracker, tracker_probe};
use events::Io;
use membership::Key;
use session::statement::PinReason;
use wire::TextResultSet;

use crate::follow::told::VARIABLES;
use crate::record::backend::Step;
use crate::record::known::Known;
use crate::record::pair::Pair;
use crate::record::records::Records;
use crate::record::shared::Mail;
use crate::record::turn::Turn;

impl Records {
    /// Asks a new backend whether its server tells what is set, if that is not known, or not what sessions begin with.
    pub(crate) fn probe_tracker<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let known = self.known.facts.as_ref().map(|facts| &facts.tracker);
        let backend = self.pool.get_mut(key);
        let open = matches!(known, Some(Tracker::Unknown | Tracker::Unsound(None)));
        if let (true, Some(backend)) = (open, backend) {
            backend.put_query(turn.io.outbox(backend.handle), tracker_probe().as_bytes());
            backend.expect(Step::Probe(Probe::default()));
        }
    }
}

impl Known {
    /// The backend has told what sessions begin with.
    pub(crate) fn learn_beginning(&mut self, rows: &TextResultSet) {
        if let Some(facts) = &mut self.facts
            && let Tracker::Unsound(beginning) = &mut facts.tracker
        {
            *beginning = Some(Arc::new(Beginning::told(rows)));
        }
    }

    /// A global variable has changed: sessions begin with something else, and the next new backend is asked.
    pub(crate) fn forget_beginning(&mut self) {
        if let Some(facts) = &mut self.facts
            && let Tracker::Unsound(beginning) = &mut facts.tracker
        {
            *beginning = None;
        }
    }

    /// True if the server is known to tell less than it should.
    pub(crate) fn is_unsound(&self) -> bool {
        let tracker = self.facts.as_ref().map(|facts| &facts.tracker);
        matches!(tracker, Some(Tracker::Unsound(_)))
    }

    /// What sessions begin with on a server whose tracker is not sound.
    pub(crate) fn beginning(&self) -> Option<Arc<Beginning>> {
        match &self.facts.as_ref()?.tracker {
            Tracker::Unsound(beginning) => beginning.clone(),
            Tracker::Unknown | Tracker::Sound => None,
        }
    }
}

impl Pair<'_> {
    /// Something may have set variables that no text names. On a server whose tracker is not sound all are asked for; the
    /// session is pinned if it is not known which there are.
    pub(crate) fn may_have_set_unseen(&mut self) {
        match self.known.facts.as_ref().map(|facts| &facts.tracker) {
            Some(Tracker::Unsound(Some(_))) if self.may_ask() => {
                self.backend.leftovers.unknown.all = true;
                self.asks(&VARIABLES);
            }
            Some(Tracker::Unsound(_)) => self.pin_late(PinReason::UntrackedVariable),
            _ => {}
        }
    }
}
