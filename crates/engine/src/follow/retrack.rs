//! Sessions that say what is to be tracked.

use carry::effect::{Act, Effect};
use carry::packet::Packet;
use carry::retrack::{READ_TRACKING, Retrack, retracks};
use carry::track_filter::TrackFilter;
use carry::track_lists::{Asked, TrackLists};
use carry::tracking;
use session::statement::{Dialect, Kind, PinReason, Statement, Traits, sets_tracked};
use wire::{Command, OkPacket, TextResultSet};

use crate::record::backend::{Backend, ClientCommand, RestorePart, Step};
use crate::record::carried::{Carried, Kept};
use crate::record::client::Client;
use crate::record::known::Known;
use crate::record::pair::Pair;
use crate::record::setup::TRACK_ALL;

const TRACK_NO_TRANSACTIONS: &[u8] = b"SET session_track_transaction_info=DEFAULT";

/// What the session has tracked.
pub(crate) static TRACKING: Carried = Carried {
    answered: |pair, command, _| {
        if command.retracks() && pair.backend.retrack.is_some() {
            pair.asks(&TRACKING);
        }
    },
    ask: |pair, outbox, _| {
        pair.backend
            .ask_about(outbox, &TRACKING, Kept::Nothing, READ_TRACKING);
        true
    },
    told: |pair, outbox, reply| {
        if let Ok(rows) = reply.rows {
            pair.learn_tracking(outbox, rows);
        }
    },
    ..Carried::NOTHING
};

impl ClientCommand {
    /// True of one that sets, or asks, what is tracked.
    pub(crate) fn retracks(&self) -> bool {
        self.effect.as_ref().is_some_and(|effect| effect.retracks())
    }
}

impl Client {
    /// A SET of what is tracked pins no session, if what it says can be carried.
    pub(crate) fn judge_tracking(
        &self,
        known: &Known,
        text: &[u8],
        mut statement: Statement,
    ) -> Statement {
        let only = PinReason::SessionTracking;
        let sets = matches!(statement.kind, Kind::Set | Kind::Multiple)
            && statement.traits.contains(Traits::SESSION_TRACKING)
            && statement.pins.iter().eq([only]);
        if sets
            && !self.tracks.is_own()
            && let Some(dialect) = known.dialect(&self.session)
            && sets_tracked(text, &dialect)
        {
            statement.pins.remove(only);
        }
        statement
    }

    /// What a command does that sets, or asks, what is tracked.
    pub(crate) fn retracking(
        &self,
        packet: Packet<'_>,
        statement: &Statement,
        dialect: Option<&Dialect>,
    ) -> Option<Act> {
        let is_text = packet.payload.first() == Some(&(Command::Query as u8));
        if !retracks(statement) || !is_text || self.tracks.is_own() {
            return None;
        }
        let asks = statement.kind == Kind::Select;
        (asks || sets_tracked(packet.text(), dialect?)).then_some(Act::Retracks)
    }
}

impl Pair<'_> {
    /// What the session has tracked is known. Its backend tracks for the front door again.
    fn learn_tracking(&mut self, outbox: &mut Vec<u8>, rows: &TextResultSet) {
        let Some(retrack) = self.backend.retrack.take() else {
            return;
        };
        let tracks = self.known.track_lists.filter(Asked::told(rows, 0));
        if let Some(tracks) = tracks {
            self.client.tracks = tracks;
            self.backend.put_query(outbox, TRACK_ALL);
            self.backend.expect(Step::Retrack);
            self.backend.dirty = retrack.dirty;
        } else {
            // It stays as it is, but for what the front door has added.
            self.client.tracks = TrackFilter::OWN_VARIABLES;
            self.backend.put_query(outbox, TRACK_NO_TRANSACTIONS);
            self.backend.expect(Step::Restore(RestorePart::Set));
            self.pin_late(PinReason::SessionTracking);
        }
    }

    /// The backend tells what it has now.
    pub(crate) fn retrack_told(&mut self, ok: &OkPacket<'_>) {
        let states = &mut [&mut self.backend.session, &mut self.client.session];
        tracking::take_over(ok.changes(), states, &mut self.known.interner);
    }
}

/// Has the backend track what its session asked for: for one statement that sets, or asks, that, or from now on if it pins
/// the session for it.
pub(crate) fn put_tracking(
    outbox: &mut Vec<u8>,
    client: &mut Client,
    backend: &mut Backend,
    (statement, effect): (&Statement, Option<&Effect>),
    lists: &TrackLists,
) {
    let pins = statement.pins.contains(PinReason::SessionTracking) && !client.tracks.is_own();
    let setting = if pins {
        client.tracks.setting_of_own(lists)
    } else if effect.is_some_and(Effect::retracks) {
        client.tracks.setting(lists)
    } else {
        return;
    };
    backend.put_query(outbox, setting.as_bytes());
    backend.expect(Step::Restore(RestorePart::Set));
    match pins {
        true => client.tracks.become_own(),
        false => {
            backend.retrack = Some(Retrack {
                dirty: backend.dirty,
            });
        }
    }
    // Nobody else could be served there, unless what was there before is put back.
    backend.dirty = true;
}
