//! What USE and KILL point at, for those who carry them out themselves.

use std::borrow::Cow;
use std::collections::HashSet;

use super::dialect::Dialect;
use super::identifier;
use super::keyword::Keyword;
use super::lexer::Lexer;
use super::reader::Reader;
use super::token::Token;
use super::user_variables;

/// A KILL that names a connection by its number, by a variable that has it, or its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kill {
    /// The connection that is named.
    pub named: Named,
    /// Only the statement it runs is meant, not the connection.
    pub query: bool,
    /// SOFT is written: steps that could leave a table inconsistent are not broken off.
    pub soft: bool,
}

/// How a KILL names a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Named {
    /// By the id as the client wrote it.
    Id(u64),
    /// By `CONNECTION_ID()`.
    Own,
    /// By a user variable, without its `@` and in lower case.
    Variable(Box<[u8]>),
}

/// The schema of a text that is one plain `USE`; the bytes are in the client's character set.
#[must_use]
pub fn use_schema<'a>(text: &'a [u8], dialect: &Dialect) -> Option<Cow<'a, [u8]>> {
    let mut reader = Reader::new(text, dialect);
    if !reader.accept(Keyword::Use) {
        return None;
    }
    let name = reader.next().identifier()?;
    reader
        .is_done()
        .then(|| identifier::unquote(name, dialect.charset))
}

/// The target of a text that is one `KILL [HARD | SOFT] [CONNECTION | QUERY] number`, or `CONNECTION_ID()`
/// or a user variable in place of the number.
#[must_use]
pub fn kill_target(text: &[u8], dialect: &Dialect) -> Option<Kill> {
    let mut reader = Reader::new(text, dialect);
    if !reader.accept(Keyword::Kill) {
        return None;
    }
    let soft = reader.accept(Keyword::Soft);
    if !soft {
        reader.accept(Keyword::Hard);
    }
    let query = reader.accept(Keyword::Query);
    if !query {
        reader.accept(Keyword::Connection);
    }
    let named = match reader.next() {
        Token::Number(digits) => Named::Id(str::from_utf8(digits).ok()?.parse().ok()?),
        Token::UserVariable(written) => {
            Named::Variable(user_variables::name(written)?.to_ascii_lowercase().into())
        }
        token if token.is_word("connection_id") && reader.accept_call() => Named::Own,
        _ => return None,
    };
    reader.is_done().then_some(Kill { named, query, soft })
}

/// Every word of a text that may name a table, quotes off; `None` if it cannot be read with
/// certainty, or a name is not plain.
#[must_use]
pub fn names<'a>(text: &'a [u8], dialect: &Dialect) -> Option<Vec<&'a [u8]>> {
    let mut lexer = Lexer::new(text, dialect);
    let (mut names, mut seen) = (Vec::new(), HashSet::new());
    loop {
        let token = lexer.next();
        if token == Token::End {
            return (!lexer.in_doubt()).then_some(names);
        }
        if let Some(written) = token.identifier() {
            let name = identifier::plain(written)?;
            if seen.insert(name) {
                names.push(name);
            }
        }
    }
}
