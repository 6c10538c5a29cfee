//! Backend connections: the record of each, and what is under way on it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use admission::Permit;
use carry::conditions::Does;
use carry::diagnostics::Counts;
use carry::digests::Digest;
use carry::effect::{Act, Effect};
use carry::ending::Ending;
use carry::leftovers::Leftovers;
use carry::prepared::Preparing;
use carry::prepared::backend_statements::BackendStatements;
use carry::retrack::Retrack;
use carry::told::Untold;
use carry::trust::Probe;
use carry::views::Unsure;
use events::{Handle, Span, Timestamp};
use membership::Key;
use pool::State as BackendState;
use session::SessionState;
use session::statement::{Kind, PinReasons, Traits};
use wire::{
    Capabilities, ExtendedCapabilities, Piece, ResponseWalk, ServerStatus, Translation, code,
};

use crate::record::ask::{Ask, Question};
use crate::record::auth::BackendLogin;
use crate::record::carried::Agenda;
use crate::record::limits::Keeping;
use crate::record::local_infile::Upload;
use crate::record::pieces::Rest;
use crate::record::relay::Relay;

/// The states of backends that serve sessions, and of those that are made ready for it.
pub(crate) const BACKEND_STATES: [BackendState; 6] = [
    BackendState::Lane,
    BackendState::Draining,
    BackendState::Connecting,
    BackendState::Resetting,
    BackendState::Idle,
    BackendState::Active,
];

/// What makes answers differ: sessions share backend connections only within one key (rule 1).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PoolKey {
    /// The number of the account.
    pub account: u32,
    /// The client's capability flags that change answers.
    pub capabilities: Capabilities,
    /// The client's extended flags (MariaDB) that change answers.
    pub extended: ExtendedCapabilities,
}

impl PoolKey {
    /// The key of a client that logged in as `account`.
    pub(crate) fn new(account: u32, client: Capabilities, extended: ExtendedCapabilities) -> Self {
        let answer_changing = Capabilities::FOUND_ROWS
            | Capabilities::NO_SCHEMA
            | Capabilities::ODBC
            | Capabilities::IGNORE_SPACE
            | Capabilities::MULTI_STATEMENTS
            | Capabilities::LOCAL_FILES
            | Capabilities::MULTI_RESULTS
            | Capabilities::PS_MULTI_RESULTS
            | Capabilities::OPTIONAL_RESULTSET_METADATA
            // Not that it changed answers: it changes how commands are written.
            | Capabilities::QUERY_ATTRIBUTES;
        let extended_answers =
            ExtendedCapabilities::EXTENDED_METADATA | ExtendedCapabilities::PROGRESS;
        Self {
            account,
            capabilities: client & answer_changing,
            extended: extended & extended_answers,
        }
    }

    /// The key of sessions that would have this one, but for their password, which has expired.
    pub(crate) fn sandboxed(self) -> Self {
        Self {
            capabilities: self.capabilities | Capabilities::CAN_HANDLE_EXPIRED_PASSWORDS,
            ..self
        }
    }

    /// True if the password of its sessions has expired.
    pub(crate) fn is_sandbox(&self) -> bool {
        let flag = Capabilities::CAN_HANDLE_EXPIRED_PASSWORDS;
        self.capabilities.contains(flag)
    }

    /// True if its connections cannot name a schema in front of a table.
    pub(crate) fn names_no_schema(&self) -> bool {
        self.capabilities.contains(Capabilities::NO_SCHEMA)
    }
}

/// A backend connection.
pub(crate) struct Backend {
    /// The driver's name for the socket.
    pub handle: Handle,
    /// How far its connection phase has come; `None` in the command phase.
    pub login: Option<BackendLogin>,
    /// The login of a client that it decides.
    pub relay: Option<Box<Relay>>,
    /// The id that the server gave it.
    pub connection_id: u32,
    /// The state its session is in.
    pub session: SessionState,
    /// What stands behind SET ROLE to have the role again that it was opened with; empty if that cannot be
    /// written, `None` until it was told.
    pub login_role: Option<Box<[u8]>>,
    /// Status flags of its last OK or EOF packet.
    pub status: ServerStatus,
    /// What LAST_INSERT_ID() is on it.
    pub insert_id: InsertId,
    /// What is prepared on it.
    pub statements: BackendStatements,
    /// Commands that were sent and whose answers are not complete, the oldest first.
    pub exchanges: VecDeque<Exchange>,
    /// Of the worker's loop.
    pub turns: TurnCounter,
    /// Bytes of an incomplete packet.
    pub inbox: Vec<u8>,
    /// The session that it is attached to.
    pub client: Option<Key>,
    /// How its answers are read.
    pub reading: Reading,
    /// When it was ready for its first statement; until then, when it began to be opened.
    pub opened: Timestamp,
    /// How long that took.
    pub opening: Span,
    /// Since when the oldest command under way may have been worked on.
    pub head_since: Timestamp,
    /// Not to be used again once it is free.
    pub retired: bool,
    /// What must happen before the session can be detached.
    pub due: Due,
    /// What is to be asked about the attached session.
    pub agenda: Agenda,
    /// Only it knows the attached session's `FOUND_ROWS()`: rows were counted that were never sent.
    pub counted_rows: bool,
    /// What it is still to be sent of the command under way.
    pub rest: Option<Box<Rest>>,
    /// A file that the client is sending.
    pub upload: Option<Upload>,
    /// The command under way, as long as it may be sent again elsewhere.
    pub replay: Vec<u8>,
    /// When its client hung up while it ran something that ought to be ended.
    pub orphaned: Option<Timestamp>,
    /// The id of the client that hung up while its statement ran, which does so still.
    pub left_by: Option<u32>,
    /// What is counted for the transaction that is open on it.
    pub transaction: Permit,
    /// A KILL of what it runs is under way.
    pub kill_outstanding: bool,
    /// How many KILLs of what it runs were answered while it went on.
    pub kills: u8,
    /// Its session has said what is tracked, which is not carried yet.
    pub retrack: Option<Retrack>,
    /// The session that is attached, or was, may have left more behind than `session` tells: a
    /// reset is due before anybody else gets it.
    pub dirty: bool,
    /// Whether an XA transaction was prepared on it.
    pub prepared_xa: PreparedXa,
    /// It may keep tables from being altered although no transaction is open: on MySQL, with autocommit off, what
    /// uses tables of other engines than InnoDB, or fails, has them locked until COMMIT or ROLLBACK.
    pub keeps_locks: bool,
    /// Its next transaction may begin with what one was to have that is over.
    pub keeps_characteristics: bool,
    /// CLIENT_QUERY_ATTRIBUTES was negotiated: attributes stand before each text.
    pub attributes: bool,
    /// What it has of user variables besides those of `session`.
    pub leftovers: Leftovers,
    /// What is to be asked about when its session leaves it.
    pub unsure: Option<Box<Unsure>>,
}

/// How the answers of a backend are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Reading {
    /// As they come, up to `answer_buffer` ahead of the client.
    #[default]
    Bounded,
    /// Not now: the client does not keep up.
    Paused,
    /// As they come, into memory, because others wait for the backend.
    Whole,
}

/// Whether an XA transaction was prepared, which outlives its session. COM_RESET_CONNECTION would spoil that: on
/// MariaDB nobody could end it any more, nor write on the connection. Closing hands it over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PreparedXa {
    /// None was.
    #[default]
    No,
    /// Something ran that may have prepared one: the statement, or what cannot be seen, such as the body of a procedure.
    Possible,
    /// One was: the backend has said so.
    Certain,
}

bitflags::bitflags! {
    /// What must happen on a backend once the answers under way are complete, besides its agenda.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Due: u8 {
        /// The command at the front of the client's inbox: it waited for the restore.
        const COMMAND = 1;
        /// COM_PING: an ERR packet left open whether there is a transaction.
        const PING = 1 << 1;
        /// It must be cleaned before the client's command goes on.
        const CLEAN = 1 << 2;
        /// Global variables were changed, and it is not known to what.
        const GLOBALS = 1 << 3;
    }
}

/// What LAST_INSERT_ID() is on a backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InsertId {
    /// This value.
    Known(u64),
    /// A value of the attached session, newer than what its client record says.
    OfClient,
    /// Whatever a session left behind.
    Unknown,
}

/// A command that was sent, and what is to be done with its answer.
pub(crate) struct Exchange {
    /// How far the answer has come.
    pub walk: ResponseWalk,
    /// Whose it is.
    pub purpose: Purpose,
    /// Bytes of the answer that came so far.
    pub bytes: usize,
    /// The turn in which it was written. It leaves at the end of that turn.
    pub turn: u32,
}

/// Counts the turns of a worker's loop: for its engine, and for the backends of that.
#[derive(Clone, Debug, Default)]
pub(crate) struct TurnCounter(Arc<AtomicU32>);

impl TurnCounter {
    /// The number of the turn that goes on.
    pub(crate) fn now(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    /// The turn ends: what was written in it leaves.
    pub(crate) fn end(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Backend {
    /// A connection that is opened.
    pub(crate) fn new(session: SessionState, turns: TurnCounter, now: Timestamp) -> Self {
        Self {
            handle: Handle::NONE,
            login: Some(BackendLogin::Handshake),
            relay: None,
            connection_id: 0,
            session,
            login_role: None,
            status: ServerStatus::AUTOCOMMIT,
            insert_id: InsertId::Known(0),
            statements: BackendStatements::default(),
            exchanges: VecDeque::new(),
            turns,
            inbox: Vec::new(),
            client: None,
            reading: Reading::default(),
            opened: now,
            opening: Span::ZERO,
            head_since: now,
            retired: false,
            due: Due::empty(),
            agenda: Agenda::default(),
            counted_rows: false,
            rest: None,
            upload: None,
            replay: Vec::new(),
            orphaned: None,
            left_by: None,
            transaction: Permit::NONE,
            kill_outstanding: false,
            kills: 0,
            retrack: None,
            dirty: false,
            prepared_xa: PreparedXa::No,
            keeps_locks: false,
            keeps_characteristics: false,
            attributes: false,
            leftovers: Leftovers::default(),
            unsure: None,
        }
    }

    /// Notes that the answer to a command will come, which was just written.
    pub(crate) fn owe(&mut self, walk: ResponseWalk, purpose: Purpose) {
        self.exchanges.push_back(Exchange {
            walk,
            purpose,
            bytes: 0,
            turn: self.turns.now(),
        });
    }

    /// True if answers are due.
    pub(crate) fn is_working(&self) -> bool {
        !self.exchanges.is_empty()
    }

    /// True if the answer to such a command is due.
    pub(crate) fn owes(&self, is: impl Fn(&Purpose) -> bool) -> bool {
        let mut exchanges = self.exchanges.iter();
        exchanges.any(|exchange| is(&exchange.purpose))
    }

    /// True until it has answered what every new connection is asked.
    pub(crate) fn is_new(&self) -> bool {
        let last = self.exchanges.back();
        last.is_some_and(|exchange| matches!(exchange.purpose.ask(), Some(Ask::Privileges)))
    }
}

/// Why a command was sent.
pub(crate) enum Purpose {
    /// For a client, which gets the answer.
    Command(ClientCommand),
    /// Something of Myriad's own: the answer is swallowed.
    Own(Step),
    /// A question of Myriad's own.
    Ask(Question),
}

impl From<Step> for Purpose {
    fn from(step: Step) -> Self {
        Self::Own(step)
    }
}

/// What Myriad itself does on a backend.
pub(crate) enum Step {
    /// Part of a restore.
    Restore(RestorePart),
    /// COM_STMT_PREPARE of what a session executes.
    Prepare(Box<Preparing>),
    /// COM_RESET_CONNECTION before the next session.
    Reset,
    /// The schema that a reset leaves selected, selected anew; it may be gone.
    Reselect,
    /// The settings that Myriad needs on each backend connection; and whether its answer tells of variables that they
    /// have set.
    Setup(bool),
    /// Variables are set to what they are, to see whether the server tells of that.
    Probe(Probe),
    /// The backend tracks for the front door again.
    Retrack,
    /// A read whose warnings are asked for: its answer was told before.
    Repeat,
    /// ROLLBACK of what no session is attached to any more. It is refused where an XA transaction was prepared.
    RollBack,
    /// KILL QUERY of what this backend runs.
    Kill(Key),
    /// COM_PING, for the status flags that an ERR packet does not have.
    Ping,
}

impl Purpose {
    /// A client's command.
    pub(crate) fn command_mut(&mut self) -> Option<&mut ClientCommand> {
        match self {
            Self::Command(command) => Some(command),
            _ => None,
        }
    }

    /// True for what the front door asks for itself: a client is not told how that fares.
    pub(crate) fn is_question(&self) -> bool {
        match self {
            Self::Command(_) => false,
            Self::Own(step) => !matches!(step, Step::Restore(_) | Step::Prepare(_) | Step::Repeat),
            Self::Ask(_) => true,
        }
    }

    /// True for what a KILL may end: a client's command, or what is prepared for one, without which it does not
    /// run.
    pub(crate) fn may_be_ended(&self) -> bool {
        matches!(self, Self::Command(_) | Self::Own(Step::Prepare(_)))
    }

    /// What is asked, if that is it.
    pub(crate) fn ask(&self) -> Option<&Ask> {
        match self {
            Self::Ask(question) => Some(&question.ask),
            _ => None,
        }
    }
}

/// Which part of a restore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RestorePart {
    /// `SET` of variables. `gives_up`: also of what another session has left.
    Variables {
        /// Without that it need not fail.
        gives_up: bool,
    },
    /// `SET` of something else.
    Set,
    /// COM_INIT_DB; what was selected before stays if it fails.
    Schema(Option<Arc<[u8]>>),
    /// SET ROLE; what was the role before stays if it fails.
    Role(Option<Box<[u8]>>),
    /// `SET last_insert_id`.
    InsertId,
    /// The list of warnings is emptied.
    Warnings,
}

/// A client's command.
pub(crate) struct ClientCommand {
    /// Whose; `None` when the client is gone or was answered already.
    pub client: Option<Key>,
    /// How the answer is told.
    pub translation: Translation,
    /// What kind of statement it is.
    pub kind: Kind,
    /// What is known of it.
    pub traits: Traits,
    /// The pins that the statement added.
    pub pins: PinReasons,
    /// What the answer said besides rows.
    pub counts: Counts,
    /// What it does to the list of conditions.
    pub does: Does,
    /// What it takes hold of or lets go of; boxed, because few do.
    pub effect: Option<Box<Effect>>,
    /// What it sets of its session that no answer has told yet; boxed, because few do.
    pub untold: Option<Box<Untold>>,
    /// True once part of the answer went to the client.
    pub answered: bool,
    /// What is counted for it.
    pub permit: Permit,
    /// What it changes of limits; boxed, because few do.
    pub keeping: Option<Box<Keeping>>,
    /// Until when it may run.
    pub until: Option<Timestamp>,
    /// It ran for longer, and is being ended.
    pub timed_out: bool,
    /// What it has in common with others, if it is a plain read.
    pub digest: Digest,
    /// The prepared statement that it executes, if the client keeps the column definitions of that.
    pub keeps_definitions_of: Option<u32>,
}

impl ClientCommand {
    /// True if the server could not even parse the statement: it changed nothing. Of statements that run others it may have
    /// been one of those.
    pub(crate) fn never_ran(&self, ending: &Ending) -> bool {
        let runs_others = matches!(self.kind, Kind::Call | Kind::Multiple | Kind::Prepared)
            || self.traits.contains(Traits::MULTIPLE);
        ending.code() == Some(code::PARSE_ERROR) && !runs_others
    }

    /// True of COM_STMT_PREPARE.
    pub(crate) fn prepares(&self) -> bool {
        let act = self.effect.as_ref().map(|effect| effect.act());
        matches!(act, Some(Act::Prepares(_)))
    }

    /// True of the execution of a prepared statement.
    pub(crate) fn executes(&self) -> bool {
        let act = self.effect.as_ref().map(|effect| effect.act());
        matches!(act, Some(Act::Executes(_)))
    }

    /// True of COM_STMT_FETCH.
    pub(crate) fn fetches(&self) -> bool {
        let act = self.effect.as_ref().map(|effect| effect.act());
        matches!(act, Some(Act::Fetches(_)))
    }

    /// Takes note of a piece of the answer.
    pub(crate) fn note(&mut self, piece: &Piece<'_>) {
        self.counts.piece(piece, self.kind);
        if let Some(effect) = &mut self.effect {
            effect.note(piece);
        }
    }
}
