//! The limits of a WITH clause: their names, their values, and where in the text they are.

use std::fmt;
use std::ops::Range;

use super::super::reader::Reader;
use super::super::token::Token;

/// A limit that can be set by a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Limit {
    /// Statements that run at once.
    Queries,
    /// Transactions that are open at once.
    Transactions,
    /// Statements that wait at once.
    Queued,
    /// How long a statement may wait, in ms here and in seconds in the text.
    QueueTimeout,
    /// Client connections.
    Connections,
    /// Client connections that may begin within a second.
    ConnectsPerSecond,
    /// The share of the backends relative to others'.
    Weight,
}

/// What a statement sets; what it does not name stays as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits([Option<u32>; Limit::ALL.len()]);

/// What was found of ours.
#[derive(Default)]
pub(super) struct Found {
    pub(super) limits: Limits,
    /// The tokens to be cut out, in the order of the text.
    pub(super) cuts: Vec<Range<usize>>,
}

/// Options of the server that have a value.
const OF_SERVER: &str = "max_queries_per_hour max_updates_per_hour max_connections_per_hour \
    max_user_connections max_statement_time";

impl Limit {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 7] = [
        Self::Queries,
        Self::Transactions,
        Self::Queued,
        Self::QueueTimeout,
        Self::Connections,
        Self::ConnectsPerSecond,
        Self::Weight,
    ];

    /// Its name in a statement.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Queries => "MAX_CONCURRENT_QUERIES",
            Self::Transactions => "MAX_CONCURRENT_TRANSACTIONS",
            Self::Queued => "MAX_QUEUED",
            Self::QueueTimeout => "QUEUE_TIMEOUT",
            Self::Connections => "MAX_CONNECTIONS",
            Self::ConnectsPerSecond => "MAX_CONNECTS_PER_SECOND",
            Self::Weight => "WEIGHT",
        }
    }

    /// The limit with that name, in any case.
    #[must_use]
    pub fn of(word: &[u8]) -> Option<Self> {
        let is = |limit: &Self| limit.name().as_bytes().eq_ignore_ascii_case(word);
        Self::ALL.into_iter().find(is)
    }

    /// Whether nothing else has that name.
    pub(super) const fn is_unmistakable(self) -> bool {
        matches!(self, Self::Queries | Self::Transactions)
    }

    /// The value of a number as written; `None` if it is none.
    #[must_use]
    pub fn value(self, written: &[u8]) -> Option<u32> {
        let written = std::str::from_utf8(written).ok()?;
        let (whole, fraction) = match (written.split_once('.'), self) {
            (Some((whole, fraction)), Self::QueueTimeout) => (whole, fraction),
            (Some(_), _) => return None,
            (None, _) => (written, ""),
        };
        let is_plain = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !is_plain(whole) || !is_plain(fraction) {
            return None;
        }
        // A number that does not fit is one all the same: more than there can be of anything.
        let whole: u32 = whole.parse().unwrap_or(u32::MAX);
        if self != Self::QueueTimeout {
            return Some(whole);
        }
        let ms = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
        Some(whole.saturating_mul(1_000).saturating_add(ms))
    }
}

impl Limits {
    /// What is set for a limit; 0 = none.
    #[must_use]
    pub fn get(&self, limit: Limit) -> Option<u32> {
        self.0[limit as usize]
    }

    /// The same with one limit more.
    #[must_use]
    pub fn with(mut self, limit: Limit, value: u32) -> Self {
        self.0[limit as usize] = Some(value);
        self
    }
}

/// The clause that sets these limits; nothing if there are none.
impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut with = "WITH";
        for limit in Limit::ALL {
            let Some(value) = self.get(limit) else {
                continue;
            };
            write!(f, "{with} {} ", limit.name())?;
            match limit {
                Limit::QueueTimeout if value % 1_000 != 0 => {
                    write!(f, "{}.{:03}", value / 1_000, value % 1_000)?;
                }
                Limit::QueueTimeout => write!(f, "{}", value / 1_000)?,
                _ => write!(f, "{value}")?,
            }
            with = "";
        }
        Ok(())
    }
}

/// Finds what is ours up to the end of the statement. The error is the place that is wrong.
pub(super) fn find(reader: &mut Reader<'_>, found: &mut Found) -> Result<(), usize> {
    while !reader.at_end() {
        if reader.accept_word("identified") {
            reader.accept_word("with");
        } else if reader.peek().is_word("with") {
            clause(reader, found)?;
        } else {
            reader.next();
        }
    }
    Ok(())
}

/// At WITH: options, ours and the server's.
fn clause(reader: &mut Reader<'_>, found: &mut Found) -> Result<(), usize> {
    let with = reader.place();
    let before = found.cuts.len();
    let mut is_of_server = false;
    reader.next();
    while let Token::Word(word) = reader.peek() {
        if let Some(limit) = Limit::of(word.text) {
            let name = reader.place();
            reader.next();
            let value = match reader.peek() {
                Token::Number(written) => limit.value(written),
                _ => None,
            };
            let value = value.ok_or(reader.place().start)?;
            found.limits = found.limits.with(limit, value);
            found.cuts.extend([name, reader.place()]);
            reader.next();
        } else if reader.peek().is_among(OF_SERVER) {
            is_of_server = true;
            reader.next();
            reader.next();
        } else if reader.accept_word("grant") || reader.accept_word("admin") {
            is_of_server = true;
            reader.accept_word("option");
        } else {
            break;
        }
    }
    if found.cuts.len() == before {
        return Ok(());
    }
    if !is_of_server {
        found.cuts.insert(before, with);
    }
    // What follows must begin with a word, or leave nothing that could run together.
    match reader.peek() {
        Token::End | Token::Word(_) => Ok(()),
        _ => Err(reader.place().start),
    }
}
