//! Clients that wait for a user-level lock (`GET_LOCK`) without a backend, because another session of Myriad is known to hold
//! it; and what the arguments of a call say. Who holds which lock is in `carry::locks::registry`.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use carry::conditions::binary_rows::Form;
use carry::locks::registry::{LockName, LockTicket};
use events::{Span, Timestamp};
use membership::Key;
use session::statement::{Argument, Flavor, LockCall};
use wire::ParameterValue;

/// Longer names are an error for MySQL. In characters; names of other bytes than ASCII are not looked at.
const NAME_MAX: usize = 64;

/// The clients of a worker that have a stake in a lock which no backend knows of yet.
#[derive(Debug, Default)]
pub(crate) struct LockWaits {
    pub clients: BTreeMap<Key, LockWait>,
    /// When each of those that wait is to be looked at.
    pub due: BTreeSet<(Timestamp, Key)>,
}

/// One of them.
#[derive(Debug)]
pub(crate) struct LockWait {
    /// `None` if the server is to decide.
    pub ticket: Option<LockTicket>,
    pub stage: Stage,
}

#[derive(Debug)]
pub(crate) enum Stage {
    /// It waits on the list [`State::ForLock`].
    Waiting(Box<Waiting>),
    /// Its statement goes to the server, and has not been sent.
    Called,
}

#[derive(Debug)]
pub(crate) struct Waiting {
    pub deadline: Timestamp,
    pub look_at: Timestamp,
    pub wanted: Wanted,
}

/// The value of `GET_LOCK` in a statement that Myriad answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Got {
    /// The time is over.
    Zero,
    /// Somebody has killed the statement.
    Null,
}

/// A lock that a statement wants, and how it is answered if it does not get that in time.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub name: LockName,
    /// How long it may wait.
    pub time: Span,
    /// The name of the answer's column.
    pub column: Box<[u8]>,
    pub form: Form,
}

impl LockWaits {
    /// When somebody is to be looked at.
    pub(crate) fn due(&self) -> Option<Timestamp> {
        self.due.first().map(|&(at, _)| at)
    }

    pub(crate) fn called(&mut self, key: Key, ticket: Option<LockTicket>) {
        let stage = Stage::Called;
        self.forget(key);
        self.clients.insert(key, LockWait { ticket, stage });
    }

    pub(crate) fn waits(&mut self, key: Key, ticket: LockTicket, waiting: Waiting) {
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
    pub(crate) fn forget(&mut self, key: Key) -> Option<LockWait> {
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

/// A call that a command makes, with its arguments.
pub(crate) struct AskedLock {
    pub call: LockCall,
    pub name: Option<LockName>,
    pub timeout: Option<Timeout>,
    pub form: Form,
}

pub(crate) enum Timeout {
    Seconds(u64),
    Negative,
}

/// The name of the lock, as the server compares it: MySQL in lower case, MariaDB byte by byte. Of other names than those of
/// ASCII nothing is certain.
pub(crate) fn lock_name(
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

pub(crate) fn timeout(call: &LockCall, values: Option<&[ParameterValue<'_>]>) -> Option<Timeout> {
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

pub(crate) fn is_plain_text(text: &[u8], most: usize) -> bool {
    text.len() <= most
        && text
            .iter()
            .all(|&byte| byte == b' ' || byte.is_ascii_graphic())
}
