//! The simulated database: MariaDB as far as the front door and the clients of a run can tell.
//! Owns connections, sessions, tables and locks, and writes down what ran where.

mod alone;
mod answer;
mod connection;
mod execute;
mod globals;
mod health;
mod kill;
mod locks;
pub(crate) mod login;
mod prepared;
mod running;
mod session;
pub(crate) mod sql;
mod statements;
mod storage;
mod texts;
mod upload;

use std::collections::{BTreeMap, BTreeSet};

use events::{Handle, HangUp, Timestamp};
use fastrand::Rng;
use wire::{Command, whole_packet};

use crate::catalog::GLOBAL;
use crate::failure::{Broken, Rule};
use crate::network::Network;
use crate::sabotage::Sabotage;
use crate::schedule::Schedule;
use crate::trace::{Trace, readable};

use connection::{Connection, Phase};

use sql::Sql;

pub use alone::Backend;
pub(crate) use answer::{Outcome, PARAMETERS, Row};
pub(crate) use connection::{Execution, Running};
pub(crate) use execute::{LOCK_WAIT_TIMEOUT, NO_SUCH_TABLE, TRUNCATED_VALUE, Work, uses_table};
pub(crate) use health::{Health, Incidents};
pub(crate) use prepared::{Binding, LAST};
pub(crate) use session::{Condition, Session};
pub(crate) use storage::Storage;
pub(crate) use upload::FILES_NOT_ALLOWED;

/// What the database acts on.
pub(crate) struct Outside<'a> {
    pub(crate) network: &'a mut Network,
    pub(crate) schedule: &'a mut Schedule,
    pub(crate) trace: &'a mut Trace,
}

pub(crate) struct Database {
    connections: Vec<Connection>,
    storage: Storage,
    pub(crate) globals: globals::Globals,
    pub(crate) health: Health,
    rng: Rng,
    sabotage: Option<Sabotage>,
    /// Statements that must never run, by tag.
    pub(crate) forbidden: BTreeSet<String>,
    /// What ran, by tag.
    pub(crate) executions: BTreeMap<String, Execution>,
    /// COM_STMT_EXECUTEs that ran.
    pub(crate) executed: u64,
    /// EXECUTEs of texts prepared by name that ran.
    pub(crate) texts: u64,
    /// Files that were complete.
    pub(crate) files: u64,
    /// The first account is asked questions of a plugin of its own.
    pub(crate) questions: bool,
    /// Session trackers mix up variables, and leave some out.
    is_unsound: bool,
}

impl Database {
    pub(crate) fn new(health: Health, mut rng: Rng, sabotage: Option<Sabotage>) -> Self {
        let is_unsound = rng.bool();
        Self {
            connections: Vec::new(),
            storage: Storage::default(),
            globals: globals::Globals::new(),
            health,
            rng,
            sabotage,
            forbidden: BTreeSet::new(),
            executions: BTreeMap::new(),
            executed: 0,
            texts: 0,
            files: 0,
            questions: false,
            is_unsound,
        }
    }

    /// Somebody connected. Returns the place of the connection.
    pub(crate) fn accept(&mut self, outside: &mut Outside<'_>, handle: Handle) -> usize {
        let mut nonce = [0; 20];
        nonce.fill_with(|| self.rng.u8(33..127));
        self.connections
            .push(Connection::new(handle, nonce, self.is_unsound));
        let id = self.connections.len() - 1;
        if self.health.is_full(&mut self.rng) {
            let mut packet = Vec::new();
            answer::put_err(&mut packet, 0, wire::code::TOO_MANY_CONNECTIONS);
            outside.network.send(outside.schedule, handle, &packet);
            self.kill(outside, id, HangUp::Closed);
        } else if !self.health.is_mute(outside.schedule.now()) {
            let packet = login::initial_handshake(id, nonce);
            outside.network.send(outside.schedule, handle, &packet);
        }
        id
    }

    /// Bytes came in.
    pub(crate) fn received(
        &mut self,
        outside: &mut Outside<'_>,
        id: usize,
        bytes: &[u8],
    ) -> Result<(), Broken> {
        self.connections[id].inbox.extend_from_slice(bytes);
        self.go_on(outside, id)
    }

    /// The peer is gone. What runs is finished; what waits for a row gives up.
    pub(crate) fn ended(&mut self, outside: &mut Outside<'_>, id: usize) -> Result<(), Broken> {
        let connection = &mut self.connections[id];
        match connection.phase {
            Phase::Working => connection.phase = Phase::Closing,
            Phase::Closing | Phase::Closed => {}
            Phase::Upload => {
                self.lose_file(outside, id)?;
                self.forget(id);
            }
            Phase::Login | Phase::Ready | Phase::Blocked => self.forget(id),
        }
        self.wake(outside)
    }

    /// A statement has taken its time: its answer is told.
    pub(crate) fn done(
        &mut self,
        outside: &mut Outside<'_>,
        id: usize,
        number: u64,
    ) -> Result<(), Broken> {
        let connection = &mut self.connections[id];
        if connection.number != number {
            return Ok(());
        }
        match connection.phase {
            Phase::Working => {
                let answer = std::mem::take(&mut connection.answer);
                connection.phase = Phase::Ready;
                connection.running = None;
                outside.trace.line(outside.schedule.now(), || {
                    format!("database #{id} answers {}", readable(&answer))
                });
                let handle = connection.handle;
                self.send_answer(outside, handle, answer);
                self.end_statement(id);
            }
            Phase::Closing => self.forget(id),
            _ => return Ok(()),
        }
        self.wake(outside)?;
        if self
            .health
            .dies_after(&mut self.rng, outside.schedule.now())
        {
            self.kill(outside, id, HangUp::Failed(104));
            return self.wake(outside);
        }
        self.go_on(outside, id)
    }

    /// Sends an answer, now and then with a packet behind it that nobody asked for: at the end of everything that was
    /// asked, for what comes behind the next command looks like its answer.
    fn send_answer(&mut self, outside: &mut Outside<'_>, handle: Handle, mut answer: Vec<u8>) {
        let now = outside.schedule.now();
        let last = outside.network.is_quiet_to_peer(handle)
            && self
                .connection_of(handle)
                .is_some_and(|connection| connection.inbox.is_empty());
        if last && self.health.strays(&mut self.rng, now) {
            outside
                .trace
                .line(now, || "the next answer is followed by an OK".to_owned());
            wire::OkPacket::default().encode(&mut answer, 1, 0x00);
            return outside
                .network
                .send_in_one(outside.schedule, handle, &answer);
        }
        outside.network.send(outside.schedule, handle, &answer);
    }

    fn connection_of(&self, handle: Handle) -> Option<&Connection> {
        self.connections
            .iter()
            .find(|connection| connection.handle == handle)
    }

    /// Live connections.
    pub(crate) fn alive(&self) -> Vec<usize> {
        let ids = 0..self.connections.len();
        ids.filter(|&id| self.connections[id].is_alive()).collect()
    }

    /// True if a statement with this comment ran, waits for a row, or is on its way here.
    pub(crate) fn will_run(&self, network: &Network, tag: &str) -> bool {
        let comment = format!("/* {tag} */").into_bytes();
        let holds = |bytes: &[u8]| bytes.windows(comment.len()).any(|part| part == comment);
        let mut under_way = network.to_database().map(|(connection, mut bytes)| {
            if let Some(id) = connection {
                bytes.splice(0..0, self.connections[id].inbox.iter().copied());
            }
            bytes
        });
        self.executions.contains_key(tag)
            || self.is_blocked(tag)
            || self.is_uploading(tag)
            || under_way.any(|bytes| holds(&bytes))
    }

    /// Deals with what is in the inbox, as long as nothing runs.
    fn go_on(&mut self, outside: &mut Outside<'_>, id: usize) -> Result<(), Broken> {
        loop {
            if self.connections[id].phase == Phase::Upload {
                match self.take_file(outside, id)? {
                    true => continue,
                    false => return Ok(()),
                }
            }
            let connection = &mut self.connections[id];
            if !matches!(connection.phase, Phase::Login | Phase::Ready) {
                return Ok(());
            }
            if self.sabotage == Some(Sabotage::ReorderLanes) && self.rng.u8(..) < 8 {
                swap_first(&mut connection.inbox);
            }
            let Ok(packet) = whole_packet(&connection.inbox) else {
                return Ok(());
            };
            let (consumed, payload) = (packet.consumed, packet.payload.bytes().to_vec());
            connection.inbox.drain(..consumed);
            if connection.phase == Phase::Login {
                let answer = match &connection.questioned {
                    Some(_) => login::next(connection, &payload),
                    None => login::answer(connection, &payload, self.questions)?,
                };
                let handle = connection.handle;
                self.inherit(id);
                outside.network.send(outside.schedule, handle, &answer);
            } else {
                self.command(outside, id, &payload)?;
            }
        }
    }

    fn command(
        &mut self,
        outside: &mut Outside<'_>,
        id: usize,
        payload: &[u8],
    ) -> Result<(), Broken> {
        outside.trace.line(outside.schedule.now(), || {
            format!("database #{id} gets {}", readable(payload))
        });
        if self
            .health
            .dies_before(&mut self.rng, outside.schedule.now())
        {
            self.kill(outside, id, HangUp::Closed);
            return self.wake(outside);
        }
        let (command, argument) = payload.split_first().unwrap_or((&0, b""));
        let text = String::from_utf8_lossy(argument);
        let command_byte = *command;
        let command = Command::from_byte(command_byte);
        if let Some(silent) = command.filter(|command| statements::is_silent(*command)) {
            return self.silent(id, silent, argument);
        }
        if self.is_killed(id, command) {
            self.give_up_statement(id, command, argument);
            return self.tell(outside, id, &Outcome::Err(wire::code::QUERY_INTERRUPTED));
        }
        match command {
            Some(Command::Quit) => {
                self.forget(id);
                self.wake(outside)
            }
            Some(Command::Ping) => self.tell(outside, id, &Outcome::DONE),
            Some(Command::ResetConnection) => self.reset(outside, id),
            Some(Command::InitDb) => self.init_db(outside, id, &text),
            Some(Command::Query) => {
                let unknown = || Broken::new(Rule::Protocol, format!("unknown statement {text}"));
                let (sql, tag) = sql::parse(&text).ok_or_else(unknown)?;
                if self.loses(&sql, tag) {
                    return self.tell(outside, id, &Outcome::DONE);
                }
                let sql = self.connections[id].session.texts.resolved(sql);
                self.start(outside, id, sql, tag.map(str::to_owned))
            }
            Some(command) => self.statement_command(outside, id, (command, argument)),
            None => Err(Broken::new(
                Rule::Protocol,
                format!("unknown command {command_byte:#x}"),
            )),
        }
    }

    fn init_db(
        &mut self,
        outside: &mut Outside<'_>,
        id: usize,
        schema: &str,
    ) -> Result<(), Broken> {
        if self.sabotage == Some(Sabotage::LoseSchema) {
            return self.tell(outside, id, &Outcome::DONE);
        }
        let sql = Sql::Use(schema.to_owned());
        self.start(outside, id, sql, None)
    }

    fn reset(&mut self, outside: &mut Outside<'_>, id: usize) -> Result<(), Broken> {
        self.work(id).rollback();
        if self.sabotage != Some(Sabotage::LoseReset) {
            let session = &mut self.connections[id].session;
            let texts = session.texts.clone();
            session.reset();
            if self.sabotage == Some(Sabotage::LeaveTexts) {
                session.texts = texts;
            }
            self.inherit(id);
            self.storage.release_names(id);
        }
        self.tell(outside, id, &Outcome::DONE)?;
        self.wake(outside)
    }

    /// A session begins with the global variables of then.
    fn inherit(&mut self, id: usize) {
        let value = self.globals.current().to_string();
        let variables = &mut self.connections[id].session.variables;
        variables.insert(GLOBAL.to_owned(), value);
    }

    /// True for a statement of the front door's own that sabotage leaves out.
    fn loses(&self, sql: &Sql, tag: Option<&str>) -> bool {
        let sets_insert_id = |assignments: &[sql::Assignment]| {
            assignments.iter().any(|a| a.name == "last_insert_id")
        };
        let tracks = |assignments: &[sql::Assignment]| {
            assignments
                .iter()
                .any(|a| a.name.starts_with(crate::catalog::TRACKING))
        };
        let probes = |assignments: &[sql::Assignment]| {
            let mut values = assignments.iter().map(|a| a.value.as_deref());
            values.all(|value| value.is_some_and(|value| value.starts_with("@@session.")))
        };
        let lost = match (self.sabotage, sql) {
            // Without the tracker a backend would not be used.
            (Some(Sabotage::LoseVariables), Sql::Set(assignments)) => {
                !tracks(assignments) && !probes(assignments)
            }
            (Some(Sabotage::LoseInsertId), Sql::Set(assignments)) => sets_insert_id(assignments),
            _ => false,
        };
        lost && tag.is_none()
    }

    fn work(&mut self, id: usize) -> Work<'_> {
        let found_rows = self.finds_rows(id);
        let account = self.connections[id].account;
        Work {
            account,
            session: &mut self.connections[id].session,
            storage: &mut self.storage,
            connection: id,
            found_rows,
            global: self.globals.current().to_string(),
        }
    }

    fn finds_rows(&self, id: usize) -> bool {
        let capabilities = self.connections[id].capabilities;
        capabilities.contains(wire::Capabilities::FOUND_ROWS)
    }

    /// True while the schema that comes and goes is gone.
    pub(crate) fn is_fickle_gone(&self) -> bool {
        self.storage.dropped
    }

    /// When a connection last died.
    pub(crate) fn last_death(&self) -> Option<Timestamp> {
        self.health.last_death
    }
}

/// Exchanges the first two packets.
fn swap_first(inbox: &mut [u8]) {
    let whole = |bytes: &[u8]| whole_packet(bytes).ok().map(|packet| packet.consumed);
    let Some(first) = whole(inbox) else { return };
    if let Some(second) = whole(&inbox[first..]) {
        inbox[..first + second].rotate_left(first);
    }
}
