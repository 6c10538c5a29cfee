//! A command as the backend gets it: what must be brought across for it, what is sent in its place,
//! and what is remembered until its answer comes.

use events::{Io, Timestamp};
use membership::Key;
use session::statement::{Dialect, Flavor, Kind, PinReason, PinReasons, Statement, Traits};
use wire::{Command, ResponseWalk, Translation, asks_for_cursor};

use crate::ask::OfSession;
use crate::backend::{Backend, ClientCommand, InsertId, PreparedXa, Purpose};
use crate::carried::effect::Effect;
use crate::carried::holdings;
use crate::carried::insert_id::put_insert_id;
use crate::carried::read_back::READ_INSERT_ID;
use crate::carried::retrack::{put_tracking, retracks};
use crate::carried::told::sets_variables;
use crate::client::Client;
use crate::commands::dispatch::put_command_of;
use crate::commands::own_status::own_status;
use crate::commands::pieces::{Put, put_as_sent};
use crate::commands::rewrite::{self, Live, Rewrite, rewrite};
use crate::commands::settle::defines;
use crate::commands::statements::shape;
use crate::commands::{Packet, mentions};
use crate::conditions::Does;
use crate::diagnostics::Counts;
use crate::lanes::digests::Digest;
use crate::permits::overtime::Allowance;
use crate::prepared::named::{executes, names_statement, put_named};
use crate::shared::SchemaChange;
use crate::{Engine, Mail, Settings, Turn};

impl Engine {
    /// Sends a command to the client's backend, which is in the session's state.
    pub(crate) fn send<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        client_key: Key,
        packet: Packet<'_>,
        statement: Statement,
    ) {
        let text = packet.text();
        let dialect = self.dialect_if_needed(client_key, &statement);
        // Before it pins the session: behind EXECUTE of a text that may prepare others none of them is known.
        let does = self.does(client_key, packet, &statement);
        let pins = self.add_pins(client_key, &statement, (text, dialect.as_ref()));
        let effect = self.effect(client_key, packet, (&statement, dialect.as_ref()));
        let session = self.clients.get(client_key);
        let untold =
            session.and_then(|session| session.sets(packet, (&statement, dialect.as_ref())));
        let lock = effect.as_ref().and_then(Effect::of_lock);
        lock.into_iter().for_each(|lock| lock.sent(turn.now));
        self.forget_lock_wait(client_key);
        let (keeping, own_text) = self.take_intent(client_key);
        let keeping = self.reads_accounts_after(client_key, (packet, &statement), keeping);
        let Allowance { permit, until } = self.take_allowance(client_key, statement.kind);
        let brings_insert_id = self.brings_insert_id(turn.now, client_key, (packet, &statement));
        let flavor = self.known.flavor();
        let Some(client) = self.clients.get_mut(client_key) else {
            return;
        };
        let Some(backend) = client.backend.and_then(|key| self.pool.get_mut(key)) else {
            return;
        };
        let outbox = turn.io.outbox(backend.handle);
        let repeats = backend.repeat(outbox, (client, &statement), packet.payload);
        self.counters.lane_repeats += u64::from(repeats);
        let live = backend.live(client.capture.conditions.is_there());
        let text_read = (text, dialect.as_ref());
        let rewrite =
            own_text.or_else(|| in_place_of(&statement, text_read, (client, live), &self.settings));
        let reads = client.needs_none_there(packet.payload, &statement, (does, flavor));
        bring_across(
            outbox,
            (backend, reads),
            (client, &statement, brings_insert_id),
            (rewrite.as_ref(), packet.payload, flavor),
        );
        let rewritten = rewrite.as_ref().map(|rewrite| &rewrite.text[..]);
        let rewritten = rewritten.or_else(|| effect.as_ref()?.text_in_place_of(text));
        backend.keep_for_retry((client, &statement), packet, rewritten.is_some());
        let does_so = (&statement, effect.as_ref());
        put_tracking(outbox, (client, backend), does_so, &self.known.track_lists);
        let put = put_packet(outbox, (client, backend), (packet, rewritten), flavor);
        let sequence_id = put.last;
        debug_assert!(
            backend.rest.is_none(),
            "it has not got all of the last command"
        );
        backend.rest = put.rest;
        Self::goes_on_sending(turn, backend);
        client.holds_unseen(&statement, effect.as_ref());
        self.counters.statements += u64::from(packet.is_statement());
        let kept = client.keeps_definitions_of(packet.payload, &statement);
        let command = ClientCommand {
            client: Some(client_key),
            translation: translation(client, packet, (sequence_id, kept, &statement)),
            kind: statement.kind,
            traits: statement.traits,
            pins,
            counts: Counts::default(),
            does,
            effect: effect.map(Box::new),
            untold,
            answered: false,
            permit,
            keeping,
            until,
            timed_out: false,
            digest: backend.replayed(client.digest),
            keeps_definitions_of: kept,
        };
        backend.note_xa(&statement, text);
        backend.expect_answer(turn.now, (packet, sequence_id), command);
    }

    /// Whether LAST_INSERT_ID() is brought across for a statement, which is counted.
    fn brings_insert_id(
        &mut self,
        now: Timestamp,
        key: Key,
        command: (Packet<'_>, &Statement),
    ) -> bool {
        let pair = self.attached(key);
        let brings = pair.is_some_and(|mut pair| pair.lacks_insert_id(now, command.0, command.1));
        self.counters.restores += u64::from(brings);
        brings
    }

    /// What a statement may define as something else is not known any more.
    pub(crate) fn forget_defined<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        statement: &Statement,
    ) {
        if defines(statement.kind, statement.traits) {
            let stored = statement.traits.contains(Traits::DEFINES_STORED);
            self.forget_schemas(
                turn,
                SchemaChange {
                    stored,
                    done: false,
                },
            );
        }
    }

    /// How the session's texts are read, if this one must be looked at again.
    fn dialect_if_needed(&self, client: Key, statement: &Statement) -> Option<Dialect> {
        let needed = rewrite::concerns(statement)
            || holdings::concerns(statement)
            || retracks(statement)
            || sets_variables(statement)
            || !statement.pins.is_empty();
        let session = &self.clients.get(client).filter(|_| needed)?.session;
        self.known.facts.as_ref()?.dialect(session)
    }

    /// Pins the session for what the statement does. Returns the reasons that are new.
    fn add_pins(
        &mut self,
        client: Key,
        statement: &Statement,
        (text, dialect): (&[u8], Option<&Dialect>),
    ) -> PinReasons {
        if statement.pins.is_empty() {
            return PinReasons::NONE;
        }
        let Some(client) = self.clients.get_mut(client) else {
            return PinReasons::NONE;
        };
        let is_new = |&reason: &PinReason| !client.pins.contains(reason);
        let pins: PinReasons = statement.pins.iter().filter(is_new).collect();
        // COM_RESET_CONNECTION leaves the one as it is, and what was profiled and traced, and, on MariaDB, what BINLOG
        // has made.
        let stays = [
            PinReason::ResourceGroup,
            PinReason::Profiling,
            PinReason::ReplicationVariable,
        ];
        let stays = stays.into_iter().any(|reason| pins.contains(reason));
        let backend = client.backend.and_then(|key| self.pool.get_mut(key));
        if let (Some(backend), true) = (backend, stays) {
            backend.retired = true;
        }
        pins.iter().for_each(|reason| self.counters.pinned(reason));
        client.pins |= pins;
        if let (false, Some(dialect)) = (pins.is_empty(), dialect) {
            let account = self.accounts.account(client.account);
            let user = account.map_or("", |account| account.user());
            self.pin_log.note(pins, user, (text, dialect));
        }
        pins
    }

    /// What the command does to the list of conditions.
    pub(crate) fn does(&self, client: Key, packet: Packet<'_>, statement: &Statement) -> Does {
        let command = packet.payload.first().copied().and_then(Command::from_byte);
        let flavor = self.known.flavor();
        if let Some(does) = command.and_then(|command| Does::of_command(command, flavor)) {
            return does;
        }
        if command == Some(Command::StmtPrepare) {
            let prepared = self.judge_prepared_text(client, packet.text());
            return Does::of_preparing(&prepared, packet.text(), flavor);
        }
        let executed = self.clients.get(client);
        let executed = executed
            .filter(|_| executes(packet.payload))
            .and_then(|client| client.statement(packet.payload));
        match executed {
            Some(prepared) => prepared.template.meaning.does,
            None => (statement.kind == Kind::Prepared
                || statement.traits.contains(Traits::RUNS_PREPARED_TEXT))
            .then(|| self.does_by_name(client, packet))
            .flatten()
            .unwrap_or_else(|| Does::of_statement(statement, packet.text(), flavor)),
        }
    }
}

impl Backend {
    /// Notes that a statement may prepare an XA transaction: it can fail, and an execution does not say its text.
    fn note_xa(&mut self, statement: &Statement, text: &[u8]) {
        if !statement.pins.contains(PinReason::Xa) {
            return;
        }
        if text.is_empty() || mentions(text, b"prepare") {
            self.prepared_xa = self.prepared_xa.max(PreparedXa::Possible);
        }
    }

    /// Notes that the answer to a client's command will come.
    fn expect_answer(
        &mut self,
        now: Timestamp,
        (packet, sequence_id): (Packet<'_>, u8),
        command: ClientCommand,
    ) {
        self.head_since = now;
        let walk = ResponseWalk::shaped(shape(packet.payload), true, sequence_id);
        self.owe(walk, Purpose::Command(command));
    }

    /// What the backend knows of the session's last statement.
    fn live(&self, warnings: bool) -> Live {
        Live {
            warnings,
            found_rows: self.counted_rows,
        }
    }

    /// The digest of a command that was kept; none of one that was not.
    fn replayed(&self, digest: Digest) -> Digest {
        match self.replay.is_empty() {
            true => Digest::NONE,
            false => digest,
        }
    }
}

/// What is sent in place of a text.
fn in_place_of(
    statement: &Statement,
    (text, dialect): (&[u8], Option<&Dialect>),
    told: (&Client, Live),
    settings: &Settings,
) -> Option<Rewrite> {
    dialect
        .and_then(|dialect| rewrite(statement, (text, dialect), told, settings))
        .or_else(|| own_status(statement, text, told.0))
}

/// Appends a command, or what is sent in its place.
fn put_packet(
    outbox: &mut Vec<u8>,
    (client, backend): (&mut Client, &mut Backend),
    (packet, rewritten): (Packet<'_>, Option<&[u8]>),
    flavor: Flavor,
) -> Put {
    match rewritten {
        Some(text) => {
            let command = packet.payload.first().copied();
            let command = command.and_then(Command::from_byte);
            let parts = [packet.attributes(), text];
            Put::whole(put_command_of(
                outbox,
                command.unwrap_or(Command::Query),
                parts,
            ))
        }
        None if names_statement(packet.payload) => {
            put_named(outbox, (client, backend), packet, flavor)
        }
        None => put_as_sent(outbox, packet),
    }
}

impl Client {
    /// True if a command must find its backend's list of conditions empty.
    fn needs_none_there(
        &self,
        payload: &[u8],
        statement: &Statement,
        (does, flavor): (Does, Flavor),
    ) -> bool {
        // A body that is not known may use no tables: then it leaves what somebody else has left there. A text that is
        // prepared, or run at once, may ask for it.
        // XA START has found the list empty, and nothing can empty it before the end.
        let pins = |reason| statement.pins.contains(reason);
        let may_tell = match statement.kind {
            Kind::Prepared => pins(PinReason::TextPrepared) || pins(PinReason::Call),
            _ => does == Does::Replaces && pins(PinReason::Call),
        };
        let may_tell = may_tell && flavor == Flavor::MariaDb && !self.pins.contains(PinReason::Xa);
        let asks = may_tell || statement.traits.intersects(Traits::NEEDS_CONDITIONS);
        self.counted(payload, statement).is_none()
            && self.capture.conditions.needs_none_there(asks, does)
    }

    /// The statement that a command executes, if the client keeps its column definitions: those of reads, as the
    /// server has it of all that is no procedure.
    fn keeps_definitions_of(&self, payload: &[u8], statement: &Statement) -> Option<u32> {
        let keeps = self.dialect().cache_metadata && statement.kind == Kind::Select;
        let executed = (keeps && executes(payload)).then(|| self.statement(payload));
        executed.flatten().map(|executed| executed.id)
    }
}

/// How the client is told the answer to a command whose last packet was sent with `sequence_id`.
fn translation(
    client: &Client,
    packet: Packet<'_>,
    (sequence_id, keeps_definitions_of, statement): (u8, Option<u32>, &Statement),
) -> Translation {
    let login = client.login.as_ref();
    let begins = login.map_or(client.answer_begins, |login| login.sequence_id);
    let offset = begins.wrapping_sub(1).wrapping_sub(sequence_id);
    let mut translation = Translation::new(client.dialect(), offset);
    if statement.kind == Kind::Admin && !statement.traits.contains(Traits::IMPLICIT_COMMIT) {
        // CHECKSUM TABLE.
        translation = translation.with_columns_first();
    }
    if keeps_definitions_of.is_some() {
        let executed = client.statement(packet.payload);
        translation = translation.with_kept(executed.and_then(|executed| executed.definitions));
    }
    // Writes that return rows, and what a procedure reads, are told at once.
    let opens_none = matches!(
        statement.kind,
        Kind::Insert | Kind::Replace | Kind::Update | Kind::Delete | Kind::Call | Kind::Handler
    );
    match asks_for_cursor(packet.payload) && !opens_none {
        true => translation.with_cursor(),
        false => translation,
    }
}

/// What the statement reads of the session and the backend does not have goes before it.
fn bring_across(
    outbox: &mut Vec<u8>,
    (backend, needs_no_conditions): (&mut Backend, bool),
    (client, statement, brings_insert_id): (&mut Client, &Statement, bool),
    (rewrite, payload, flavor): (Option<&Rewrite>, &[u8], Flavor),
) {
    let counted = client.counted(payload, statement);
    if rewrite.is_none() && needs_no_conditions {
        backend.clear_conditions(outbox);
        client.capture.conditions.cleared();
    }
    let value = match counted {
        Some(known) => client
            .capture
            .count(known, flavor)
            .map(|count| count as u64),
        None => rewrite.and_then(|rewrite| rewrite.insert_id),
    };
    if value.is_some() && backend.insert_id == InsertId::OfClient {
        // The value that is about to be replaced is known to nobody else.
        backend.ask_of_session(outbox, OfSession::InsertId, READ_INSERT_ID);
    }
    if let Some(value) = value {
        put_insert_id(outbox, backend, value);
    } else if brings_insert_id {
        put_insert_id(outbox, backend, client.last_insert_id);
    }
}
