//! What answers say of a session, and what its client is told of them.

use carry::errors::ClientError;
use carry::tracking::{self, Tracked};
use events::Io;
use membership::Key;
use session::Interner;
use session::statement::{Flavor, Kind, PinReason, Traits};
use wire::{
    Capabilities, ErrPacket, Fingerprint, OkPacket, Piece, ServerStatus, StateChange, Told,
    WalkError, code,
};

use crate::follow::charset::CHARSET;
use crate::follow::untold::PUT_BACK;
use crate::follow::user_variables::names::may_do_unseen;
use crate::record::backend::{Backend, ClientCommand, Exchange, InsertId};
use crate::record::client::Client;
use crate::record::pair::Pair;
use crate::record::records::Records;
use crate::record::shared::Mail;
use crate::record::turn::Turn;

impl Records {
    /// Hands on the complete rows behind a row in one piece. Returns how many bytes they are.
    pub(crate) fn further_rows<I: Io<Mail>>(
        &self,
        turn: &mut Turn<'_, I>,
        exchange: &mut Exchange,
        input: &[u8],
    ) -> usize {
        let Some(command) = exchange.purpose.command_mut() else {
            return 0;
        };
        // It takes note of each row.
        if command.effect.is_some() {
            return 0;
        }
        let (rows, count) = exchange.walk.rows(input);
        if count == 0 {
            return 0;
        }
        command.counts.rows(count);
        let client = command.client.and_then(|client| self.clients.get(client));
        if let Some(client) = client.filter(|client| client.login.is_none()) {
            command
                .translation
                .rows(rows, turn.io.outbox(client.handle));
        }
        exchange.bytes += rows.len();
        rows.len()
    }

    /// True if the backend has said that more results follow.
    pub(crate) fn more_follow(&self, key: Key) -> bool {
        let backend = self.pool.get(key);
        backend.is_some_and(|backend| backend.status.contains(ServerStatus::MORE_RESULTS_EXISTS))
    }
}

impl Backend {
    /// No session has what an answer says of the session's state: the next one finds the backend reset. A reset keeps the
    /// schema, so that must be known all the same.
    pub(crate) fn told_for_nobody<'a>(
        &mut self,
        ok: &OkPacket<'_>,
        changes: impl Iterator<Item = StateChange<'a>>,
        interner: &mut Interner,
    ) {
        if ok.last_insert_id != 0 {
            self.insert_id = InsertId::Unknown;
        }
        let tracked = tracking::take_over(changes, &mut [&mut self.session], interner);
        self.dirty |= tracked.changed;
    }
}

impl Client {
    /// The client was told the column definitions of an execution, and keeps them.
    pub(crate) fn definitions_told(&mut self, id: u32, told: Option<Fingerprint>) {
        let statements = self.statements.as_mut();
        if let Some(statement) = statements.and_then(|statements| statements.get_mut(id)) {
            statement.definitions = told;
        }
    }
}

impl Pair<'_> {
    /// Takes over what an answer says of the session; `kept`: its variables stay. True if another schema is selected.
    pub(crate) fn told<'a>(
        &mut self,
        (command, kept): (&ClientCommand, bool),
        (ok, changes): (&OkPacket<'_>, impl Iterator<Item = StateChange<'a>>),
        block: &mut Vec<u8>,
    ) -> bool {
        let (client, backend) = (&mut *self.client, &mut *self.backend);
        if ok.last_insert_id != 0 {
            backend.insert_id = InsertId::OfClient;
        }
        client.take_status(ok.status, kept);
        if command.traits.contains(Traits::SESSION_TRACKING) {
            client.tracks.follow(ok, command.kind == Kind::Set);
        }
        if ok.state_changes.is_empty() {
            self.put_changes(command, ok, block);
            return false;
        }
        let states = &mut [&mut backend.session, &mut client.session];
        let tracked = tracking::take_over(changes, states, &mut self.known.interner);
        client.origin.last_gtid = tracked.gtid.unwrap_or(client.origin.last_gtid);
        if tracked.charset {
            backend.agenda.add(&CHARSET);
        }
        // Whoever has no role yet may not use what a role has opened.
        if tracked.schema
            && client.session.role().is_none()
            && let Some(schema) = &client.session.schema
        {
            self.known.schemas.learn(client.key, schema);
        }
        if !kept && client.tracks.tells(ok, &self.known.track_lists) {
            backend.agenda.add(&PUT_BACK);
        }
        self.put_changes(command, ok, block);
        self.follow_unseen(command, tracked);
        tracked.schema
    }

    /// What changed that is not carried as it was told: it is asked about, or pins the session.
    fn follow_unseen(&mut self, command: &ClientCommand, tracked: Tracked) {
        if tracked.unrestorable {
            self.pin_late(PinReason::Unknown);
        }
        if tracked.pinning && may_do_unseen(command) {
            self.pin_late(PinReason::UntrackedVariable);
        }
        if tracked.state {
            self.changed_unseen(command, tracked);
        }
    }
}

impl ClientCommand {
    /// Tells the client a piece of its answer.
    pub(crate) fn tell(
        &mut self,
        piece: &Piece<'_>,
        (told, flavor): (&Told<'_>, Flavor),
        outbox: &mut Vec<u8>,
    ) -> Result<(), WalkError> {
        if let (Some(keeping), Piece::Ok(_)) = (&mut self.keeping, piece) {
            // It is told once what the statement changes is kept.
            self.translation.piece(piece, told, &mut keeping.answer)?;
            return Ok(());
        }
        let replaced = self.overtime_error(piece, flavor);
        let replaced = replaced.as_deref().map(Piece::Err);
        let piece = replaced.as_ref().unwrap_or(piece);
        self.translation.piece(piece, told, outbox)?;
        Ok(())
    }

    /// The ERR that the client is told in place of that which the KILL brought about.
    fn overtime_error(&self, piece: &Piece<'_>, flavor: Flavor) -> Option<Vec<u8>> {
        if !self.timed_out || !matches!(piece, Piece::Err(_)) {
            return None;
        }
        let error = ErrPacket::parse(piece.payload()).ok()?;
        if error.code != code::QUERY_INTERRUPTED {
            return None;
        }
        let sequence_id = piece.bytes().get(3).copied()?;
        let mut packet = Vec::new();
        let error = ClientError::statement_timeout(flavor);
        error
            .packet()
            .encode(&mut packet, sequence_id, Capabilities::PROTOCOL_41);
        Some(packet)
    }
}
