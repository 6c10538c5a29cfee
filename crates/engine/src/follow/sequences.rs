//! What a session has drawn from sequences, and on which backend.

use carry::ending::Ending;
use carry::packet::Packet;
use carry::prepared::named::executes;
use carry::sequences::Sequence;
use session::statement::{SequenceUse, Statement, Traits, sequences};
use wire::ServerStatus;

use crate::record::carried::Carried;
use crate::record::client::Client;
use crate::record::pair::Pair;

/// Which sequences the session has drawn from on its backend.
pub(crate) static SEQUENCES: Carried = Carried {
    answered: |pair, command, ending| {
        if command.traits.contains(Traits::DRAWS_SEQUENCE) && *ending == Ending::Ok {
            pair.backend.leftovers.sequences.succeeded();
        }
    },
    ..Carried::NOTHING
};

impl Client {
    /// The text of a command, and the schema of the names in it.
    fn text_and_schema<'a>(&'a self, packet: Packet<'a>) -> (&'a [u8], Option<&'a [u8]>) {
        if executes(packet.payload)
            && let Some(prepared) = self.statement(packet.payload)
        {
            let template = &*prepared.template;
            return (&template.text, template.binding.schema());
        }
        (packet.text(), self.session.schema.as_deref())
    }
}

impl Pair<'_> {
    /// True if a statement asks for the last values of sequences, and its session holds its backend and has certainly
    /// drawn of all of them there.
    pub(crate) fn has_drawn(&self, packet: Packet<'_>, statement: &Statement) -> bool {
        let client = &*self.client;
        if !client.holds_backend() || statement.traits.contains(Traits::MULTIPLE) {
            return false;
        }
        let Some(dialect) = self.known.dialect(&client.session) else {
            return false;
        };
        let here = &self.backend.leftovers.sequences;
        let (text, schema) = client.text_and_schema(packet);
        let (mut asks, mut all_own) = (false, true);
        let is_read = sequences(text, &dialect, |what, name| {
            if what == SequenceUse::AsksLast {
                let asked = name.and_then(|name| Sequence::of(&name, schema));
                asks = true;
                all_own &= asked.is_some_and(|asked| here.has_drawn(asked));
            }
        });
        // What asks otherwise runs a text that does.
        is_read && asks && all_own
    }

    /// Takes note of a statement that draws, which is about to be sent.
    pub(crate) fn note_draws(&mut self, packet: Packet<'_>, statement: &Statement) {
        if !statement.traits.contains(Traits::DRAWS_SEQUENCE) {
            return;
        }
        let client = &*self.client;
        let here = &mut self.backend.leftovers.sequences;
        here.sent();
        // Otherwise the session lets go of the backend as soon as it has drawn.
        let stays = client.holds_backend() || !client.status.contains(ServerStatus::AUTOCOMMIT);
        if !stays || statement.traits.contains(Traits::MULTIPLE) {
            return;
        }
        let Some(dialect) = self.known.dialect(&client.session) else {
            return;
        };
        let (text, schema) = client.text_and_schema(packet);
        let is_read = sequences(text, &dialect, |what, name| {
            let drawn = name.and_then(|name| Sequence::of(&name, schema));
            if let (SequenceUse::Draws, Some(drawn)) = (what, drawn) {
                here.draws(drawn);
            }
        });
        if !is_read {
            here.sent();
        }
    }

    /// True if a statement pins, perhaps for a body that asks for last values, and its backend may tell those of other
    /// sessions. A backend that the session holds already cannot be cleaned.
    pub(crate) fn sees_foreign_sequences(&self, statement: &Statement) -> bool {
        !statement.pins.is_empty()
            && !self.client.holds_backend()
            && self.client.login.is_none()
            && self.backend.leftovers.sequences.drawn
    }
}
