//! What backends say: each piece goes to the client of the command it answers, or is taken in if
//! the command was ours.

use events::Io;
use membership::Key;
use session::is_charset_variable;
use session::statement::{Flavor, Kind, PinReason, Traits};
use wire::{
    ErrPacket, Fingerprint, OkPacket, Piece, ServerStatus, StateChange, TextResultSet, Told,
    WalkError,
};

use crate::backend::{ClientCommand, Exchange, InsertId, Purpose, Reading};
use crate::carried::last_gtid::Gtid;
use crate::carried::tracking::{self, Tracked};
use crate::carried::user_variables::names::may_do_unseen;
use crate::conditions::Does;
use crate::owner::Owner;
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

impl Purpose {
    /// Keeps a piece of the answer to a command of ours.
    fn collect(&mut self, piece: &Piece<'_>) -> Result<(), WalkError> {
        match self {
            Self::ReadFacts(rows)
            | Self::ReadBeginning(rows)
            | Self::ReadInsertId(rows)
            | Self::ReadFoundRows(rows)
            | Self::ReadCharset(rows)
            | Self::ReadRole(rows)
            | Self::ReadNames(rows)
            | Self::ReadTracking(rows)
            | Self::ReadPrivileges(rows)
            | Self::ReadRight(rows)
            | Self::ReadViews(rows)
            | Self::ReadCollations(rows)
            | Self::ReadStored(rows) => {
                collect(rows, piece)?;
            }
            Self::ReadVariables(read) => collect(&mut read.rows, piece)?,
            Self::ReadGlobals(rows) => collect(rows, piece)?,
            Self::Prepare(preparing) => preparing.note(piece),
            Self::ReadUserVariables(read) => read.piece(piece)?,
            Self::ReadWarnings(read) => read.keep(piece),
            Self::ReadTables(read) => collect(&mut read.rows, piece)?,
            Self::ReadRoutine(read) => collect(&mut read.rows, piece)?,
            Self::Command(_)
            | Self::ReadPutBack
            | Self::Retrack
            | Self::Restore(_)
            | Self::Repeat
            | Self::RollBack
            | Self::Reset
            | Self::Reselect
            | Self::Setup(_)
            | Self::Probe(_)
            | Self::Kill(_)
            | Self::Ping => {}
        }
        Ok(())
    }
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
        let (mut block, flavor) = (Vec::new(), self.flavor());
        if let Some(command) = exchange.purpose.command_mut() {
            command.note(piece);
        }
        let ending = match piece {
            Piece::Ok(_) | Piece::RowsEnd(_) => {
                let ok = OkPacket::parse(piece.payload())?;
                self.status_of(key, exchange, &ok, &mut block);
                if let Purpose::Command(command) = &exchange.purpose {
                    self.tell_in_its_place(command, piece, &mut block);
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
                let client = command.client.and_then(|client| self.clients.get(client));
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
                    let told = (id, command.translation.kept());
                    self.definitions_told(command.client, told);
                }
            }
            purpose => purpose.collect(piece)?,
        }
        Ok(ending)
    }

    /// True if the backend has said that more results follow.
    fn more_follow(&self, key: Key) -> bool {
        let backend = self.pool.get(key);
        backend.is_some_and(|backend| backend.status.contains(ServerStatus::MORE_RESULTS_EXISTS))
    }

    /// The client has the column definitions of an execution, and keeps them.
    fn definitions_told(&mut self, client: Option<Key>, (id, told): (u32, Option<Fingerprint>)) {
        let client = client.and_then(|client| self.clients.get_mut(client));
        let statements = client.and_then(|client| client.statements.as_mut());
        if let Some(statement) = statements.and_then(|statements| statements.get_mut(id)) {
            statement.definitions = told;
        }
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
            return self.question_told(key, &mut exchange.purpose, ok);
        };
        command.counts.affected = ok.affected_rows;
        command.counts.warnings = ok.warnings;
        command.counts.warned |= ok.warnings > 0;
        if let Some(untold) = &mut command.untold {
            untold.answered(ok);
        }
        let client = command
            .client
            .and_then(|client| self.clients.get_mut(client));
        if ok.last_insert_id != 0 {
            backend.insert_id = match client {
                Some(_) => InsertId::OfClient,
                None => InsertId::Unknown,
            };
        }
        if ok.status.contains(ServerStatus::DB_DROPPED) {
            self.known_schemas.forget_all();
        }
        // By now SET STATEMENT has put them back, which the server says with whatever it says next.
        let kept = !command.traits.contains(Traits::FOR_STATEMENT);
        // The server says that a hint has changed the session, which it has not. A view could do so behind that, so the
        // backend is reset before another session gets it.
        let hinted = Traits::HINTS_VARIABLES | Traits::PURE_READ;
        let hinted = command.traits.contains(hinted);
        backend.dirty |= hinted;
        let changes = ok.changes();
        let changes = changes.filter(|change| !hinted && (kept || !is_variable(change)));
        let Some(client) = client else {
            // No session has this state: the next one finds the backend reset. A reset keeps the schema, so that must be
            // known all the same.
            let states = &mut [&mut backend.session];
            let tracked = tracking::take_over(changes, states, &mut self.interner);
            backend.dirty |= tracked.changed;
            return;
        };
        client.take_status(ok.status, kept);
        if command.traits.contains(Traits::SESSION_TRACKING) {
            client.tracks.follow(ok, command.kind == Kind::Set);
        }
        let Some(key) = command.client else { return };
        if ok.state_changes.is_empty() {
            return self.put_changes(key, (command, ok), block);
        }
        let states = &mut [&mut backend.session, &mut client.session];
        let tracked = tracking::take_over(changes, states, &mut self.interner);
        client.origin.last_gtid = tracked.gtid.unwrap_or(client.origin.last_gtid);
        if tracked.charset {
            backend.due |= crate::backend::Due::CHARSET;
        }
        // Whoever has no role yet may not use what a role has opened.
        let known = client.session.schema.as_ref();
        let known = known.filter(|_| tracked.schema && client.session.role().is_none());
        if let Some(schema) = known {
            self.known_schemas.learn(client.key, schema);
        }
        if !kept && client.tracks.tells(ok, &self.track_lists) {
            backend.due |= crate::backend::Due::PUT_BACK;
        }
        self.put_changes(key, (command, ok), block);
        if tracked.schema {
            self.follow_schema(key);
        }
        self.follow_unseen(key, command, tracked);
    }

    /// What changed that is not carried as it was told: it is asked about, or pins the session.
    fn follow_unseen(&mut self, key: Key, command: &ClientCommand, tracked: Tracked) {
        if tracked.unrestorable {
            self.pin_late(key, PinReason::Unknown);
        }
        if tracked.pinning && may_do_unseen(command) {
            self.pin_late(key, PinReason::UntrackedVariable);
        }
        if tracked.state {
            self.changed_unseen(key, command, tracked);
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

/// True of a system variable, but for those that are read back.
fn is_variable(change: &StateChange<'_>) -> bool {
    let own = |name| !is_charset_variable(name) && name != Gtid::VARIABLE;
    matches!(change, StateChange::SystemVariable { name, .. } if own(name))
}

fn collect(rows: &mut TextResultSet, piece: &Piece<'_>) -> Result<(), WalkError> {
    Ok(rows.piece(piece)?)
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
