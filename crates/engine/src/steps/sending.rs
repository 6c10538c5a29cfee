//! A command is sent: what is brought across for it, and what is remembered until its answer comes.

use carry::conditions::Does;
use carry::digests::Digest;
use carry::packet::{Packet, defines, mentions};
use carry::prepared::named::executes;
use carry::retrack::retracks;
use carry::rewrite::Live;
use carry::told::sets_variables;
use carry::{holdings, rewrite};
use events::{Io, Timestamp};
use membership::Key;
use session::statement::{Dialect, Flavor, Kind, PinReason, PinReasons, Statement, Traits};
use wire::ResponseWalk;

use crate::follow::statements::shape;
use crate::record::backend::{Backend, ClientCommand, PreparedXa, Purpose};
use crate::record::client::Client;
use crate::record::records::Records;
use crate::record::shared::{Mail, SchemaChange};
use crate::record::turn::Turn;

impl Records {
    /// Whether LAST_INSERT_ID() is brought across for a statement, which is counted.
    pub(crate) fn brings_insert_id(
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
    pub(crate) fn dialect_if_needed(&self, client: Key, statement: &Statement) -> Option<Dialect> {
        let needed = rewrite::concerns(statement)
            || holdings::concerns(statement)
            || retracks(statement)
            || sets_variables(statement)
            || !statement.pins.is_empty();
        let session = &self.clients.get(client).filter(|_| needed)?.session;
        self.known.facts.as_ref()?.dialect(session)
    }

    /// Pins the session for what the statement does. Returns the reasons that are new.
    pub(crate) fn add_pins(
        &mut self,
        client: Key,
        statement: &Statement,
        text: &[u8],
        dialect: Option<&Dialect>,
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
}

impl Backend {
    /// Notes that a statement may prepare an XA transaction: it can fail, and an execution does not say its text.
    pub(crate) fn note_xa(&mut self, statement: &Statement, text: &[u8]) {
        if !statement.pins.contains(PinReason::Xa) {
            return;
        }
        if text.is_empty() || mentions(text, b"prepare") {
            self.prepared_xa = self.prepared_xa.max(PreparedXa::Possible);
        }
    }

    /// Notes that the answer to a client's command will come.
    pub(crate) fn expect_answer(
        &mut self,
        now: Timestamp,
        packet: Packet<'_>,
        sequence_id: u8,
        command: ClientCommand,
    ) {
        self.head_since = now;
        let walk = ResponseWalk::shaped(shape(packet.payload), true, sequence_id);
        self.owe(walk, Purpose::Command(command));
    }

    /// What the backend knows of the session's last statement.
    pub(crate) fn live(&self, warnings: bool) -> Live {
        Live {
            warnings,
            found_rows: self.counted_rows,
        }
    }

    /// The digest of a command that was kept; none of one that was not.
    pub(crate) fn replayed(&self, digest: Digest) -> Digest {
        match self.replay.is_empty() {
            true => Digest::NONE,
            false => digest,
        }
    }
}

impl Client {
    /// True if a command must find its backend's list of conditions empty.
    pub(crate) fn needs_none_there(
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
    pub(crate) fn keeps_definitions_of(
        &self,
        payload: &[u8],
        statement: &Statement,
    ) -> Option<u32> {
        let keeps = self.dialect().cache_metadata && statement.kind == Kind::Select;
        let executed = (keeps && executes(payload)).then(|| self.statement(payload));
        executed.flatten().map(|executed| executed.id)
    }
}
