//! What backends send: bytes become answers, and answers go to the clients that wait for them, one by one or in the order
//! of a lane.

use admission::Permit;
use carry::conditions::{Answer, Does};
use carry::digests::Sample;
use carry::ending::{Ending, Progress};
use carry::errors::ClientError;
use carry::last_gtid::Gtid;
use events::Io;
use membership::Key;
use pool::State as BackendState;
use session::is_charset_variable;
use session::statement::{Kind, Traits};
use wire::{OkPacket, Piece, ServerStatus, StateChange, Told, WalkError, whole_packet};

use crate::desk::Engine;
use crate::endings::next_sequence_id;
use crate::follow::unasked::{Unasked, shown};
use crate::matching::lanes::FILL_AT;
use crate::matching::trouble::LANES;
use crate::record::backend::{Backend, ClientCommand, Exchange, Purpose, Reading, Step};
use crate::record::client::{Pauses, State};
use crate::record::counters::DisconnectReason;
use crate::record::owner::Owner;
use crate::record::retry::Retry;
use crate::record::shared::Mail;
use crate::record::turn::Turn;

impl Engine {
    pub(crate) fn backend_received<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        bytes: &[u8],
    ) {
        self.working_on(Owner::Backend(key), |engine| {
            engine.take_answers(turn, key, bytes);
        });
    }

    fn take_answers<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key, bytes: &[u8]) {
        let Some(backend) = self.records.pool.get_mut(key) else {
            return;
        };
        let mut inbox = std::mem::take(&mut backend.inbox);
        let carried_over = !inbox.is_empty();
        if carried_over {
            inbox.extend_from_slice(bytes);
        }
        let input = if carried_over { &inbox } else { bytes };
        let (used, read) = self.answers(turn, key, input);
        match read {
            Ok(()) => {}
            Err(WalkError::AfterEnd) => return self.heard_unasked(turn, key, &input[used..]),
            Err(error) => {
                tracing::warn!(backend = ?key, %error, "backend does not follow the protocol; closed");
                return self.backend_broken(turn, key);
            }
        };
        match carried_over {
            true => drop(inbox.drain(..used)),
            false => inbox.extend_from_slice(&bytes[used..]),
        }
        if let Some(backend) = self.records.pool.get_mut(key) {
            backend.inbox = inbox;
            self.hold_back(turn, key);
            self.take_upload(turn, key);
        }
    }

    /// Deals with all complete pieces of `input`. Returns how many bytes those were, and whether they could be read.
    fn answers<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        input: &[u8],
    ) -> (usize, Result<(), WalkError>) {
        let mut at = 0;
        while at < input.len() {
            let Some(backend) = self.records.pool.get(key) else {
                return (input.len(), Ok(()));
            };
            if backend.login.is_some() {
                let used = self.backend_login_bytes(turn, key, &input[at..]);
                if used == 0 {
                    break;
                }
                at += used;
                continue;
            }
            let (used, progress) = match self.answer(turn, key, &input[at..]) {
                Ok(went) => went,
                Err(error) => return (at, Err(error)),
            };
            at += used;
            match progress {
                Progress::Complete(ending) => self.answered(turn, key, &ending),
                Progress::Incomplete => break,
            }
        }
        (at, Ok(()))
    }

    /// Goes through the answer to the oldest command under way.
    fn answer<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        input: &[u8],
    ) -> Result<(usize, Progress), WalkError> {
        let Some(backend) = self.records.pool.get_mut(key) else {
            return Ok((input.len(), Progress::Incomplete));
        };
        if !backend.may_answer(turn.io) {
            return Err(WalkError::AfterEnd);
        }
        // Taken out while it is worked on; the queue behind it cannot change meanwhile.
        let Some(mut exchange) = backend.exchanges.pop_front() else {
            return Err(WalkError::AfterEnd);
        };
        let progress = self.pieces(turn, key, &mut exchange, input);
        if let Some(command) = exchange.purpose.command_mut() {
            command.translation.flushed();
        }
        if let Some(backend) = self.records.pool.get_mut(key) {
            backend.exchanges.push_front(exchange);
        }
        progress
    }

    fn pieces<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        exchange: &mut Exchange,
        input: &[u8],
    ) -> Result<(usize, Progress), WalkError> {
        let mut at = 0;
        while let Some(piece) = exchange.walk.next(&input[at..])? {
            at += piece.bytes().len();
            exchange.bytes += piece.bytes().len();
            let ending = self.piece(turn, key, exchange, &piece)?;
            if exchange.walk.is_done()
                && let Some(ending) = ending
            {
                return Ok((at, Progress::Complete(ending)));
            }
            if let Piece::Row(_) = piece {
                at += self.records.further_rows(turn, exchange, &input[at..]);
            }
        }
        Ok((at, Progress::Incomplete))
    }

    fn piece<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        exchange: &mut Exchange,
        piece: &Piece<'_>,
    ) -> Result<Option<Ending>, WalkError> {
        let mut told = Told {
            next_sequence_id: exchange.walk.next_sequence_id(),
            ..Told::default()
        };
        let (mut block, flavor) = (Vec::new(), self.records.known.flavor());
        if let Some(command) = exchange.purpose.command_mut() {
            command.note(piece);
        }
        let ending = match piece {
            Piece::Ok(_) | Piece::RowsEnd(_) => {
                let ok = OkPacket::parse(piece.payload())?;
                self.status_of(key, exchange, &ok, &mut block);
                if let Purpose::Command(command) = &exchange.purpose
                    && let Some(client) = command.client
                    && let Some(client) = self.records.clients.get_mut(client)
                {
                    client.tell_in_its_place(flavor, command.kind, piece, &mut block);
                }
                Some(Ending::Ok)
            }
            Piece::Err(_) => Some(Ending::Err(piece.payload().to_vec())),
            Piece::LocalInfile(_) => {
                self.records.file_asked_for(turn, key, exchange);
                None
            }
            // Definitions of columns may be the last of what is told of a prepared statement.
            _ => exchange.walk.is_done().then_some(Ending::Ok),
        };
        let more =
            matches!(piece, Piece::Ok(_) | Piece::RowsEnd(_)) && self.records.more_follow(key);
        match &mut exchange.purpose {
            Purpose::Command(command) => {
                let client = command
                    .client
                    .and_then(|client| self.records.clients.get_mut(client));
                // What a client is told of its login is said when the answer is complete.
                let Some(client) = client.filter(|client| client.login.is_none()) else {
                    return Ok(ending);
                };
                told.state_changes = &block;
                told.status = client.status;
                if command.kind == Kind::Call {
                    // Its own OK packet ends it.
                    told.status |= ServerStatus::MORE_RESULTS_EXISTS;
                }
                told.warnings = command.counts.warnings;
                if matches!(command.does, Does::AddsError | Does::Tells) {
                    // MySQL says how many the statement before had, which was another session's here.
                    told.counted = Some(0);
                }
                command.answered = true;
                let outbox = turn.io.outbox(client.handle);
                let begin = outbox.len();
                command.tell(piece, (&told, flavor), outbox)?;
                if let Piece::PrepareOk(_) = piece {
                    client.name_statement(&mut outbox[begin..]);
                }
                if more && let Some(next) = turn.io.end_part(client.handle) {
                    command.translation.goes_on_at(next, told.next_sequence_id);
                }
                if let (Piece::ColumnsEnd(_), Some(id)) = (piece, command.keeps_definitions_of) {
                    client.definitions_told(id, command.translation.kept());
                }
            }
            Purpose::Own(Step::Prepare(preparing)) => preparing.note(piece),
            Purpose::Own(_) => {}
            Purpose::Ask(question) => question.keep(piece)?,
        }
        Ok(ending)
    }

    /// Takes over what an OK packet says of the session.
    fn status_of(
        &mut self,
        key: Key,
        exchange: &mut Exchange,
        ok: &OkPacket<'_>,
        block: &mut Vec<u8>,
    ) {
        let Some(backend) = self.records.pool.get_mut(key) else {
            return;
        };
        backend.ends_without_word(&exchange.purpose, ok.status);
        backend.status = ok.status;
        let Purpose::Command(command) = &mut exchange.purpose else {
            return self.records.purpose_told(key, &mut exchange.purpose, ok);
        };
        command.counts.affected = ok.affected_rows;
        command.counts.warnings = ok.warnings;
        command.counts.warned |= ok.warnings > 0;
        if let Some(untold) = &mut command.untold {
            untold.answered(ok);
        }
        if ok.status.contains(ServerStatus::DB_DROPPED) {
            self.records.known.schemas.forget_all();
        }
        // The server says that a hint has changed the session, which it has not. A view could do so behind that, so the
        // backend is reset before another session gets it.
        let hinted = Traits::HINTS_VARIABLES | Traits::PURE_READ;
        let hinted = command.traits.contains(hinted);
        backend.dirty |= hinted;
        // By now SET STATEMENT has put them back, which the server says with whatever it says next.
        let kept = !command.traits.contains(Traits::FOR_STATEMENT);
        let changes = ok.changes();
        let changes = changes.filter(|change| !hinted && (kept || !is_variable(change)));
        let Some(client) = command.client else {
            return backend.told_for_nobody(ok, changes, &mut self.records.known.interner);
        };
        let Some(mut pair) = self.records.pair_of(client, key) else {
            return;
        };
        let moved = pair.told((command, kept), (ok, changes), block);
        self.records.keep_pin(client);
        if moved {
            self.matching.follow_schema(&mut self.records, client);
        }
    }

    /// Takes a backend's answers no faster than its client takes them (rule 8).
    fn hold_back<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        if self.records.is_lane(key) {
            return self.hold_back_lane(turn, key);
        }
        let Some(backend) = self.records.pool.get_mut(key) else {
            return;
        };
        if backend.exchanges.is_empty() {
            backend.reading = Reading::default();
            return;
        }
        let reading = backend.reading;
        let client = backend.client;
        let handle = client.and_then(|client| Some(self.records.clients.get(client)?.handle));
        let (Some(client), Some(handle)) = (client, handle) else {
            return;
        };
        if turn.io.unsent(handle) > self.records.answers_ahead(turn, reading) {
            self.stall(turn, key, client);
        }
    }

    /// The client took all that was there for it.
    pub(crate) fn client_drained<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, client: Key) {
        self.stalls.forget(client);
        let backend = self.records.answering(client);
        if let Some(backend) = backend.and_then(|key| self.records.pool.get_mut(key))
            && std::mem::take(&mut backend.reading) == Reading::Paused
        {
            turn.io.resume_receive(backend.handle);
        }
    }

    /// A client that was not listened to while its statement ran may have begun with its file.
    fn take_upload<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let client = self
            .records
            .pool
            .get(key)
            .and_then(|backend| backend.client);
        let uploading = |client: &Key| {
            self.records.clients.get(*client).is_some_and(|client| {
                client.uploading && (!client.paused.is_empty() || !client.inbox.is_empty())
            })
        };
        let Some(key) = client.filter(uploading) else {
            return;
        };
        self.records.resume_client(turn, key, Pauses::all());
        self.consume_inbox(turn, key);
    }

    /// The next piece of a command goes when the backend has taken the last one, unless it waits for its buffer (`hand_over`).
    pub(crate) fn goes_on_sending<I: Io<Mail>>(turn: &mut Turn<'_, I>, backend: &Backend) {
        if backend
            .rest
            .as_ref()
            .is_some_and(|rest| !rest.awaits_buffer())
        {
            turn.io.notify_drained(backend.handle);
        }
    }

    /// A backend has sent bytes that answer no command.
    fn heard_unasked<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key, bytes: &[u8]) {
        let Some(backend) = self.records.pool.get(key) else {
            return;
        };
        match Unasked::new(bytes) {
            Unasked::Farewell(error) => {
                tracing::debug!(backend = ?key, code = error.code, "backend says that it closes");
                if !backend.is_working()
                    && let Some(client) = backend.client
                {
                    self.records.tell_unasked(turn, client, &error);
                }
            }
            Unasked::Beginning => {
                tracing::debug!(backend = ?key, "backend closes and did not finish saying why");
            }
            Unasked::Stray => {
                self.records.counters.backend_unasked_packets += 1;
                tracing::warn!(
                    connection_id = backend.connection_id,
                    bytes = bytes.len(),
                    first = shown(bytes),
                    "backend sent a packet that no command had asked for; connection closed"
                );
            }
        }
        self.backend_broken(turn, key);
    }

    /// Sends the read that waits first, and those who wait behind it, if there is a lane with room, or
    /// a backend that can be brought to its state.
    pub(crate) fn serve_lanes<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, first: Key) -> bool {
        if !self.matching.still_shares(&mut self.records, turn, first) {
            return true;
        }
        if let Some(lane) = self.matching.lane_with_room(&mut self.records, turn, first) {
            self.matching
                .send_in_lane(&mut self.records, turn, lane, first);
            self.matching.fill(&mut self.records, turn, lane);
            return true;
        }
        !self.records.has_lane(first) && self.serve_alone(turn, first)
    }

    /// The answer to the oldest read of a lane is complete.
    pub(crate) fn lane_answered<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        lane: Key,
        command: &ClientCommand,
        sample: Sample,
    ) {
        let bounds = self.matching.lane_bounds(&self.records);
        self.matching.lane_patience.note(sample.service, turn.now);
        self.records
            .known
            .digests
            .learn(command.digest, &sample, (&bounds, false), turn.now);
        let followed = self.records.pool.get(lane).is_some_and(Backend::is_working);
        self.matching.lane_limit.answered(followed, turn.now);
        if let Some(client) = command.client {
            self.lane_client_answered(turn, client, command, sample.odd);
        }
        let left = self
            .records
            .pool
            .get(lane)
            .map_or(0, |lane| lane.exchanges.len());
        match self.records.pool.state(lane) {
            Some(BackendState::Lane) if left <= FILL_AT => {
                self.matching.fill(&mut self.records, turn, lane);
            }
            Some(BackendState::Draining) => self.matching.watch_lanes(turn.now),
            _ => {}
        }
    }

    /// A client whose read was in a lane has its answer.
    fn lane_client_answered<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        command: &ClientCommand,
        odd: bool,
    ) {
        let Some(client) = self.records.clients.get_mut(key) else {
            return;
        };
        let failed = odd && !command.counts.warned;
        self.records.counters.statement_errors += u64::from(failed);
        command.note_counts(&mut client.capture, failed);
        match whole_packet(&client.inbox) {
            Ok(packet) if odd => {
                let count = command.counts.warnings.max(u16::from(failed));
                let text = client.text(packet.payload.bytes());
                client.capture.conditions.repeatable(text, count);
            }
            _ => {
                let conditions = &mut client.capture.conditions;
                conditions.answered(command.does, &Answer::default());
                // The next command may come to another backend.
                conditions.lose();
            }
        }
        self.drop_first_command(key);
        self.records.clients.move_to(key, State::Idle, turn.now);
        let Some(client) = self.records.clients.get_mut(key) else {
            return;
        };
        if self.draining.is_some() {
            return self.close_client(turn, key, DisconnectReason::Drain);
        }
        if client.inbox.is_empty() && client.paused.is_empty() {
            let inbox = std::mem::take(&mut client.inbox);
            return self.records.recycle(inbox);
        }
        self.consume_inbox(turn, key);
    }

    /// The lane gets no more reads, and those behind its head are sent again elsewhere.
    pub(crate) fn empty_lane<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, lane: Key) {
        let Some(id) = self.records.pool.key_of(lane) else {
            return;
        };
        if self.records.pool.state(lane) == Some(BackendState::Lane) {
            self.records
                .pool
                .move_to(lane, BackendState::Draining, turn.now);
        }
        let places = 1..self.records.pool.get(lane).map_or(0, |b| b.exchanges.len());
        for place in places {
            let rider = self
                .records
                .pool
                .get_mut(lane)
                .and_then(|b| b.take_along(place));
            if let Some((rider, permit)) = rider {
                self.records.counters.lane_moves += 1;
                self.matching
                    .hold_permit(&mut self.records, rider, permit, turn.now);
                self.records.send_again(turn, rider, Retry::Moved);
            }
        }
        self.serve(turn, id);
    }

    /// Empties the lanes whose head takes too long.
    pub(crate) fn lanes_due<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        if self.matching.lane_due.is_none_or(|at| turn.now < at) {
            return;
        }
        if !turn.io.has_told_all() {
            // The answers may be there.
            self.matching.lane_due = Some(turn.now);
            return;
        }
        self.matching.lane_due = None;
        let (mut stalled, mut next) = (Vec::new(), None);
        let limit = self.matching.lane_patience.limit();
        let late = turn.io.told_late();
        for &id in &self.records.awake {
            for (key, backend) in LANES
                .into_iter()
                .flat_map(|s| self.records.pool.iter(id, s))
            {
                let at = backend.head_since + limit + late;
                match turn.now >= at {
                    true => stalled.push(key),
                    false => next = [next, Some(at)].into_iter().flatten().min(),
                }
            }
        }
        self.matching.lane_due = next;
        for lane in stalled {
            self.lane_stalled(turn, lane);
        }
    }

    /// The head of a lane takes too long. If nobody waits for it, it is ended.
    fn lane_stalled<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, lane: Key) {
        let Some(backend) = self.records.pool.get(lane) else {
            return;
        };
        let head = backend.riders().find(|&(place, _)| place == 0);
        let known = backend.orphaned.is_some();
        if self.records.pool.state(lane) == Some(BackendState::Lane) {
            self.records.counters.lane_stalls += 1;
        }
        self.empty_lane(turn, lane);
        if head.is_none() && !known {
            self.orphan(lane, turn.now);
        }
    }

    /// The answer at the head of a lane is more than its client takes, or than lanes are for: the
    /// others do not wait for it.
    fn hold_back_lane<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, lane: Key) {
        let Some((backend, front)) = self
            .records
            .pool
            .get(lane)
            .and_then(|b| Some((b, b.exchanges.front()?)))
        else {
            return;
        };
        let Purpose::Command(command) = &front.purpose else {
            return;
        };
        if !command.answered {
            return;
        }
        let Some(client) = command.client else {
            return;
        };
        let Some(handle) = self.records.clients.get(client).map(|client| client.handle) else {
            return;
        };
        let over = turn.io.unsent(handle) > self.records.answers_ahead(turn, backend.reading);
        if front.bytes > self.records.settings.answer_buffer || over {
            self.empty_lane(turn, lane);
        }
        if over {
            self.stall(turn, lane, client);
        }
    }

    /// A client whose read is in a lane is to be interrupted. The head is ended on the backend, which
    /// may hit those behind it: they go elsewhere first. A read behind the head is taken out of the lane and never runs.
    pub(crate) fn kill_in_lane<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        (lane, place): (Key, usize),
    ) {
        if place == 0 {
            self.empty_lane(turn, lane);
            return self.interrupt(turn, lane);
        }
        self.records.leave_lane(turn, (lane, place));
        self.records
            .answer_err(turn, key, &ClientError::interrupted());
        self.drop_waiting_command(turn, key);
    }

    /// A lane was lost with its connection. What nothing was told of is sent again; the head's client
    /// may have been told a part.
    pub(crate) fn lane_lost<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, backend: &mut Backend) {
        for exchange in &mut backend.exchanges {
            let Purpose::Command(command) = &mut exchange.purpose else {
                continue;
            };
            let Some(client) = command.client else {
                continue;
            };
            if command.answered {
                let first = self
                    .records
                    .clients
                    .get(client)
                    .map_or(1, |of| of.answer_begins);
                let sequence_id = next_sequence_id(exchange, first);
                self.lose_backend(turn, client, false, sequence_id);
            } else {
                self.records.counters.retries += 1;
                let permit = std::mem::replace(&mut command.permit, Permit::NONE);
                self.matching
                    .hold_permit(&mut self.records, client, permit, turn.now);
                self.records.send_again(turn, client, Retry::Resent);
            }
        }
    }
}

/// True for a change of a system variable, except those of character sets and of the last GTID.
fn is_variable(change: &StateChange<'_>) -> bool {
    let own = |name| !is_charset_variable(name) && name != Gtid::VARIABLE;
    matches!(change, StateChange::SystemVariable { name, .. } if own(name))
}
