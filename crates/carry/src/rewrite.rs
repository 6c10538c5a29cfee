//! What is sent in place of a client's text, where the front door knows better than the backend at
//! hand: counts of the session's last statement (rule 10), addresses (rule 14a), and the scope of variables that
//! are set without one.

use std::fmt::Display;

use session::statement::{Known, Statement, Traits};

/// What is sent in place of a text.
#[derive(Debug, PartialEq, Eq)]
pub struct Rewrite {
    /// The text.
    pub text: Vec<u8>,
    /// What LAST_INSERT_ID() must be for it, if it is used to bring a value across.
    pub insert_id: Option<u64>,
}

impl Rewrite {
    /// A text as it is.
    pub fn of_text(text: Vec<u8>) -> Self {
        Self {
            text,
            insert_id: None,
        }
    }
}

/// True if the text must be looked at for what the front door knows better.
pub fn concerns(statement: &Statement) -> bool {
    statement.traits.intersects(
        Traits::READS_DIAGNOSTICS
            | Traits::READS_ROW_COUNTS
            | Traits::READS_ADDRESS
            | Traits::READS_CONNECTION_ID
            | Traits::READS_GTID
            | Traits::SETS_UNSCOPED,
    )
}

/// What the backend knows better than what was captured, because the session's last statement ran there.
#[derive(Clone, Copy, Debug)]
pub struct Live {
    /// The session's own warnings are there.
    pub warnings: bool,
    /// Rows were counted that were never sent.
    pub found_rows: bool,
}

/// The value in an expression of the same type, length and nullability as what it stands for. MySQL gives
/// the warning of FOUND_ROWS() for it, too.
pub fn in_place_of(known: Known, value: &str) -> String {
    format!("IF(0,{},{value})", known.expression())
}

/// A number as a literal of type BIGINT UNSIGNED.
pub fn unsigned(value: impl Display) -> String {
    format!("CAST({value} AS UNSIGNED)")
}

/// A text that has the same answer, type and column name for a number that is LAST_INSERT_ID(): these are the
/// expressions which are of the same types and have the value one wants. `name` is quoted.
pub fn select_of_one(known: Known, name: &[u8]) -> Vec<u8> {
    let expression = of_last_id(known).as_bytes();
    // MySQL warns of the call, wherever it stands.
    let rest: &[u8] = match known {
        Known::FoundRows => b" FROM DUAL WHERE FOUND_ROWS() IS NOT NULL",
        _ => b"",
    };
    [b"SELECT ", expression, b" AS ", name, rest].concat()
}

/// What is of the same type as a count and has its value when that is LAST_INSERT_ID().
fn of_last_id(known: Known) -> &'static str {
    match known {
        Known::RowCount | Known::FoundRows => "CAST(LAST_INSERT_ID() AS SIGNED)",
        _ => "@@last_insert_id",
    }
}

/// What clients are told of where the front door is, in place of where the database is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PublicAddress {
    /// `@@port`; `None` to leave what the server says.
    pub port: Option<u16>,
    /// `@@socket`; empty if there is none.
    pub socket: String,
    /// `@@hostname`; empty to leave what the server says.
    pub hostname: String,
    /// `@@bind_address`; empty to leave what the server says.
    pub bind_address: String,
}

impl PublicAddress {
    /// The SQL expression for what a text reads.
    pub fn expression(&self, known: Known) -> Option<String> {
        let given = |text: &String| (!text.is_empty()).then(|| quoted(text));
        let value = match known {
            Known::Port => self.port.map(unsigned),
            Known::Socket => Some(quoted(&self.socket)),
            Known::Hostname => given(&self.hostname),
            Known::BindAddress => given(&self.bind_address),
            Known::RowCount
            | Known::FoundRows
            | Known::ConnectionId
            | Known::PseudoThreadId
            | Known::LastGtid
            | Known::WarningCount
            | Known::ErrorCount => None,
        };
        value.map(|value| in_place_of(known, &value))
    }
}

/// A string literal in every `sql_mode`: what could end it is left out.
fn quoted(text: &str) -> String {
    let harmless = |char: &char| !matches!(char, '\'' | '\\') && !char.is_control();
    format!("'{}'", text.chars().filter(harmless).collect::<String>())
}
