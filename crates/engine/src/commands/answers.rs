//! What backends say: each piece goes to the client of the command it answers, or is taken in if
//! the command was ours.

use events::Io;
use membership::Key;
use session::statement::{Flavor, Kind, PinReason, Traits};
use session::{Interner, is_charset_variable};
use wire::{ErrPacket, Fingerprint, OkPacket, Piece, ServerStatus, StateChange, Told, WalkError};

use crate::backend::Step;
use crate::backend::{Backend, ClientCommand, Due, Exchange, InsertId, Purpose, Reading};
use crate::carried::last_gtid::Gtid;
use crate::carried::tracking::{self, Tracked};
use crate::carried::user_variables::names::may_do_unseen;
use crate::client::Client;
use crate::conditions::Does;
use crate::owner::Owner;
use crate::pair::Pair;
use crate::{Engine, Mail, Turn};

/// How an answer ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// With an OK packet, or with the end of rows.
    Ok,
    /// With an ERR packet, whose payload this is.
    Err(Vec<u8>),
}

impl Ending {
    /// The number of the ERR.
    pub(crate) fn code(&self) -> Option<u16> {
        match self {
            Self::Ok => None,
            Self::Err(error) => ErrPacket::parse(error).ok().map(|error| error.code),
        }
    }
}

/// How far the bytes at hand brought the answer that is due.
enum Progress {
    /// More bytes are needed.
    Incomplete,
    /// This answer is complete.
    Complete(Ending),
}

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
        let Some(backend) = self.pool.get_mut(key) else {
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
        if let Some(backend) = self.pool.get_mut(key) {
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
            let Some(backend) = self.pool.get(key) else {
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
        let Some(backend) = self.pool.get_mut(key) else {
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
        if let Some(backend) = self.pool.get_mut(key) {
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
            if let Some(ending) = ending.filter(|_| exchange.walk.is_done()) {
                return Ok((at, Progress::Complete(ending)));
            }
            if let Piece::Row(_) = piece {
                at += self.further_rows(turn, exchange, &input[at..]);
            }
        }
        Ok((at, Progress::Incomplete))
    }

    /// Hands on the complete rows behind a row in one piece. Returns how many bytes they are.
    fn further_rows<I: Io<Mail>>(
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
        let (mut block, flavor) = (Vec::new(), self.known.flavor());
        if let Some(command) = exchange.purpose.command_mut() {
            command.note(piece);
        }
        let ending = match piece {
            Piece::Ok(_) | Piece::RowsEnd(_) => {
                let ok = OkPacket::parse(piece.payload())?;
                self.status_of(key, exchange, &ok, &mut block);
                if let Purpose::Command(command) = &exchange.purpose
                    && let Some(client) = command.client
                    && let Some(client) = self.clients.get_mut(client)
                {
                    client.tell_in_its_place(flavor, (command.kind, piece), &mut block);
                }
                Some(Ending::Ok)
            }
            Piece::Err(_) => Some(Ending::Err(piece.payload().to_vec())),
            Piece::LocalInfile(_) => {
                self.file_asked_for(turn, key, exchange);
                None
            }
            // Definitions of columns may be the last of what is told of a prepared statement.
            _ => exchange.walk.is_done().then_some(Ending::Ok),
        };
        let more = matches!(piece, Piece::Ok(_) | Piece::RowsEnd(_)) && self.more_follow(key);
        match &mut exchange.purpose {
            Purpose::Command(command) => {
                let client = command
                    .client
                    .and_then(|client| self.clients.get_mut(client));
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

    /// True if the backend has said that more results follow.
    fn more_follow(&self, key: Key) -> bool {
        let backend = self.pool.get(key);
        backend.is_some_and(|backend| backend.status.contains(ServerStatus::MORE_RESULTS_EXISTS))
    }

    /// Takes over what an OK packet says of the session.
    fn status_of(
        &mut self,
        key: Key,
        exchange: &mut Exchange,
        ok: &OkPacket<'_>,
        block: &mut Vec<u8>,
    ) {
        let Some(backend) = self.pool.get_mut(key) else {
            return;
        };
        backend.ends_without_word(&exchange.purpose, ok.status);
        backend.status = ok.status;
        let Purpose::Command(command) = &mut exchange.purpose else {
            return self.purpose_told(key, &mut exchange.purpose, ok);
        };
        command.counts.affected = ok.affected_rows;
        command.counts.warnings = ok.warnings;
        command.counts.warned |= ok.warnings > 0;
        if let Some(untold) = &mut command.untold {
            untold.answered(ok);
        }
        if ok.status.contains(ServerStatus::DB_DROPPED) {
            self.known.schemas.forget_all();
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
            return backend.told_for_nobody(ok, changes, &mut self.known.interner);
        };
        let Some(mut pair) = self.pair_of(client, key) else {
            return;
        };
        let moved = pair.told((command, kept), (ok, changes), block);
        self.keep_pin(client);
        if moved {
            self.follow_schema(client);
        }
    }

    /// Takes a backend's answers no faster than its client takes them (rule 8).
    fn hold_back<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        if self.is_lane(key) {
            return self.hold_back_lane(turn, key);
        }
        let Some(backend) = self.pool.get_mut(key) else {
            return;
        };
        if backend.exchanges.is_empty() {
            backend.reading = Reading::default();
            return;
        }
        let reading = backend.reading;
        let client = backend.client;
        let handle = client.and_then(|client| Some(self.clients.get(client)?.handle));
        let (Some(client), Some(handle)) = (client, handle) else {
            return;
        };
        if turn.io.unsent(handle) > self.answers_ahead(turn, reading) {
            self.stall(turn, (key, client));
        }
    }

    /// The client took all that was there for it.
    pub(crate) fn client_drained<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, client: Key) {
        self.stalls.forget(client);
        let backend = self.answering(client);
        if let Some(backend) = backend.and_then(|key| self.pool.get_mut(key))
            && std::mem::take(&mut backend.reading) == Reading::Paused
        {
            turn.io.resume_receive(backend.handle);
        }
    }
}

impl Backend {
    /// No session has what an answer says of the session's state: the next one finds the backend reset. A reset keeps the
    /// schema, so that must be known all the same.
    fn told_for_nobody<'a>(
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
    /// It has the column definitions of an execution, and keeps them.
    fn definitions_told(&mut self, id: u32, told: Option<Fingerprint>) {
        let statements = self.statements.as_mut();
        if let Some(statement) = statements.and_then(|statements| statements.get_mut(id)) {
            statement.definitions = told;
        }
    }
}

impl Pair<'_> {
    /// Takes over what an answer says of the session; `kept`: its variables stay. True if another schema is selected.
    fn told<'a>(
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
            self.put_changes((command, ok), block);
            return false;
        }
        let states = &mut [&mut backend.session, &mut client.session];
        let tracked = tracking::take_over(changes, states, &mut self.known.interner);
        client.origin.last_gtid = tracked.gtid.unwrap_or(client.origin.last_gtid);
        backend.due.set(
            Due::CHARSET,
            tracked.charset || backend.due.contains(Due::CHARSET),
        );
        // Whoever has no role yet may not use what a role has opened.
        if tracked.schema
            && client.session.role().is_none()
            && let Some(schema) = &client.session.schema
        {
            self.known.schemas.learn(client.key, schema);
        }
        if !kept && client.tracks.tells(ok, &self.known.track_lists) {
            backend.due |= Due::PUT_BACK;
        }
        self.put_changes((command, ok), block);
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

/// True of a system variable, but for those that are read back.
fn is_variable(change: &StateChange<'_>) -> bool {
    let own = |name| !is_charset_variable(name) && name != Gtid::VARIABLE;
    matches!(change, StateChange::SystemVariable { name, .. } if own(name))
}

impl ClientCommand {
    /// Tells the client a piece of its answer.
    fn tell(
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
}
