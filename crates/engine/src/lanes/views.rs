//! Whether a plain read is of base tables only: asked of the backend that ran it, once its digest has
//! shown that it would suit a lane. A view can call a function that writes, and what is in a lane may
//! have to be sent twice (rule 6).

use events::{Io, Span, Timestamp};
use membership::Key;
use pool::State as BackendState;
use wire::{TextResultSet, whole_packet};

use crate::ask::Ask;
use crate::backend::{Backend, ClientCommand, Due};
use crate::lanes::digests::{Digest, Digests, Sample};
use crate::{Engine, Mail, Turn};

/// A question about the tables of a read.
pub(crate) struct ReadTables {
    digest: Digest,
    /// What was known of tables when it was asked.
    epoch: u32,
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
            .known
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
        let replay = std::mem::take(&mut backend.replay);
        let client = backend.client.and_then(|key| self.clients.get(key));
        let Some(client) = client else {
            return false;
        };
        let packet = whole_packet(&replay).ok();
        let question = packet.and_then(|packet| {
            self.known
                .question_about_names(client, packet.payload.bytes())
        });
        let epoch = self.known.digests.epoch();
        let Some(question) = question else {
            let digests = &mut self.known.digests;
            digests.learn_tables(client.digest, (false, epoch), turn.now);
            return false;
        };
        let outbox = turn.io.outbox(backend.handle);
        backend.put_tables_question(outbox, (client.digest, epoch), &question);
        true
    }
}

impl Backend {
    /// Sends the question about the tables of reads with a digest; `epoch`: what is known of tables now.
    pub(crate) fn put_tables_question(
        &mut self,
        outbox: &mut Vec<u8>,
        (digest, epoch): (Digest, u32),
        question: &[u8],
    ) {
        let read = Box::new(ReadTables { digest, epoch });
        self.ask(outbox, Ask::Tables(read), question);
    }
}

impl Digests {
    /// A backend said how many views there are among the names.
    pub(crate) fn views_told(
        &mut self,
        read: &ReadTables,
        rows: Option<&TextResultSet>,
        now: Timestamp,
    ) {
        let base = rows.is_some_and(|rows| rows.first(0) == Some(b"0"));
        self.learn_tables(read.digest, (base, read.epoch), now);
    }
}
