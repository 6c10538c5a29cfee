//! Statements about accounts that are of two minds: what is Myriad's own in them (limits on
//! concurrent work), and what is left for the server.
//!
//! Owns finding the clauses and cutting them out, byte for byte. What a limit means, who may set it
//! and whether the account exists is decided elsewhere.

mod accounts;
mod cursor;
mod limits;

use super::dialect::{Dialect, Flavor};
use super::keyword::Keyword;

use accounts::Named;
use cursor::Cursor;

pub use accounts::AccountRef;
pub use limits::{Limit, Limits};

pub(super) use accounts::value;

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
    let mut cursor = Cursor::new(text, dialect);
    let read = match cursor.keyword() {
        Keyword::Grant if cursor.skip_to(Keyword::To) => limits(&mut cursor, text),
        Keyword::Create | Keyword::Alter if begins_user(&mut cursor) => limits(&mut cursor, text),
        Keyword::Drop if begins_user(&mut cursor) => dropped(&mut cursor),
        Keyword::Rename if begins_user(&mut cursor) => renamed(&mut cursor),
        Keyword::Prepare => prepared(text),
        Keyword::Execute => {
            cursor.advance();
            (cursor.keyword() == Keyword::Immediate)
                .then(|| prepared(text))
                .flatten()
        }
        _ => None,
    };
    read.filter(|_| !cursor.in_doubt())
        .unwrap_or(AccountStatement::Other)
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

/// Steps over `CREATE [OR REPLACE] USER [IF [NOT] EXISTS]` and the like.
fn begins_user(cursor: &mut Cursor<'_>) -> bool {
    cursor.advance();
    if cursor.accept_word(b"or") {
        cursor.accept_word(b"replace");
    }
    if !cursor.accept_word(b"user") {
        return false;
    }
    if cursor.accept_word(b"if") {
        cursor.accept_word(b"not");
        cursor.accept_word(b"exists");
    }
    true
}

fn limits(cursor: &mut Cursor<'_>, text: &[u8]) -> Option<AccountStatement> {
    let accounts = accounts::list(cursor);
    let mut found = limits::Found::default();
    let wrong = limits::find(cursor, &mut found).err();
    if let Some(place) = wrong {
        return Some(AccountStatement::Wrong(SyntaxError::at(text, place)));
    }
    if found.cuts.is_empty() {
        return None;
    }
    if !cursor.ends_text() {
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

fn dropped(cursor: &mut Cursor<'_>) -> Option<AccountStatement> {
    let mut accounts = Vec::new();
    loop {
        accounts.push(accounts::name(cursor).ok()?);
        if !cursor.accept_mark(b',') {
            break;
        }
    }
    cursor.at_end().then_some(AccountStatement::Drop(accounts))
}

fn renamed(cursor: &mut Cursor<'_>) -> Option<AccountStatement> {
    let mut pairs = Vec::new();
    loop {
        let from: Named = accounts::name(cursor);
        let from = from.ok()?;
        if !cursor.accept_word(b"to") {
            return None;
        }
        pairs.push((from, accounts::name(cursor).ok()?));
        if !cursor.accept_mark(b',') {
            break;
        }
    }
    cursor.at_end().then_some(AccountStatement::Rename(pairs))
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
