//! What the front door knows better than the backend at hand. Owns the names; where they stand in a text is the matter
//! of `substitute`.

use std::borrow::Cow;

use super::identifier;
use super::lexer::Lexer;
use super::token::Token;

/// What can be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Known {
    /// `ROW_COUNT()`
    RowCount,
    /// `FOUND_ROWS()`
    FoundRows,
    /// `CONNECTION_ID()`
    ConnectionId,
    /// `@@warning_count`
    WarningCount,
    /// `@@error_count`
    ErrorCount,
    /// `@@last_gtid`
    LastGtid,
    /// `@@pseudo_thread_id`
    PseudoThreadId,
    /// `@@socket`
    Socket,
    /// `@@port`
    Port,
    /// `@@hostname`
    Hostname,
    /// `@@bind_address`
    BindAddress,
}

impl Known {
    /// How it is written.
    pub const fn expression(self) -> &'static str {
        match self {
            Self::RowCount => "ROW_COUNT()",
            Self::FoundRows => "FOUND_ROWS()",
            Self::ConnectionId => "CONNECTION_ID()",
            Self::WarningCount => "@@warning_count",
            Self::ErrorCount => "@@error_count",
            Self::LastGtid => "@@last_gtid",
            Self::PseudoThreadId => "@@pseudo_thread_id",
            Self::Socket => "@@socket",
            Self::Port => "@@port",
            Self::Hostname => "@@hostname",
            Self::BindAddress => "@@bind_address",
        }
    }

    pub(super) fn of_function(name: &[u8]) -> Option<Self> {
        let known = [
            (&b"row_count"[..], Self::RowCount),
            (b"found_rows", Self::FoundRows),
            (b"connection_id", Self::ConnectionId),
        ];
        find(&known, name)
    }

    /// The variable whose name is next. One of the other scope is left to the server, which refuses it.
    pub(super) fn read(lexer: &mut Lexer<'_>) -> Option<Self> {
        let scope = lexer.clone().next().identifier()?;
        let known = Self::of_variable(&variable_name(lexer)?)?;
        let of_session = known.is_of_last_statement() || known == Self::PseudoThreadId;
        let others: &[&[u8]] = match of_session {
            true => &[b"global"],
            false => &[b"session", b"local"],
        };
        let refused = others.iter().any(|other| scope.eq_ignore_ascii_case(other));
        (!refused).then_some(known)
    }

    fn of_variable(name: &[u8]) -> Option<Self> {
        let known = [
            (&b"warning_count"[..], Self::WarningCount),
            (b"error_count", Self::ErrorCount),
            (b"last_gtid", Self::LastGtid),
            (b"pseudo_thread_id", Self::PseudoThreadId),
            (b"socket", Self::Socket),
            (b"port", Self::Port),
            (b"hostname", Self::Hostname),
            (b"bind_address", Self::BindAddress),
        ];
        find(&known, name)
    }

    /// It is about the statement before, so that only the first statement of a text may be told.
    pub(super) const fn is_of_last_statement(self) -> bool {
        matches!(
            self,
            Self::RowCount
                | Self::FoundRows
                | Self::WarningCount
                | Self::ErrorCount
                | Self::LastGtid
        )
    }
}

fn find(known: &[(&[u8], Known)], name: &[u8]) -> Option<Known> {
    known
        .iter()
        .find_map(|(known, what)| known.eq_ignore_ascii_case(name).then_some(*what))
}

/// The name behind `@@`, without its scope.
fn variable_name<'a>(lexer: &mut Lexer<'a>) -> Option<Cow<'a, [u8]>> {
    let mut name = lexer.next().identifier()?;
    loop {
        let mut ahead = lexer.clone();
        if ahead.next() != Token::Mark(b'.') {
            return Some(identifier::unquote(name, lexer.dialect().charset));
        }
        name = ahead.next().identifier()?;
        *lexer = ahead;
    }
}
