//! Whether a plain read is of base tables only: asked of the backend that ran it, once its digest has
//! shown that it would suit a lane. A view can call a function that writes, and what is in a lane may
//! have to be sent twice (rule 6).

use events::{Io, Span, Timestamp};
use membership::Key;
use pool::State as BackendState;
use wire::{TextResultSet, whole_packet};

use crate::backend::{ClientCommand, Due, Purpose};
use crate::commands::answers::Ending;
use crate::lanes::digests::{Digest, Sample};
use crate::{Engine, Mail, Turn};

/// A question about the tables of a read.
pub(crate) struct ReadTables {
    digest: Digest,
    /// What was known of tables when it was asked.
    epoch: u32,
    /// The answer.
    pub rows: TextResultSet,
}

impl Engine {
    /// A plain read that went alone was answered: takes in how it did, and has its tables asked about
    /// if it might share a lane from now on.
    pub(crate) fn learn_read<I: Io<Mail>>(
        &mut self,
        turn: &Turn<'_, I>,
        key: Key,
        command: &ClientCommand,
        sample: Sample,
    ) {
        if command.digest == Digest::NONE || self.settings.lane_stall.is_none() {
            return;
        }
        // The more others are at work, the less of the time is its own.
        let id = self.pool.key_of(key);
        let busy = id.map_or(0, |id| self.pool.count(id, BackendState::Active));
        let own = Span::from_us(sample.service.as_us() / (busy as u64 / 4).max(1));
        let sample = Sample {
            service: own,
            ..sample
        };
        self.lane_patience.note(own, turn.now);
        let bounds = self.lane_bounds();
        let asks = self
            .digests
            .learn(command.digest, &sample, (&bounds, true), turn.now);
        if let Some(backend) = self.pool.get_mut(key)
            && asks
            && command.client.is_some()
        {
            backend.due |= Due::TABLES;
        }
    }

    /// Asks whether the read that the backend answered last names a view. False if that cannot be
    /// asked: then it never shares a lane.
    pub(crate) fn ask_for_tables<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) -> bool {
        let Some(backend) = self.pool.get_mut(key) else {
            return false;
        };
        let client = backend.client;
        let replay = std::mem::take(&mut backend.replay);
        let Some((client, digest)) =
            client.and_then(|key| Some((key, self.clients.get(key)?.digest)))
        else {
            return false;
        };
        let packet = whole_packet(&replay).ok();
        let question =
            packet.and_then(|packet| self.question_about_names(client, packet.payload.bytes()));
        let Some(question) = question else {
            let never = (false, self.digests.epoch());
            self.digests.learn_tables(digest, never, turn.now);
            return false;
        };
        self.put_tables_question(turn, key, (digest, &question));
        true
    }

    /// Sends the question about the tables of reads with a digest.
    pub(crate) fn put_tables_question<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        (digest, question): (Digest, &[u8]),
    ) {
        let epoch = self.digests.epoch();
        let Some(backend) = self.pool.get_mut(key) else {
            return;
        };
        backend.put_query(turn.io.outbox(backend.handle), question);
        let rows = TextResultSet::default();
        backend.expect(Purpose::ReadTables(Box::new(ReadTables {
            digest,
            epoch,
            rows,
        })));
    }

    /// The backend said how many views there are among the names.
    pub(crate) fn learn_tables(&mut self, now: Timestamp, read: &ReadTables, ending: &Ending) {
        let base = *ending == Ending::Ok && read.rows.first(0) == Some(b"0");
        self.digests
            .learn_tables(read.digest, (base, read.epoch), now);
    }
}
