//! State changes for clients that track their session.

use carry::outbound::leaves_schema;
use carry::track_filter::{TrackFilter, put_schema};
use session::statement::{Flavor, Kind};
use wire::{OkPacket, Reader};

use crate::record::backend::ClientCommand;
use crate::record::pair::Pair;

impl Pair<'_> {
    /// Appends what the client is told of changes to its session.
    pub(crate) fn put_changes(
        &mut self,
        command: &ClientCommand,
        ok: &OkPacket<'_>,
        block: &mut Vec<u8>,
    ) {
        if !self.client.dialect().session_track {
            return;
        }
        let lists = &self.known.track_lists;
        let tracks = match command.retracks() && command.kind != Kind::Select {
            true => TrackFilter::AS_TOLD,
            false => self.client.tracks,
        };
        tracks.pass(Reader::new(ok.state_changes), lists, block);
        // A statement that was prepared in another schema ran there. MySQL selects that schema, then the session's own
        // again, and tells the latter. This backend has switched nothing and may tell no change at all.
        if self.known.flavor() == Flavor::MySql
            && let Some(own) = &self.client.session.schema
            && self.backend.session.schema.as_ref() != Some(own)
            && !leaves_schema(command.kind, command.traits)
            && tracks.tells_schema(lists)
        {
            put_schema(own, block);
        }
        if !block.is_empty() {
            self.client.put_untold(block);
        }
    }
}
