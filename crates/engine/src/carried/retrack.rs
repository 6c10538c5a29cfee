//! A session sets, or asks, what the server's session tracker tells (`session_track_…`). Its backend is given the
//! session's own values for the one statement, so that it answers as it should; then they are read back, and the backend
//! tracks for the front door again, that is all it can. What else such a SET has set the tracker may not tell, for its list
//! was another one by then: `told` asks for it.

use events::Io;
use membership::Key;
use session::statement::{Dialect, Kind, PinReason, Statement, Traits, sets_tracked};
use wire::{Command, OkPacket, TextResultSet};

use crate::backend::setup::TRACK_ALL;
use crate::backend::{Backend, ClientCommand, Due, Purpose, RestorePart};
use crate::carried::effect::{Act, Effect};
use crate::carried::track_filter::TrackFilter;
use crate::carried::track_lists::{Asked, TrackLists};
use crate::carried::tracking;
use crate::client::Client;
use crate::commands::Packet;
use crate::{Engine, Mail, Turn};

/// With a limit of its own, for a session may want to see no rows (`sql_select_limit`).
pub(crate) const READ_TRACKING: &[u8] =
    b"SELECT @@session_track_system_variables,@@session_track_schema,\
    @@session_track_state_change LIMIT 1";

const TRACK_NO_TRANSACTIONS: &[u8] = b"SET session_track_transaction_info=DEFAULT";

/// A backend tracks what its session asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Retrack {
    /// Others could not have been served there before either.
    dirty: bool,
}

/// True of a statement that sets or asks what is tracked, and pins nothing for it.
pub(crate) fn retracks(statement: &Statement) -> bool {
    let pinned = statement.pins.contains(PinReason::SessionTracking);
    match statement.kind {
        Kind::Set | Kind::Multiple => {
            statement.traits.contains(Traits::SESSION_TRACKING) && !pinned
        }
        Kind::Select => {
            let besides = Traits::NEEDS_CONDITIONS | Traits::MULTIPLE | Traits::RELEASES;
            statement.traits & (Traits::READS_TRACKING | besides) == Traits::READS_TRACKING
                && statement.pins.is_empty()
        }
        _ => false,
    }
}

impl ClientCommand {
    /// True of one that sets, or asks, what is tracked.
    pub(crate) fn retracks(&self) -> bool {
        self.effect.as_ref().is_some_and(|effect| effect.retracks())
    }
}

impl Engine {
    /// A SET of what is tracked pins no session, if what it says can be carried.
    pub(crate) fn judge_tracking(
        &self,
        key: Key,
        text: &[u8],
        mut statement: Statement,
    ) -> Statement {
        let only = PinReason::SessionTracking;
        let sets = matches!(statement.kind, Kind::Set | Kind::Multiple)
            && statement.traits.contains(Traits::SESSION_TRACKING)
            && statement.pins.iter().eq([only]);
        let client = self
            .clients
            .get(key)
            .filter(|client| sets && !client.tracks.is_own());
        let dialect = client.and_then(|client| self.facts.as_ref()?.dialect(&client.session));
        if dialect.is_some_and(|dialect| sets_tracked(text, &dialect)) {
            statement.pins.remove(only);
        }
        statement
    }

    /// What a command does that sets, or asks, what is tracked.
    pub(crate) fn retracking(
        &self,
        key: Key,
        packet: Packet<'_>,
        (statement, dialect): (&Statement, Option<&Dialect>),
    ) -> Option<Act> {
        if !retracks(statement) || packet.payload.first() != Some(&(Command::Query as u8)) {
            return None;
        }
        let client = self.clients.get(key);
        client.filter(|client| !client.tracks.is_own())?;
        let asks = statement.kind == Kind::Select;
        (asks || sets_tracked(packet.text(), dialect?)).then_some(Act::Retracks)
    }

    /// What the session has tracked is known. Its backend tracks for the front door again.
    pub(crate) fn learn_tracking<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        rows: &TextResultSet,
    ) {
        let Some(backend) = self.pool.get_mut(key) else {
            return;
        };
        let Some(retrack) = backend.retrack.take() else {
            return;
        };
        let tracks = self.track_lists.filter(Asked::told(rows, 0));
        let client = backend.client.and_then(|key| self.clients.get_mut(key));
        match (client, tracks) {
            (Some(client), Some(tracks)) => client.tracks = tracks,
            (Some(client), None) => {
                // It stays as it is, but for what the front door has added.
                client.tracks = TrackFilter::OWN_VARIABLES;
                backend.put_query(turn.io.outbox(backend.handle), TRACK_NO_TRANSACTIONS);
                backend.expect(Purpose::Restore(RestorePart::Set));
                let client = backend.client;
                client
                    .into_iter()
                    .for_each(|key| self.pin_late(key, PinReason::SessionTracking));
                return;
            }
            (None, _) => return,
        }
        backend.put_query(turn.io.outbox(backend.handle), TRACK_ALL);
        backend.expect(Purpose::Retrack);
        backend.dirty = retrack.dirty;
    }

    /// A backend tells what it has now.
    pub(crate) fn retrack_told(&mut self, key: Key, ok: &OkPacket<'_>) {
        let Some(backend) = self.pool.get_mut(key) else {
            return;
        };
        let mut states = vec![&mut backend.session];
        if let Some(client) = backend.client.and_then(|key| self.clients.get_mut(key)) {
            states.push(&mut client.session);
        }
        tracking::take_over(ok.changes(), &mut states, &mut self.interner);
    }
}

impl Backend {
    /// Notes that a statement has set, or asked, what is tracked.
    pub(crate) fn note_retracked(&mut self, command: &ClientCommand) {
        if command.retracks() && self.retrack.is_some() {
            self.due |= Due::TRACKING;
        }
    }
}

/// Has the backend track what its session asked for: for one statement that sets, or asks, that, or from now on if it pins
/// the session for it.
pub(crate) fn put_tracking(
    outbox: &mut Vec<u8>,
    (client, backend): (&mut Client, &mut Backend),
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
    backend.expect(Purpose::Restore(RestorePart::Set));
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
