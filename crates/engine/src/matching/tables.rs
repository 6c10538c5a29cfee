//! Learns from answered reads how long they take and whether they read base tables.

use carry::digests::{Digest, Sample};
use events::{Io, Span};
use membership::Key;
use pool::State as BackendState;

use crate::follow::views::TABLES;
use crate::matching::Matching;
use crate::record::backend::ClientCommand;
use crate::record::records::Records;
use crate::record::shared::Mail;
use crate::record::turn::Turn;

impl Matching {
    /// A plain read that went alone was answered: takes in how it did, and has its tables asked about
    /// if it might share a lane from now on.
    pub(crate) fn learn_read<I: Io<Mail>>(
        &mut self,
        records: &mut Records,
        turn: &Turn<'_, I>,
        key: Key,
        command: &ClientCommand,
        sample: Sample,
    ) {
        if command.digest == Digest::NONE || records.settings.lane_stall.is_none() {
            return;
        }
        // The more others are at work, the less of the time is its own.
        let id = records.pool.key_of(key);
        let busy = id.map_or(0, |id| records.pool.count(id, BackendState::Active));
        let own = Span::from_us(sample.service.as_us() / (busy as u64 / 4).max(1));
        let sample = Sample {
            service: own,
            ..sample
        };
        self.lane_patience.note(own, turn.now);
        let bounds = self.lane_bounds(records);
        let asks = records
            .known
            .digests
            .learn(command.digest, &sample, (&bounds, true), turn.now);
        if let Some(backend) = records.pool.get_mut(key)
            && asks
            && command.client.is_some()
        {
            backend.agenda.add(&TABLES);
        }
    }
}
