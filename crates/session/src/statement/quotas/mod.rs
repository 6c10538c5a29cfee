//! Statements about accounts that are of two minds: what is Myriad's own in them (limits on
//! concurrent work), and what is left for the server.
//!
//! Owns finding the clauses and cutting them out, byte for byte. What a limit means, who may set it
//! and whether the account exists is decided elsewhere.

mod accounts;
mod limits;

use super::dialect::{Dialect, Flavor};
use super::keyword::Keyword;
use super::reader::Reader;

pub use accounts::AccountRef;
pub use limits::{Limit, Limits};

/// What a text about accounts comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccountStatement {
    /// Nothing in it is ours: it goes to the server as it is.
    Other,
    /// Limits for accounts. They hold once the server has accepted the rest.
    Limits {
        /// Whose.
        accounts: Vec<AccountRef>,
        /// Which.
        limits: Limits,
        /// The text without them.
        server_text: Vec<u8>,
    },
    /// These are gone once the server has accepted the text.
    Drop(Vec<AccountRef>),
    /// These have other names once the server has accepted the text.
    Rename(Vec<(AccountRef, AccountRef)>),
    /// What is ours in it is wrong: nothing is sent.
    Wrong(SyntaxError),
    /// Limits are only taken from a text of one statement that is executed at once.
    NotAlone,
}

/// A place that cannot be read, as the server tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    near: Vec<u8>,
    line: usize,
}

/// As much of the text as the server shows.
const NEAR_BYTES_MAX: usize = 80;

impl SyntaxError {
    fn at(text: &[u8], place: usize) -> Self {
        let (before, near) = text.split_at(place.min(text.len()));
        let near = near.get(..NEAR_BYTES_MAX).unwrap_or(near);
        Self {
            near: near.to_vec(),
            line: 1 + before.iter().filter(|&&byte| byte == b'\n').count(),
        }
    }

    /// The message of error 1064 (42000).
    #[must_use]
    pub fn message(&self, flavor: Flavor) -> Vec<u8> {
        let server = match flavor {
            Flavor::MariaDb => "MariaDB",
            Flavor::MySql => "MySQL",
        };
        let mut message = format!(
            "You have an error in your SQL syntax; check the manual that corresponds to your \
             {server} server version for the right syntax to use near '"
        )
        .into_bytes();
        message.extend_from_slice(&self.near);
        message.extend_from_slice(format!("' at line {}", self.line).as_bytes());
        message
    }
}

/// Reads a text, of which the caller need only know that it may be about accounts. In doubt it is the
/// server's, which knows none of our clauses and refuses them.
#[must_use]
pub fn account_statement(text: &[u8], dialect: &Dialect) -> AccountStatement {
    let mut reader = Reader::new(text, dialect);
    let read = match reader.next().keyword() {
        Keyword::Grant if reader.skip_to(Keyword::To) => limits(&mut reader, text),
        Keyword::Create | Keyword::Alter if begins_user(&mut reader) => limits(&mut reader, text),
        Keyword::Drop if begins_user(&mut reader) => dropped(&mut reader),
        Keyword::Rename if begins_user(&mut reader) => renamed(&mut reader),
        Keyword::Prepare => prepared(text),
        Keyword::Execute if reader.accept(Keyword::Immediate) => prepared(text),
        _ => None,
    };
    match read {
        Some(read) if !reader.in_doubt() => read,
        _ => AccountStatement::Other,
    }
}

/// Whether a text names one of our limits, wherever: a prepared form of them is to be refused.
#[must_use]
pub fn names_limits(text: &[u8]) -> bool {
    let words = text.split(|byte| !(byte.is_ascii_alphanumeric() || *byte == b'_'));
    words
        .into_iter()
        .any(|word| Limit::of(word).is_some_and(Limit::is_unmistakable))
}

fn prepared(text: &[u8]) -> Option<AccountStatement> {
    names_limits(text).then_some(AccountStatement::NotAlone)
}

/// Behind the verb: steps over `[OR REPLACE] USER [IF [NOT] EXISTS]`.
fn begins_user(reader: &mut Reader<'_>) -> bool {
    if reader.accept(Keyword::Or) {
        reader.accept(Keyword::Replace);
    }
    let found = reader.accept(Keyword::User);
    if found && reader.accept(Keyword::If) {
        reader.accept(Keyword::Not);
        reader.accept_word("exists");
    }
    found
}

fn limits(reader: &mut Reader<'_>, text: &[u8]) -> Option<AccountStatement> {
    let accounts = accounts::list(reader);
    let mut found = limits::Found::default();
    if let Err(place) = limits::find(reader, &mut found) {
        return Some(AccountStatement::Wrong(SyntaxError::at(text, place)));
    }
    if found.cuts.is_empty() {
        return None;
    }
    if !reader.ends_text() {
        return Some(AccountStatement::NotAlone);
    }
    Some(match accounts {
        Ok(accounts) => AccountStatement::Limits {
            accounts,
            limits: found.limits,
            server_text: without(text, &found.cuts),
        },
        Err(place) => AccountStatement::Wrong(SyntaxError::at(text, place)),
    })
}

fn dropped(reader: &mut Reader<'_>) -> Option<AccountStatement> {
    let mut accounts = vec![accounts::name(reader).ok()?];
    while reader.accept_mark(b',') {
        accounts.push(accounts::name(reader).ok()?);
    }
    reader.at_end().then_some(AccountStatement::Drop(accounts))
}

fn renamed(reader: &mut Reader<'_>) -> Option<AccountStatement> {
    let mut pairs = Vec::new();
    loop {
        let from = accounts::name(reader).ok()?;
        if !reader.accept(Keyword::To) {
            return None;
        }
        pairs.push((from, accounts::name(reader).ok()?));
        if !reader.accept_mark(b',') {
            break;
        }
    }
    reader.at_end().then_some(AccountStatement::Rename(pairs))
}

/// The text without some of its tokens, which are in its order.
fn without(text: &[u8], cuts: &[std::ops::Range<usize>]) -> Vec<u8> {
    let mut rest = Vec::with_capacity(text.len());
    let mut at = 0;
    for cut in cuts {
        rest.extend_from_slice(text.get(at..cut.start).unwrap_or_default());
        at = cut.end;
    }
    rest.extend_from_slice(text.get(at..).unwrap_or_default());
    rest
}
