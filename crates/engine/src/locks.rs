//! User-level locks (`GET_LOCK`). A session that has one is pinned, and one that waits for it at the server holds a
//! backend connection for as long. So a session without a backend waits here, without one, while another session of the
//! front door is known to hold the lock: first come, first served, over all workers and accounts, until the time that
//! its own statement names.
//!
//! Owns which statements wait, and what they are answered if their time comes first. Who holds which lock is in
//! `registry`; what answers say of that in `answer`; what a session holds in `carried::holdings`. Whatever is not
//! certain goes to the server, which decides.

pub(crate) mod answer;
pub(crate) mod effect;
pub(crate) mod held;
pub(crate) mod registry;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use events::{Io, Span, Timestamp};
use membership::Key;
use session::statement::{
    Argument, Dialect, Flavor, Kind, LockAct, LockCall, PinReason, Statement, lock_call,
};
use wire::{
    Capabilities, Command, ParameterTypes, ParameterValue, Translation, TypeList, asks_for_cursor,
    parameter_types, parameter_values,
};

use crate::client::{Client, State};
use crate::commands::{Packet, Taken};
use crate::conditions::binary_rows::Form;
use crate::conditions::{Answer, Does};
use crate::locks::registry::{Asked, LockName, LockTicket, LockTurn};
use crate::owner::Owner;
use crate::{Engine, Mail, Turn};

/// Longer names are an error for MySQL. In characters; names of other bytes than ASCII are not looked at.
const NAME_MAX: usize = 64;

/// A longer name of a column may be cut by the server.
const COLUMN_MAX: usize = 128;

/// How often is looked whether a lock that a session waits for is held by somebody who is not known here.
const LOOK_AGAIN: Span = Span::from_secs(1);

/// The same while another session tries to get it.
const LOOK_SOON: Span = Span::from_ms(100);

/// Who asks for a lock that another session tries to get, and will not wait for it, is answered by then.
const TRIED_FOR: Span = Span::from_ms(100);

/// So long waits who has no deadline that could be told.
const FOREVER: Span = Span::from_secs(365 * 24 * 3_600);

/// The clients of a worker that have a stake in a lock which no backend knows of yet.
#[derive(Debug, Default)]
pub(crate) struct LockWaits {
    clients: BTreeMap<Key, LockWait>,
    /// When each of those that wait is to be looked at.
    due: BTreeSet<(Timestamp, Key)>,
}

/// One of them.
#[derive(Debug)]
struct LockWait {
    /// `None` if the server is to decide.
    ticket: Option<LockTicket>,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    /// It waits on the list [`State::ForLock`].
    Waiting(Box<Waiting>),
    /// Its statement goes to the server, and has not been sent.
    Called,
}

#[derive(Debug)]
struct Waiting {
    deadline: Timestamp,
    look_at: Timestamp,
    wanted: Wanted,
}

/// The value of `GET_LOCK` in a statement that Myriad answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Got {
    /// The time is over.
    Zero,
    /// Somebody has killed the statement.
    Null,
}

/// A lock that a statement wants, and how it is answered if it does not get that in time.
#[derive(Clone, Debug)]
struct Wanted {
    name: LockName,
    /// How long it may wait.
    time: Span,
    /// The name of the answer's column.
    column: Box<[u8]>,
    form: Form,
}

impl LockWaits {
    /// When somebody is to be looked at.
    pub(crate) fn due(&self) -> Option<Timestamp> {
        self.due.first().map(|&(at, _)| at)
    }

    fn called(&mut self, key: Key, ticket: Option<LockTicket>) {
        let stage = Stage::Called;
        self.forget(key);
        self.clients.insert(key, LockWait { ticket, stage });
    }

    fn waits(&mut self, key: Key, ticket: LockTicket, waiting: Waiting) {
        self.due.insert((waiting.look_at, key));
        let wait = LockWait {
            ticket: Some(ticket),
            stage: Stage::Waiting(Box::new(waiting)),
        };
        self.clients.insert(key, wait);
    }

    /// Forgets the clients that are not known any more.
    pub(crate) fn forget_strangers(&mut self, is_known: impl Fn(&Key) -> bool) {
        self.clients.retain(|key, _| is_known(key));
        let clients = &self.clients;
        self.due.retain(|(look_at, key)| {
            let wait = clients.get(key).map(|wait| &wait.stage);
            matches!(wait, Some(Stage::Waiting(waiting)) if waiting.look_at == *look_at)
        });
    }

    /// Takes a client out.
    fn forget(&mut self, key: Key) -> Option<LockWait> {
        if self.clients.is_empty() {
            return None;
        }
        let wait = self.clients.remove(&key)?;
        if let Stage::Waiting(waiting) = &wait.stage {
            self.due.remove(&(waiting.look_at, key));
        }
        Some(wait)
    }
}

impl Engine {
    /// Has a client wait that wants a lock which another session holds or tries to get. `None` if its statement goes to
    /// the server.
    pub(crate) fn waits_for_lock<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        (packet, statement): (Packet<'_>, &Statement),
    ) -> Option<Taken> {
        let takes_lock = statement.pins.contains(PinReason::UserLock);
        if !takes_lock
            || statement.kind != Kind::Select
            || self.lock_waits.clients.contains_key(&key)
        {
            return None;
        }
        let wanted = self.wanted_lock(key, packet)?;
        let (ticket, asked) = self.shared.locks.ask(&wanted.name, (self.worker, key));
        let now = turn.now;
        match asked {
            Asked::Try => {
                self.lock_waits.called(key, Some(ticket));
                return None;
            }
            // A statement that does not wait is answered at once.
            Asked::Held if wanted.time == Span::ZERO => {
                if self.tell_lock(turn, key, &wanted, Got::Zero) {
                    self.keep_types(key, packet);
                    self.touch(key, now);
                    return Some(Taken::Now);
                }
                self.lock_waits.called(key, None);
                return None;
            }
            Asked::Held | Asked::Tried => {}
        }
        let time = match asked {
            Asked::Tried => wanted.time.max(TRIED_FOR),
            _ => wanted.time,
        };
        let deadline = now + time;
        let look_at = match asked {
            Asked::Tried => now + LOOK_SOON,
            _ => now + LOOK_AGAIN,
        };
        let waiting = Waiting {
            deadline,
            look_at: look_at.min(deadline),
            wanted,
        };
        self.lock_waits.waits(key, ticket, waiting);
        self.counters.lock_waits += 1;
        self.clients.move_to(key, State::ForLock, now);
        Some(Taken::Later)
    }

    /// The lock that a statement wants, if it is certain which that is, how long it waits, and how it is answered.
    fn wanted_lock(&mut self, key: Key, packet: Packet<'_>) -> Option<Wanted> {
        self.resolve_charset(key);
        let client = self.clients.get(key)?;
        let optional = Capabilities::OPTIONAL_RESULTSET_METADATA;
        let is_plain = client.login.is_none()
            && !client.may_initiate
            && client.backend.is_none()
            && self.draining.is_none()
            && !client.capabilities.contains(optional)
            && client
                .session
                .charset
                .as_ref()
                .is_some_and(|set| set.is_narrow())
            && !self.may_be_ended_sooner(client, packet);
        if !is_plain {
            return None;
        }
        let dialect = self.known.facts.as_ref()?.dialect(&client.session)?;
        let asked = asked_lock(client, packet, &dialect)?;
        let (call, form) = (asked.call, asked.form);
        let column = call.column.filter(|name| is_plain_text(name, COLUMN_MAX))?;
        if call.does != LockAct::Gets {
            return None;
        }
        let time = match asked.timeout? {
            Timeout::Seconds(seconds) => Span::from_secs(seconds.min(FOREVER.as_us() / 1_000_000)),
            // MariaDB answers NULL.
            Timeout::Negative if dialect.flavor == Flavor::MySql => FOREVER,
            Timeout::Negative => return None,
        };
        Some(Wanted {
            name: asked.name?,
            time,
            column,
            form,
        })
    }

    /// True if something else than the statement's own time may end it while it waits.
    fn may_be_ended_sooner(&self, client: &Client, packet: Packet<'_>) -> bool {
        let limit = |seat| self.scheduler.max_statement_time(seat);
        client.time_limit(packet) != Span::ZERO
            || client.seat.as_ref().map(limit).unwrap_or_default() != Span::ZERO
    }

    /// The name of the lock that a command is about, if that is certain.
    pub(crate) fn lock_name(
        &self,
        key: Key,
        packet: Packet<'_>,
        call: &LockCall,
    ) -> Option<LockName> {
        let client = self.clients.get(key)?;
        client
            .session
            .charset
            .as_ref()
            .filter(|set| set.is_narrow())?;
        let values = values_of(client, packet);
        lock_name(call, values.as_deref(), self.known.flavor())
    }

    /// Its statement goes to the server now: what it has of the lock goes with it.
    pub(crate) fn take_lock_ticket(&mut self, key: Key) -> Option<LockTicket> {
        self.lock_waits.forget(key)?.ticket
    }

    /// Its statement will not be sent.
    pub(crate) fn forget_lock_wait(&mut self, key: Key) {
        drop(self.lock_waits.forget(key));
    }

    /// Tells those whose turn has come, on all workers.
    pub(crate) fn tell_lock_turns<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        while self.shared.locks.has_news()
            && let Some(news) = self.shared.locks.next_news()
        {
            if news.worker == self.worker {
                self.working_on(Owner::Client(news.turn.client), |engine| {
                    engine.lock_turn(turn, &news.turn);
                });
            } else {
                // The clients of a worker that has ended have given up what they had.
                let _ended = turn.io.post(news.worker, Mail::LockTurn(news.turn));
            }
        }
    }

    /// It is a client's turn to ask the server for the lock.
    pub(crate) fn lock_turn<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, called: &LockTurn) {
        let key = called.client;
        let wait = self.lock_waits.clients.get(&key);
        let ticket = wait.and_then(|wait| wait.ticket.as_ref());
        // It may have left.
        if ticket.is_some_and(|ticket| ticket.is_of(called)) {
            let wait = self.lock_waits.forget(key);
            self.goes_to_server(turn, key, wait.and_then(|wait| wait.ticket));
        }
    }

    /// Sends the statement of a client that has waited here, as if it had come just now.
    fn goes_to_server<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        ticket: Option<LockTicket>,
    ) {
        self.lock_waits.called(key, ticket);
        self.clients.move_to(key, State::Idle, turn.now);
        // It was counted when it came.
        self.counters.commands -= 1;
        self.consume_inbox(turn, key);
    }

    /// Looks at those whose time has come.
    pub(crate) fn lock_waits_due<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        while let Some(&(at, key)) = self.lock_waits.due.first()
            && turn.now >= at
        {
            self.look_at_lock_wait(turn, key);
        }
    }

    fn look_at_lock_wait<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let Some(LockWait {
            ticket: Some(ticket),
            stage: Stage::Waiting(mut waiting),
        }) = self.lock_waits.forget(key)
        else {
            return;
        };
        if ticket.waits_elsewhere(turn.now) {
            drop(ticket);
            return self.goes_to_server(turn, key, None);
        }
        if turn.now < waiting.deadline {
            waiting.look_at = (turn.now + LOOK_AGAIN).min(waiting.deadline);
            return self.lock_waits.waits(key, ticket, *waiting);
        }
        drop(ticket);
        if self.tell_lock(turn, key, &waiting.wanted, Got::Zero) {
            self.counters.lock_waits_timed_out += 1;
            self.drop_waiting_command(turn, key);
        } else {
            self.goes_to_server(turn, key, None);
        }
    }

    /// Somebody kills the statement of a client that waits. MariaDB answers it with NULL, MySQL with an ERR. False if
    /// that is due.
    pub(crate) fn kill_lock_wait<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) -> bool {
        let Some(wait) = self.lock_waits.forget(key) else {
            return false;
        };
        let (Stage::Waiting(waiting), Flavor::MariaDb) = (&wait.stage, self.known.flavor()) else {
            return false;
        };
        if !self.tell_lock(turn, key, &waiting.wanted, Got::Null) {
            return false;
        }
        self.drop_waiting_command(turn, key);
        true
    }

    /// Answers a statement that has not got its lock, in a column as the server has defined it before. False if it has
    /// not.
    fn tell_lock<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        wanted: &Wanted,
        got: Got,
    ) -> bool {
        let (Some(column), Some(client)) = (self.shared.locks.column(), self.clients.get_mut(key))
        else {
            return false;
        };
        let offset = client.answer_begins.wrapping_sub(1);
        let translation = Translation::new(client.dialect(), offset);
        column.tell(
            (&wanted.column, got == Got::Null, wanted.form),
            client.extended,
            (translation, client.status),
            turn.io.outbox(client.handle),
        );
        let capture = &mut client.capture;
        (capture.row_count, capture.found_rows) = (-1, Some(1));
        // Both servers end the statement with an empty list, which is on no backend.
        let (replaces, answer) = (Does::Replaces, Answer::default());
        capture.conditions.answered(replaces, &answer);
        capture.conditions.lose();
        self.counters.local_answers += 1;
        true
    }

    /// The server would remember the types of an execution's parameters.
    fn keep_types(&mut self, key: Key, packet: Packet<'_>) {
        let Some(client) = self.clients.get_mut(key) else {
            return;
        };
        let attributes = client.has_attributes();
        let Some(statement) = client.statement_mut(packet.payload) else {
            return;
        };
        if let ParameterTypes::Given(types) =
            parameter_types(packet.payload, statement.list(attributes))
        {
            statement.types = Some(types.pairs().flatten().copied().collect());
        }
    }

    /// What is kept of a client that wants a lock agrees with the list that it is on.
    pub(crate) fn check_lock_wait(&self, key: Key, state: State) -> Result<(), String> {
        let wait = self.lock_waits.clients.get(&key);
        let agrees = match wait.map(|wait| &wait.stage) {
            None => state != State::ForLock,
            Some(Stage::Waiting(waiting)) => {
                state == State::ForLock && self.lock_waits.due.contains(&(waiting.look_at, key))
            }
            Some(Stage::Called) => {
                matches!(state, State::Queued | State::Waiting(_) | State::Active)
            }
        };
        match agrees {
            true => Ok(()),
            false => Err(format!("its wait for a lock: {wait:?}")),
        }
    }

    /// Nobody else is kept.
    pub(crate) fn check_lock_waits(&self) -> Result<(), String> {
        let is_known = |key: &Key| self.clients.get(*key).is_some();
        let waiting = self.lock_waits.due.len();
        match self.lock_waits.clients.keys().all(is_known)
            && self.clients.count(State::ForLock) == waiting
        {
            true => Ok(()),
            false => Err(format!(
                "{waiting} clients wait for locks, others are listed"
            )),
        }
    }
}

/// A call that a command makes, with its arguments.
struct AskedLock {
    call: LockCall,
    name: Option<LockName>,
    timeout: Option<Timeout>,
    form: Form,
}

enum Timeout {
    Seconds(u64),
    Negative,
}

fn asked_lock(client: &Client, packet: Packet<'_>, dialect: &Dialect) -> Option<AskedLock> {
    let (text, form) = text_of(client, packet)?;
    let call = lock_call(&text, dialect)?;
    let values = values_of(client, packet);
    let values = values.as_deref();
    Some(AskedLock {
        name: lock_name(&call, values, dialect.flavor),
        timeout: timeout(&call, values),
        call,
        form,
    })
}

/// The text that a command runs, and how it is answered.
fn text_of<'a>(client: &Client, packet: Packet<'a>) -> Option<(Cow<'a, [u8]>, Form)> {
    match packet
        .payload
        .first()
        .copied()
        .and_then(Command::from_byte)?
    {
        Command::Query => Some((Cow::Borrowed(packet.text()), Form::Text)),
        Command::StmtExecute if !asks_for_cursor(packet.payload) => {
            let statement = client.statement(packet.payload)?;
            statement.long.is_none().then_some(())?;
            let text = statement.template.text.to_vec();
            Some((Cow::Owned(text), Form::Binary))
        }
        _ => None,
    }
}

/// The values of the parameters of an execution.
fn values_of<'a>(client: &'a Client, packet: Packet<'a>) -> Option<Vec<ParameterValue<'a>>> {
    if packet.payload.first() != Some(&(Command::StmtExecute as u8)) {
        return None;
    }
    let statement = client.statement(packet.payload)?;
    let list = statement.list(client.has_attributes());
    let types = match parameter_types(packet.payload, list) {
        ParameterTypes::Given(types) => types,
        ParameterTypes::Omitted => TypeList::of(statement.types.as_deref()?),
        ParameterTypes::Nothing => return None,
    };
    statement.long.is_none().then_some(())?;
    parameter_values(packet.payload, list, types)
}

/// The name of the lock, as the server compares it: MySQL in lower case, MariaDB byte by byte. Of other names than those of
/// ASCII nothing is certain.
fn lock_name(
    call: &LockCall,
    values: Option<&[ParameterValue<'_>]>,
    flavor: Flavor,
) -> Option<LockName> {
    let name = match &call.name {
        Argument::Text(name) => Cow::Borrowed(&**name),
        Argument::Parameter(number) => match values?.get(usize::from(*number))? {
            ParameterValue::Bytes(bytes) => Cow::Borrowed(*bytes),
            _ => return None,
        },
        Argument::Number(_) | Argument::Negative | Argument::Other => return None,
    };
    if name.is_empty() || !is_plain_text(&name, NAME_MAX) {
        return None;
    }
    Some(match flavor {
        Flavor::MySql => Arc::from(name.to_ascii_lowercase()),
        Flavor::MariaDb => Arc::from(&*name),
    })
}

fn timeout(call: &LockCall, values: Option<&[ParameterValue<'_>]>) -> Option<Timeout> {
    let whole = |digits: &[u8]| {
        let digits = str::from_utf8(digits).ok()?;
        let is_whole = digits.bytes().all(|byte| byte.is_ascii_digit());
        Some(Timeout::Seconds(digits.parse().ok().filter(|_| is_whole)?))
    };
    match &call.timeout {
        Argument::Number(seconds) => Some(Timeout::Seconds(*seconds)),
        Argument::Text(digits) => whole(digits),
        Argument::Negative => Some(Timeout::Negative),
        Argument::Parameter(number) => match *values?.get(usize::from(*number))? {
            ParameterValue::Integer(number) => Some(match u64::try_from(number) {
                Ok(seconds) => Timeout::Seconds(seconds),
                Err(_) => Timeout::Negative,
            }),
            // JavaScript knows no other numbers.
            ParameterValue::Double(number) if number.fract() == 0.0 && number.abs() < 1e9 => {
                Some(match number < 0.0 {
                    true => Timeout::Negative,
                    false => Timeout::Seconds(number as u64),
                })
            }
            ParameterValue::Bytes(digits) => whole(digits),
            ParameterValue::Double(_) | ParameterValue::Null => None,
        },
        Argument::Other => None,
    }
}

fn is_plain_text(text: &[u8], most: usize) -> bool {
    text.len() <= most
        && text
            .iter()
            .all(|&byte| byte == b' ' || byte.is_ascii_graphic())
}
