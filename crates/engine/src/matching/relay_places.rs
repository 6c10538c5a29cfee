//! Logins that wait for a backend to decide them.

use events::{Io, Timestamp};
use membership::Key;
use pool::{KeyId, Slot};

use crate::login::dawdlers::GRACE;
use crate::matching::Matching;
use crate::record::client::{RelayStage, State};
use crate::record::records::Records;
use crate::record::relay_places::RelayPlace;
use crate::record::shared::Mail;
use crate::record::turn::Turn;

impl Records {
    /// Gives free places to other workers that are short of them.
    fn hand_places_on<I: Io<Mail>>(&self, turn: &mut Turn<'_, I>) {
        let (places, most) = (&self.shared.relays, self.settings.max_relays);
        while places.has_room(most)
            && let Some(other) = places.next_short(self.worker)
        {
            match places.take(most) {
                // A worker that has ended gives it back with its mail.
                Some(place) => drop(turn.io.post(other, Mail::RelayPlace(place))),
                // Somebody was faster.
                None => drop(places.set_short(other, true)),
            }
        }
    }

    fn open_relay<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        client: Key,
        place: RelayPlace,
        id: KeyId,
        slot: Slot,
    ) {
        let Some(record) = self.clients.get(client) else {
            return;
        };
        let collation = record.session.collation;
        let backend = self.relay_backend(turn, client, place, collation);
        let key = self.open_with(turn, id, slot, backend);
        self.served(id, turn.now);
        self.set_stage(turn, client, RelayStage::Backend(key));
    }

    /// When somebody whom a backend has asked something must have answered, because others wait for its place.
    pub(crate) fn relay_due(&self) -> Option<Timestamp> {
        let oldest = self.clients.oldest(State::Challenged)?;
        let places = &self.shared.relays;
        let full = !places.has_room(self.settings.max_relays);
        (full && places.is_any_short()).then_some(oldest + GRACE)
    }
}

impl Matching {
    /// Opens connections for those who wait for one, as far as there are places and slots. Other workers that are
    /// short of places come first.
    pub(crate) fn open_relays<I: Io<Mail>>(
        &mut self,
        records: &mut Records,
        turn: &mut Turn<'_, I>,
    ) {
        if self.relays.first().is_none() {
            self.relays.place = None;
        }
        records.hand_places_on(turn);
        while let Some((client, id)) = self.relays.first() {
            if !self.has_place_for_next(records, turn) {
                return;
            }
            records.wake(id);
            let Some(slot) = self.slot(records, turn, id) else {
                return;
            };
            let Some(place) = self.relays.take_first() else {
                return;
            };
            records.open_relay(turn, client, place, id, slot);
        }
        records.shared.relays.set_short(records.worker, false);
    }

    /// True if there is a place for whoever is next. If not, the others know.
    fn has_place_for_next<I: Io<Mail>>(
        &mut self,
        records: &mut Records,
        turn: &mut Turn<'_, I>,
    ) -> bool {
        let (places, most) = (&records.shared.relays, records.settings.max_relays);
        if self.relays.place.is_none() {
            self.relays.place = places.take(most);
        }
        let is_short = self.relays.place.is_none();
        if !places.set_short(records.worker, is_short) {
            return !is_short;
        }
        // One may have been given back before that was known.
        self.relays.place = places.take(most);
        for other in (0..records.shared.ledger.workers()).filter(|&other| other != records.worker) {
            let _ended = turn.io.post(other, Mail::RelayWanted);
        }
        self.relays.place.is_some()
    }

    /// Another worker has given a place back, and this one was short of them.
    pub(crate) fn relay_place_came<I: Io<Mail>>(
        &mut self,
        records: &mut Records,
        turn: &mut Turn<'_, I>,
        place: RelayPlace,
    ) {
        match self.relays.place {
            None => self.relays.place = Some(place),
            Some(_) => drop(place),
        }
        self.open_relays(records, turn);
    }
}
