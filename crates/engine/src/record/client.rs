//! The record of a client connection, its state, and how far its login has come.

use admission::Seat;
use carry::diagnostics::capture::Capture;
use carry::digests::Digest;
use carry::holdings::Holdings;
use carry::last_gtid::Gtid;
use carry::prepared::client_statements::ClientStatements;
use carry::track_filter::TrackFilter;
use carry::untold::Untold;
use events::{Handle, Peer, Timestamp, TlsFacts};
use membership::Key;
use pool::KeyId;
use session::statement::PinReasons;
use session::{Interner, SessionState, with_ignore_space};
use wire::{
    AuthPlugin, Capabilities, ClientDialect, Command, ExtendedCapabilities, Malformed,
    SERVER_PROOF_LEN, ServerStatus, query_attributes,
};

use crate::record::facts::Facts;
use crate::record::places::Place;
use crate::record::retry::Retry;
use crate::record::setup::SQL_MODE;
use crate::record::shared::PinSlot;

/// The state of a client connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum State {
    /// Accepted; its initial handshake waits for the backend's version to be known.
    Greeting,
    /// In the connection phase: it is to say something.
    Login,
    /// In the connection phase: it is to answer a backend that decides its login.
    Challenged,
    /// In the connection phase: what it said is looked at, or its refusal is told later.
    Judged,
    /// In the command phase; nothing runs, no backend is attached.
    Idle,
    /// Its next command waits for a user-level lock that another session holds.
    ForLock,
    /// Its next command waits for the right to run.
    Queued,
    /// Its next command waits for a backend of this key.
    Waiting(KeyId),
    /// Its next command waits for room in a lane of this key.
    ForLane(KeyId),
    /// Its command is in a lane; it stands at the front of the inbox until it is answered.
    InLane,
    /// Attached to a backend that works for it.
    Active,
    /// Attached to a backend, in a transaction or pinned, and silent.
    Held,
    /// Its KILL is being carried out, perhaps by another worker.
    Asking,
}

impl State {
    /// The lists of those who have been greeted and are not let in.
    pub(crate) const LOGINS: [Self; 3] = [Self::Login, Self::Challenged, Self::Judged];

    /// True of a client whose command has not been sent yet.
    pub(crate) fn waits(self) -> bool {
        matches!(
            self,
            State::ForLock | State::Queued | State::Waiting(_) | State::ForLane(_)
        )
    }

    /// True of a client whose command is not answered yet.
    pub(crate) fn is_busy(self) -> bool {
        self.waits() || matches!(self, State::InLane | State::Active | State::Asking)
    }
}

bitflags::bitflags! {
    /// Why a client is not read from.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Pauses: u8 {
        /// It sent ahead while a command runs.
        const AHEAD = 1;
        /// Its file comes faster than its backend takes it.
        const UPLOAD = 1 << 1;
        /// Its command waits for memory.
        const MEMORY = 1 << 2;
    }
}

/// A client connection. Small: there may be a million of them.
pub(crate) struct Client {
    /// The driver's name for the socket.
    pub handle: Handle,
    /// The id that the client was given.
    pub id: u32,
    /// The number of its account.
    pub account: u32,
    /// Whose limits hold for it, once it has proved who it is.
    pub seat: Option<Seat>,
    /// Its backends' key.
    pub key: KeyId,
    /// What was negotiated.
    pub capabilities: Capabilities,
    /// MariaDB's extended flags that were negotiated.
    pub extended: ExtendedCapabilities,
    /// Status flags that the client was told last.
    pub status: ServerStatus,
    /// Why it may not be detached.
    pub pins: PinReasons,
    /// The right to that, while there is a reason.
    pub pin_slot: Option<PinSlot>,
    /// What is held for reasons that may end.
    pub holdings: Option<Box<Holdings>>,
    /// Its prepared statements, once it has had one.
    pub statements: Option<Box<ClientStatements>>,
    /// Its session state. While a backend is attached, that backend's state is the same, or newer.
    pub session: SessionState,
    /// LAST_INSERT_ID(), as far as a backend does not hold a newer one for it.
    pub last_insert_id: u64,
    /// What it can ask about its last statement.
    pub capture: Capture,
    /// What it is told of changes to its session, if it asked for that.
    pub tracks: TrackFilter,
    /// What it is told late of that, if there is something.
    pub untold: Option<Box<Untold>>,
    /// Its capabilities have changed: it goes over to another key once it holds no backend.
    pub rekeyed: bool,
    /// What the server runs for each session that begins may have to be run before its next statement.
    pub may_initiate: bool,
    /// It has defined a trigger, view or routine while it was pinned.
    defined_pinned: bool,
    /// It is sending a file that the server asked for.
    pub uploading: bool,
    /// The sequence id with which the answer to its command begins: more than 1 if that came in several packets.
    pub answer_begins: u8,
    /// How often its command was sent.
    pub retry: Retry,
    /// What its last plain read has in common with others.
    pub digest: Digest,
    /// The backend it is attached to.
    pub backend: Option<Key>,
    /// When it came to the list it is on.
    pub since: Timestamp,
    /// Bytes that came and are not dealt with: an incomplete command, one that waits, or those
    /// that were sent ahead. Without capacity while there are none.
    pub inbox: Vec<u8>,
    /// Why it is not read from.
    pub paused: Pauses,
    /// Where it came from.
    pub(crate) origin: Box<Origin>,
    /// The connection phase, until it is over.
    pub login: Option<Box<Login>>,
}

/// What was fixed when the client was accepted, or when its session began, and what is seldom looked at.
pub(crate) struct Origin {
    /// Where the client comes from.
    pub peer: Peer,
    /// What its passwords are scrambled with, at login and in COM_CHANGE_USER.
    pub nonce: [u8; 20],
    /// What was agreed upon, if it speaks TLS.
    pub tls: Option<Box<TlsFacts>>,
    /// The collation that it asked for last, at login or with COM_CHANGE_USER.
    pub asked_collation: u8,
    /// It logged in with CLIENT_IGNORE_SPACE; whether its capabilities have the flag still depends on how it began
    /// anew.
    pub ignores_space: bool,
    /// `@@last_gtid`
    pub last_gtid: Gtid,
}

/// What only the connection phase needs.
pub(crate) struct Login {
    /// How far it has come.
    pub step: LoginStep,
    /// The sequence id that our next packet will have.
    pub sequence_id: u8,
    /// The plugin that the initial handshake named; `None` in COM_CHANGE_USER.
    pub greeted: Option<AuthPlugin>,
    /// The right to be here without having proved anything.
    pub place: Option<Place>,
    /// The level of zstd that it asks for.
    pub zstd_level: u8,
    /// What proves to the client that Myriad knows what the server keeps of its password.
    pub proof: Option<Box<[u8; SERVER_PROOF_LEN]>>,
}

impl Login {
    /// One of a client that is connected, or begins anew: our next packet has this sequence id.
    pub(crate) fn new(step: LoginStep, sequence_id: u8) -> Box<Self> {
        Box::new(Self {
            step,
            sequence_id,
            greeted: None,
            place: None,
            zstd_level: 0,
            proof: None,
        })
    }
}

/// How far a login has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LoginStep {
    /// Nothing came yet: a load balancer's word about the client, or the handshake response, is due.
    Beginning,
    /// The handshake response is due.
    Response,
    /// The authentication response for another plugin is due.
    AuthSwitch {
        /// That plugin.
        plugin: AuthPlugin,
        /// Whom the client said it is.
        user: Box<[u8]>,
        /// The schema that it asked for.
        schema: Option<Box<[u8]>>,
    },
    /// What it proved itself with was not right, as far as is known here: the database is asked.
    Asking(Box<Answered>),
    /// The password itself is due, or a request for the key to encrypt it with.
    Password(Box<Answered>),
    /// It asked for that key: the password is due under it, also where nobody could listen.
    Encrypted(Box<Answered>),
    /// It came, and is being looked at.
    Checking(Box<Answered>),
    /// A backend decides.
    Relay(Box<Relaying>),
    /// Authenticated; a backend is asked whether the schema is there.
    Schema,
    /// It has failed, and is told later.
    Denied,
    /// It has succeeded, and what the server runs for each session is run. `adds`: the session may not send several
    /// statements in one text, but that one may.
    Initiating { adds: bool },
}

impl LoginStep {
    /// The list of those who have come so far: whose turn it is.
    pub(crate) fn state(&self) -> State {
        match self {
            Self::Beginning
            | Self::Response
            | Self::AuthSwitch { .. }
            | Self::Password(_)
            | Self::Encrypted(_) => State::Login,
            Self::Relay(relaying) if matches!(relaying.stage, RelayStage::Client(_)) => {
                State::Challenged
            }
            Self::Relay(_)
            | Self::Asking(_)
            | Self::Checking(_)
            | Self::Schema
            | Self::Denied
            | Self::Initiating { .. } => State::Judged,
        }
    }
}

/// A login that a backend decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Relaying {
    /// The number of the account that it is about.
    pub account: u32,
    /// Whom the client said it is.
    pub user: Box<[u8]>,
    /// The schema that it asked for.
    pub schema: Option<Box<[u8]>>,
    /// How far it has come.
    pub stage: RelayStage,
}

/// How far a login has come that a backend decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RelayStage {
    /// It waits for a connection, under this number.
    Queued(u64),
    /// This backend is to say something.
    Backend(Key),
    /// The client is to answer this backend.
    Client(Key),
}

/// What a client has said of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answered {
    /// The plugin that it proved itself with.
    pub plugin: AuthPlugin,
    /// Whom it said it is.
    pub user: Box<[u8]>,
    /// The schema that it asked for.
    pub schema: Option<Box<[u8]>>,
    /// Its proof.
    pub response: Box<[u8]>,
}

impl Client {
    /// A client that has just connected.
    pub(crate) fn new(
        handle: Handle,
        id: u32,
        origin: Origin,
        now: Timestamp,
        interner: &Interner,
    ) -> Self {
        Self {
            handle,
            id,
            account: 0,
            seat: None,
            key: KeyId(0),
            capabilities: Capabilities::empty(),
            extended: ExtendedCapabilities::empty(),
            status: ServerStatus::AUTOCOMMIT,
            pins: PinReasons::NONE,
            pin_slot: None,
            holdings: None,
            statements: None,
            tracks: TrackFilter::default(),
            untold: None,
            rekeyed: false,
            may_initiate: false,
            defined_pinned: false,
            uploading: false,
            retry: Retry::Fresh,
            digest: Digest::NONE,
            session: SessionState::new(0, interner),
            last_insert_id: 0,
            capture: Capture::default(),
            backend: None,
            since: now,
            inbox: Vec::new(),
            paused: Pauses::empty(),
            answer_begins: 1,
            origin: Box::new(origin),
            login: Some(Login::new(LoginStep::Beginning, 0)),
        }
    }

    /// It has defined a trigger, view or routine.
    pub(crate) fn note_definition(&mut self) {
        self.defined_pinned |= !self.pins.is_empty();
    }

    /// True while the session is pinned, if it has defined a trigger, view or routine since it is.
    pub(crate) fn has_defined(&self) -> bool {
        self.defined_pinned && !self.pins.is_empty()
    }

    /// How answers are written for it.
    pub(crate) fn dialect(&self) -> ClientDialect {
        ClientDialect {
            deprecate_eof: self.capabilities.contains(Capabilities::DEPRECATE_EOF),
            session_track: self.capabilities.contains(Capabilities::SESSION_TRACK),
            cache_metadata: self.extended.contains(ExtendedCapabilities::CACHE_METADATA),
        }
    }

    /// True if its texts have query attributes before them.
    pub(crate) fn has_attributes(&self) -> bool {
        self.capabilities.contains(Capabilities::QUERY_ATTRIBUTES)
    }

    /// How many bytes of query attributes stand between command byte and text.
    pub(crate) fn attributes(&self, payload: &[u8]) -> Result<usize, Malformed> {
        match payload.first() {
            Some(&first) if self.has_attributes() && first == Command::Query as u8 => {
                query_attributes(payload)
            }
            _ => Ok(0),
        }
    }

    /// The text of a COM_QUERY of the client.
    pub(crate) fn text<'a>(&self, payload: &'a [u8]) -> &'a [u8] {
        let attributes = self.attributes(payload).unwrap_or_default();
        payload.get(1 + attributes..).unwrap_or_default()
    }

    /// No reason for a pin is left.
    pub(crate) fn unpin(&mut self) {
        self.pins = PinReasons::NONE;
        self.pin_slot = None;
        self.holdings = None;
        self.tracks.unpin();
    }

    /// Takes over the flags of an answer; those of `sql_mode` only if that was not set for the one statement.
    pub(crate) fn take_status(&mut self, status: ServerStatus, kept: bool) {
        let modes = match kept {
            true => status,
            false => self.status,
        };
        let modes = modes & ServerStatus::OF_SQL_MODE;
        let lasting = status - ServerStatus::OF_STATEMENT;
        self.status = (lasting - ServerStatus::OF_SQL_MODE) | modes;
    }

    /// Its session is new: a backend is one with autocommit until it is told otherwise.
    pub(crate) fn begin_with(&mut self, status: ServerStatus, interner: &mut Interner) {
        self.status = status;
        if !status.contains(ServerStatus::AUTOCOMMIT) {
            self.begin_without_autocommit(interner);
        }
    }

    /// An interactive client's session begins with a `wait_timeout` of its own, if it asked for that.
    pub(crate) fn begin_interactively(&mut self, facts: &Facts, interner: &mut Interner) {
        if self.capabilities.contains(Capabilities::INTERACTIVE)
            && let Some(timeout) = facts.interactive_wait_timeout()
        {
            let name = b"wait_timeout";
            self.session.set_variable(name, timeout, interner);
        }
    }

    /// The server's `sql_mode` becomes its own, with what CLIENT_IGNORE_SPACE adds: its texts are read by it, whoever changes
    /// the global variable later.
    pub(crate) fn begin_sql_mode(&mut self, facts: &Facts, interner: &mut Interner) {
        let Some(sql_mode) = &facts.sql_mode else {
            return;
        };
        if self.session.variables.modes().is_some() {
            return;
        }
        match self.capabilities.contains(Capabilities::IGNORE_SPACE) {
            true => {
                let sql_mode = with_ignore_space(sql_mode);
                self.session.set_variable(SQL_MODE, &sql_mode, interner);
            }
            false => self.session.set_variable(SQL_MODE, sql_mode, interner),
        }
    }

    /// It counts as having turned it off itself.
    pub(crate) fn begin_without_autocommit(&mut self, interner: &mut Interner) {
        self.status -= ServerStatus::AUTOCOMMIT;
        self.session.set_variable(b"autocommit", b"OFF", interner);
    }

    /// True if what is said to it, and by it, is packed.
    pub(crate) fn compresses(&self) -> bool {
        self.capabilities
            .intersects(Capabilities::COMPRESS | Capabilities::ZSTD_COMPRESSION)
    }

    /// True if that is done with zstd: of two methods it is zlib.
    pub(crate) fn compresses_with_zstd(&self) -> bool {
        self.compresses() && !self.capabilities.contains(Capabilities::COMPRESS)
    }

    /// True if its backend must stay attached although nothing runs.
    pub(crate) fn holds_backend(&self) -> bool {
        self.status.contains(ServerStatus::IN_TRANS) || !self.pins.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_stays_small() {
        assert!(size_of::<Client>() <= 288, "{} bytes", size_of::<Client>());
    }
}
