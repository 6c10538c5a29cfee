//! A session played at an address: its steps as commands, and what it was told, without what may differ.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::Duration;

use wire::{Capabilities, PrepareOk};

use super::definitions::Definitions;
use super::plain;
use super::step::{Step, Value};
use crate::support::{
    Address, Client, HangUp, Login, Numbers, Outcome, Part, Server, Shape, USUAL,
};

const COM_QUIT: u8 = 0x01;
const COM_INIT_DB: u8 = 0x02;
const COM_QUERY: u8 = 0x03;
const COM_FIELD_LIST: u8 = 0x04;
const COM_STATISTICS: u8 = 0x09;
const COM_CHANGE_USER: u8 = 0x11;
const COM_PREPARE: u8 = 0x16;
const COM_EXECUTE: u8 = 0x17;
const COM_LONG_DATA: u8 = 0x18;
const COM_CLOSE: u8 = 0x19;
const COM_RESET: u8 = 0x1a;
const COM_SET_OPTION: u8 = 0x1b;
const COM_FETCH: u8 = 0x1c;
const COM_BULK_EXECUTE: u8 = 0xfa;

/// What tells where a session is: the backend's own id, which who names that list is told.
const WHERE: &str = "SELECT @@pseudo_thread_id /* processlist */";

/// What a session has for its variables.
const VARIABLES: &str = "SHOW SESSION VARIABLES";

/// A password that both sides know.
const PASSWORD: &str = "secret";

/// A thousand others want the same few connections, on a machine that may be slow.
pub(super) const PATIENCE: Duration = Duration::from_secs(180);

/// What stands for an answer that did not come.
pub(super) const NO_ANSWER: &str = "no answer";

/// What a session was told, step by step, and on how many connections of the database it was.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) answers: Vec<Vec<String>>,
    pub(super) places: BTreeSet<String>,
    /// The id it was given.
    pub(super) connection_id: u32,
}

/// A client that plays steps.
pub(super) struct Player {
    client: Client,
    /// Statements come with query attributes, though they be none.
    has_attributes: bool,
    statements: BTreeMap<String, Prepared>,
    places: BTreeSet<String>,
}

/// A statement of the binary protocol, by the client's name for it.
struct Prepared {
    id: u32,
    parameters: u16,
    /// The values of the last execution: what leaves out their types must have the same ones.
    values: Vec<Value>,
    /// The parameters that were sent as long data: their values are in no execution.
    long: BTreeSet<u16>,
    /// It was executed with a cursor.
    had_cursor: bool,
    definitions: Definitions,
}

/// The number of parameters is sent. Source: "COM_STMT_EXECUTE" in the MySQL source documentation.
const PARAMETER_COUNT_AVAILABLE: u8 = 8;

/// Source: "COM_STMT_BULK_EXECUTE" in the MariaDB knowledge base.
const SEND_TYPES_TO_SERVER: u16 = 128;
const INDICATOR_NONE: u8 = 0;
const INDICATOR_NULL: u8 = 1;

/// So many bytes of an answer are taken at most by who hangs up, and so long each part of it is waited for.
const PARTS: [usize; 8] = [0, 0, 1, 5, 40, 300, 5_000, 1 << 20];
const MOMENTS_MS: [u64; 4] = [1, 4, 15, 40];

/// No statement has this id.
const NO_STATEMENT: u32 = 0xf_ffff;

/// Plays all lines of a session, the first of which is its login, until the connection is lost.
/// `offered` are the flags that both sides offer.
pub(super) fn play(address: &Address, offered: Capabilities, lines: &[String]) -> Told {
    let mut told = Told::default();
    let mut player = match Player::login(address, offered, &lines[0]) {
        Ok(player) => player,
        Err(refused) => {
            told.answers.push(vec![format!("{refused:?}")]);
            return told;
        }
    };
    told.connection_id = player.client.connection_id;
    let welcome = plain::packet(Part::Ok, &player.client.welcome);
    told.answers.push(vec![welcome]);
    for line in &lines[1..] {
        let answer = match Step::parse(line) {
            Step::Newcomer => player.newcomer(address),
            _ => player.step(line),
        };
        match answer {
            Ok(answer) => {
                let refused = is_refused_change(line, &answer);
                told.answers.push(answer);
                if refused {
                    break;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                told.answers.push(vec![NO_ANSWER.into()]);
                break;
            }
            Err(_closed) => {
                told.answers.push(vec!["closed".into()]);
                break;
            }
        }
    }
    told.places = player.places;
    told
}

/// True of a COM_CHANGE_USER that was refused: MySQL and Myriad close the connection, MariaDB does not.
fn is_refused_change(line: &str, answer: &[String]) -> bool {
    let changes = matches!(Step::parse(line), Step::ChangeUser(..));
    changes && answer.iter().any(|told| !told.starts_with("Ok "))
}

/// True of a variable that no two sessions have the same of, or that is of the whole server and moves on; and of those
/// by which the front door has itself be told of changes.
fn is_its_own(name: &str) -> bool {
    const OWN: [&str; 5] = [
        "pseudo_thread_id",
        "rand_seed1",
        "rand_seed2",
        "statement_id",
        "timestamp",
    ];
    const MOVE_ON: [&str; 8] = [
        "gtid_binlog_pos",
        "gtid_binlog_state",
        "gtid_current_pos",
        "gtid_executed",
        "gtid_owned",
        "gtid_purged",
        "gtid_slave_pos",
        "last_gtid",
    ];
    OWN.contains(&name) || MOVE_ON.contains(&name) || name.starts_with("session_track_")
}

impl Player {
    /// Logs in as a line says.
    pub(super) fn login(
        address: &Address,
        offered: Capabilities,
        line: &str,
    ) -> Result<Self, Outcome> {
        Self::login_by(offered, line, |login| Client::login(address, login))
    }

    /// The same, however the connection is made.
    pub(super) fn login_by(
        offered: Capabilities,
        line: &str,
        connect: impl FnOnce(&Login<'_>) -> Result<Client, Outcome>,
    ) -> Result<Self, Outcome> {
        let Step::Login(flags, collation, schema) = Step::parse(line) else {
            panic!("a session begins with its login, not with {line}");
        };
        let mut capabilities = ((USUAL | flags.with) - flags.without) & offered;
        if !flags.extended.is_empty() {
            capabilities -= Capabilities::LONG_PASSWORD;
        }
        if !schema.is_empty() {
            capabilities |= Capabilities::CONNECT_WITH_DB;
        }
        let login = Login {
            capabilities,
            extended: flags.extended,
            schema,
            collation,
            password: PASSWORD,
            ..Login::default()
        };
        connect(&login).map(|client| {
            client.waits_up_to(PATIENCE);
            Self {
                client,
                has_attributes: capabilities.contains(Capabilities::QUERY_ATTRIBUTES),
                statements: BTreeMap::new(),
                places: BTreeSet::new(),
            }
        })
    }

    /// Does what a line says. Returns what it was told, a line per packet.
    pub(super) fn step(&mut self, line: &str) -> io::Result<Vec<String>> {
        match Step::parse(line) {
            Step::Where => self.look_around(),
            Step::Prepare(name, sql) => self.prepare(name, sql),
            Step::ChangeUser(user, schema) => self.change_user(user, schema),
            Step::Load(file, sql) => {
                self.send(COM_QUERY, sql.as_bytes(), Shape::Any);
                let answer = self.client.answer_with_file(&file)?;
                Ok(plain::answer(answer, None))
            }
            Step::Long(name, parameter, text) => {
                let argument = [&parameter.to_le_bytes(), text.as_bytes()].concat();
                self.name(COM_LONG_DATA, name, &argument);
                if let Some(prepared) = self.statements.get_mut(name) {
                    prepared.long.insert(parameter);
                }
                Ok(Vec::new())
            }
            Step::Close(name) => {
                self.name(COM_CLOSE, name, b"");
                self.statements.remove(name);
                Ok(Vec::new())
            }
            Step::Execute(name, flags, _) if self.is_never_answered(name, flags) => Ok(Vec::new()),
            other => {
                let shape = self.ask(&other);
                let mut answer = self.client.answer_of(shape)?;
                if let Step::Execute(name, ..) = other
                    && let Some(prepared) = self.statements.get_mut(name)
                {
                    prepared.definitions.complete(&mut answer);
                }
                let id = line.to_ascii_uppercase().contains("CONNECTION_ID()");
                let id = id.then_some(self.client.connection_id);
                Ok(plain::answer(answer, id))
            }
        }
    }

    /// Sends what a line says and hangs up somewhere in the middle: before the answer, in it, or behind it; or with half a
    /// file, or half of the next command.
    pub(super) fn hang_up_in(mut self, line: &str, numbers: &mut Numbers) {
        match Step::parse(line) {
            Step::Load(file, sql) => {
                self.send(COM_QUERY, sql.as_bytes(), Shape::Any);
                self.client.answer_with_half_a_file(&file);
            }
            Step::Prepare(_, sql) => {
                self.send(COM_PREPARE, sql.as_bytes(), Shape::Prepare);
            }
            Step::ChangeUser(user, schema) => self.ask_to_become(user, schema),
            other => {
                self.ask(&other);
            }
        }
        let most = PARTS[numbers.below(PARTS.len())];
        let limit = Duration::from_millis(MOMENTS_MS[numbers.below(MOMENTS_MS.len())]);
        self.client.takes(most, limit);
        if numbers.below(4) == 0 {
            let command = b"\x20\0\0\0\x03SELECT 'never";
            let half = 1 + numbers.below(command.len() - 1);
            self.client.send_what_goes(&command[..half]);
        }
        let ways = [HangUp::Closed, HangUp::Reset];
        self.client.hang_up(ways[numbers.below(ways.len())]);
    }

    /// True if this execution has no end that a client can tell: without a cursor, of what was executed with one
    /// before, MySQL 9.7 sends the definitions of columns and an OK packet that looks like a row.
    fn is_never_answered(&self, name: &str, flags: u8) -> bool {
        let prepared = self.statements.get(name);
        !Server::is_mariadb() && flags == 0 && prepared.is_some_and(|prepared| prepared.had_cursor)
    }

    /// Sends a command that is answered in one go.
    fn ask(&mut self, step: &Step<'_>) -> Shape {
        match step {
            Step::Query(sql) => self.send(COM_QUERY, sql.as_bytes(), Shape::Any),
            Step::InitDb(name) => self.send(COM_INIT_DB, name.as_bytes(), Shape::Any),
            Step::SetOption(value) => {
                self.send(COM_SET_OPTION, &value.to_le_bytes(), Shape::Single)
            }
            Step::Fields(table) => {
                let argument = [table.as_bytes(), b"\0"].concat();
                self.send(COM_FIELD_LIST, &argument, Shape::Rows)
            }
            Step::Fetch(name, rows) => {
                self.name(COM_FETCH, name, &rows.to_le_bytes());
                Shape::Rows
            }
            Step::Reset(name) => {
                self.name(COM_RESET, name, b"");
                if let Some(prepared) = self.statements.get_mut(*name) {
                    prepared.long.clear();
                }
                Shape::Any
            }
            Step::Execute(name, flags, values) => {
                let prepared = self.statements.get_mut(*name);
                let argument = match prepared {
                    Some(prepared) => prepared.execution(*flags, values, self.has_attributes),
                    None => vec![*flags, 1, 0, 0, 0],
                };
                self.name(COM_EXECUTE, name, &argument);
                Shape::Any
            }
            Step::Bulk(name, rows) => {
                let prepared = self.statements.get(*name);
                let argument = match prepared {
                    Some(prepared) => prepared.bulk(rows),
                    None => SEND_TYPES_TO_SERVER.to_le_bytes().to_vec(),
                };
                let id = prepared.map_or(NO_STATEMENT, |prepared| prepared.id);
                let argument = [&id.to_le_bytes(), &argument[..]].concat();
                self.send(COM_BULK_EXECUTE, &argument, Shape::Any)
            }
            Step::Command(command) => {
                let shape = match *command {
                    COM_STATISTICS => Shape::Single,
                    _ => Shape::Any,
                };
                self.send(*command, b"", shape)
            }
            other => panic!("{other:?} is not answered in one go"),
        }
    }

    fn send(&mut self, command: u8, argument: &[u8], shape: Shape) -> Shape {
        // No attributes, in one set.
        let attributes: &[u8] = match self.has_attributes && command == COM_QUERY {
            true => &[0, 1],
            false => &[],
        };
        let argument = [attributes, argument].concat();
        self.client.send_command_that_goes(command, &argument);
        shape
    }

    /// Sends a command about a prepared statement.
    fn name(&mut self, command: u8, name: &str, argument: &[u8]) {
        let prepared = self.statements.get(name);
        let id = prepared.map_or(NO_STATEMENT, |prepared| prepared.id);
        let id = id.to_le_bytes();
        let argument = [&id, argument].concat();
        self.client.send_command_that_goes(command, &argument);
    }

    fn prepare(&mut self, name: &str, sql: &str) -> io::Result<Vec<String>> {
        self.send(COM_PREPARE, sql.as_bytes(), Shape::Prepare);
        let answer = self.client.answer_of(Shape::Prepare)?;
        if let [(Part::PrepareOk, packet), ..] = &answer.packets[..] {
            let PrepareOk { id, parameters, .. } = PrepareOk::parse(&packet.payload).unwrap();
            let prepared = Prepared {
                id,
                parameters,
                values: Vec::new(),
                long: BTreeSet::new(),
                had_cursor: false,
                definitions: Definitions::prepared(&answer, parameters),
            };
            self.statements.insert(name.to_owned(), prepared);
        }
        Ok(plain::answer(answer, None))
    }

    fn ask_to_become(&mut self, user: &str, schema: &str) {
        // Nobody knows this plugin, so the client is asked to switch, with a new nonce.
        let parts: [&[u8]; 5] = [
            user.as_bytes(),
            b"\0\0",
            schema.as_bytes(),
            b"\0\x2d\0",
            b"none_of_these\0",
        ];
        self.client
            .send_command_that_goes(COM_CHANGE_USER, &parts.concat());
    }

    fn change_user(&mut self, user: &str, schema: &str) -> io::Result<Vec<String>> {
        self.ask_to_become(user, schema);
        match self.client.finish_login(PASSWORD)? {
            Ok(()) => {
                self.client.welcome.sequence_id = 0;
                self.statements.clear();
                Ok(vec![plain::packet(Part::Ok, &self.client.welcome)])
            }
            Err(refused) => Ok(vec![format!("{refused:?}")]),
        }
    }

    /// Ends the session. Returns what one that begins then has for its variables.
    fn newcomer(&mut self, address: &Address) -> io::Result<Vec<String>> {
        self.client.send_command_that_goes(COM_QUIT, b"");
        self.client.rest();
        let login = Login {
            password: PASSWORD,
            ..Login::default()
        };
        let mut newcomer = Client::login(address, &login)
            .map_err(|refused| io::Error::other(format!("{refused:?}")))?;
        newcomer.waits_up_to(PATIENCE);
        let outcomes = newcomer.try_run(VARIABLES)?;
        let [Outcome::Rows(rows)] = &outcomes[..] else {
            return Ok(vec![format!("{outcomes:?}")]);
        };
        let kept = rows.iter().filter(|row| !is_its_own(&row[0]));
        Ok(kept.map(|row| row.join(" = ")).collect())
    }

    fn look_around(&mut self) -> io::Result<Vec<String>> {
        self.send(COM_QUERY, WHERE.as_bytes(), Shape::Any);
        let answer = self.client.answer_of(Shape::Any)?;
        if let [Outcome::Rows(rows)] = &answer.outcomes()[..] {
            // It may have asked not to be shown any.
            let shown = rows.iter().map(|row| row[0].clone());
            self.places.extend(shown);
        }
        Ok(vec!["somewhere".into()])
    }
}

impl Prepared {
    /// Everything behind the statement's id. Values are repeated for as many parameters as there are;
    /// none are those of the execution before, without their types. `named`: as parameters with names are sent, which
    /// have none.
    fn execution(&mut self, flags: u8, values: &[Value], named: bool) -> Vec<u8> {
        self.had_cursor |= flags != 0;
        let counted = if named { PARAMETER_COUNT_AVAILABLE } else { 0 };
        let mut bytes = vec![flags | counted, 1, 0, 0, 0];
        let count = usize::from(self.parameters);
        let long = std::mem::take(&mut self.long);
        let again = values.is_empty();
        if !again {
            self.values = values.iter().cycle().take(count).cloned().collect();
        }
        if named {
            bytes.extend(u8::try_from(self.values.len()));
        }
        if self.values.is_empty() {
            return bytes;
        }
        let mut bitmap = vec![0; count.div_ceil(8)];
        for (place, value) in self.values.iter().enumerate() {
            if value.bytes.is_none() {
                bitmap[place / 8] |= 1 << (place % 8);
            }
        }
        bytes.extend(bitmap);
        bytes.push(u8::from(!again));
        if !again {
            let kinds = self.values.iter().map(|value| value.kind);
            let name: &[u8] = if named { &[0] } else { &[] };
            bytes.extend(kinds.flat_map(|kind| [&kind, name].concat()));
        }
        let sent = (0..)
            .zip(&self.values)
            .filter(|(place, _)| !long.contains(place));
        bytes.extend(
            sent.filter_map(|(_, value)| value.bytes.as_deref())
                .flatten(),
        );
        bytes
    }

    /// Everything behind the statement's id of an execution for several rows. A row has the same value for all
    /// parameters; the types are those of the first.
    fn bulk(&self, rows: &[Value]) -> Vec<u8> {
        let count = usize::from(self.parameters);
        let mut bytes = SEND_TYPES_TO_SERVER.to_le_bytes().to_vec();
        let kind = rows.first().map_or([6, 0], |row| row.kind);
        bytes.extend(std::iter::repeat_n(kind, count).flatten());
        for row in rows {
            let fits = row.bytes.as_ref().filter(|_| row.kind == kind);
            let value = match fits {
                Some(value) => [&[INDICATOR_NONE], &value[..]].concat(),
                None => vec![INDICATOR_NULL],
            };
            bytes.extend(std::iter::repeat_n(value, count).flatten());
        }
        bytes
    }
}
