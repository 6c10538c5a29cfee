//! What a statement takes hold of or lets go of that lives on the backend: temporary tables, handlers,
//! user-level locks. Owns the reading of their names; who holds what is the session's to know.

use super::dialect::Dialect;
use super::identifier;
use super::keyword::Keyword;
use super::reader::Reader;
use super::token::Token;

/// What one statement, alone in its text, does to what a session holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holding {
    /// `CREATE TEMPORARY TABLE`.
    CreatesTable(TableName),
    /// `DROP [TEMPORARY] TABLE`.
    DropsTables(Vec<TableName>),
    /// `HANDLER … OPEN`, under the name by which it is closed.
    OpensHandler(Box<[u8]>),
    /// `HANDLER … CLOSE`.
    ClosesHandler(Box<[u8]>),
    /// `HANDLER … READ`.
    ReadsHandler,
    /// `SELECT GET_LOCK(…)` and nothing besides: the answer says whether it was got.
    GetsLock,
    /// `SELECT IF(GET_LOCK(…), …, NULL)` and nothing besides: it was got if the answer is not NULL.
    GetsLockOrNull,
    /// `SELECT RELEASE_LOCK(…)` and nothing besides: the answer says whether it was released.
    ReleasesLock,
    /// `RELEASE_ALL_LOCKS()` as the only call.
    ReleasesAllLocks,
}

impl Holding {
    /// True of what is about user-level locks alone, and has an answer that says as much in the binary protocol as in text.
    #[must_use]
    pub const fn is_of_locks(&self) -> bool {
        matches!(
            self,
            Self::GetsLock | Self::ReleasesLock | Self::ReleasesAllLocks
        )
    }
}

/// A table's name as written; `None` for the schema means the default one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableName {
    /// The schema, if it is written.
    pub schema: Option<Box<[u8]>>,
    /// The table.
    pub table: Box<[u8]>,
}

/// What `text` does to what a session holds; `None` if it does nothing, or more than can be said.
#[must_use]
pub fn holding(text: &[u8], dialect: &Dialect) -> Option<Holding> {
    let mut reader = Reader::new(text, dialect);
    let holding = match reader.next().keyword() {
        Keyword::Create => creates(&mut reader),
        Keyword::Drop => drops(&mut reader),
        Keyword::Handler => handler(&mut reader),
        Keyword::Select => locks(&mut reader),
        Keyword::Do => locks(&mut reader).filter(|found| *found == Holding::ReleasesAllLocks),
        _ => None,
    }?;
    reader.skip_statement();
    (reader.ends_text() && !reader.in_doubt()).then_some(holding)
}

fn creates(reader: &mut Reader<'_>) -> Option<Holding> {
    if reader.accept(Keyword::Or) {
        reader.accept(Keyword::Replace);
    }
    if !(reader.accept(Keyword::Temporary) && reader.accept(Keyword::Table)) {
        return None;
    }
    if_exists(reader);
    table_name(reader).map(Holding::CreatesTable)
}

fn drops(reader: &mut Reader<'_>) -> Option<Holding> {
    reader.accept(Keyword::Temporary);
    if !(reader.accept(Keyword::Table) || reader.accept(Keyword::Tables)) {
        return None;
    }
    if_exists(reader);
    let mut names = vec![table_name(reader)?];
    while reader.accept_mark(b',') {
        names.push(table_name(reader)?);
    }
    Some(Holding::DropsTables(names))
}

/// `IF [NOT] EXISTS`.
fn if_exists(reader: &mut Reader<'_>) {
    if reader.accept(Keyword::If) {
        reader.accept(Keyword::Not);
        reader.next();
    }
}

fn table_name(reader: &mut Reader<'_>) -> Option<TableName> {
    let first = name(reader)?;
    if !reader.accept_mark(b'.') {
        return Some(TableName {
            schema: None,
            table: first,
        });
    }
    Some(TableName {
        schema: Some(first),
        table: name(reader)?,
    })
}

fn name(reader: &mut Reader<'_>) -> Option<Box<[u8]>> {
    let written = reader.next().identifier()?;
    let name = identifier::unquote(written, reader.dialect().charset);
    Some(name.into_owned().into_boxed_slice())
}

/// Behind HANDLER: `name OPEN [[AS] alias]` or `alias CLOSE`.
fn handler(reader: &mut Reader<'_>) -> Option<Holding> {
    let TableName { table, .. } = table_name(reader)?;
    let verb = reader.next().identifier()?;
    if verb.eq_ignore_ascii_case(b"read") {
        return Some(Holding::ReadsHandler);
    }
    if verb.eq_ignore_ascii_case(b"close") {
        return Some(Holding::ClosesHandler(table));
    }
    if !verb.eq_ignore_ascii_case(b"open") {
        return None;
    }
    reader.accept(Keyword::As);
    let alias = if reader.at_end() { None } else { name(reader) };
    Some(Holding::OpensHandler(alias.unwrap_or(table)))
}

/// The functions of user-level locks.
const LOCKS: [&[u8]; 3] = [b"get_lock", b"release_lock", b"release_all_locks"];

/// Behind SELECT or DO: one call, at most with an alias, constants behind it, and `LIMIT 1`, which some libraries write
/// behind every read.
fn locks(reader: &mut Reader<'_>) -> Option<Holding> {
    let holding = match reader.accept(Keyword::If) {
        true => lock_or_null(reader)?,
        false => lock_call(reader)?,
    };
    alias(reader)?;
    while reader.accept_mark(b',') {
        // The first column is the one that counts.
        matches!(reader.next(), Token::Text | Token::Number(_)).then_some(())?;
        alias(reader)?;
    }
    if reader.accept(Keyword::Limit) && reader.next() != Token::Number(b"1") {
        return None;
    }
    reader.at_end().then_some(holding)
}

fn lock_call(reader: &mut Reader<'_>) -> Option<Holding> {
    let call = reader.next().identifier()?;
    let does = [
        Holding::GetsLock,
        Holding::ReleasesLock,
        Holding::ReleasesAllLocks,
    ];
    let mut found = LOCKS.into_iter().zip(does);
    let (_, holding) = found.find(|(name, _)| call.eq_ignore_ascii_case(name))?;
    reader.accept_mark(b'(').then_some(())?;
    without_locks(reader, b')')?;
    Some(holding)
}

/// Behind IF: `(GET_LOCK(…), …, NULL)`.
fn lock_or_null(reader: &mut Reader<'_>) -> Option<Holding> {
    reader.accept_mark(b'(').then_some(())?;
    (lock_call(reader)? == Holding::GetsLock).then_some(())?;
    reader.accept_mark(b',').then_some(())?;
    without_locks(reader, b',')?;
    let null = reader.next().identifier()?;
    let is_null = null.eq_ignore_ascii_case(b"null") && reader.accept_mark(b')');
    is_null.then_some(Holding::GetsLockOrNull)
}

/// What comes up to a mark, outside of parentheses, if nothing of it calls one of these functions.
fn without_locks(reader: &mut Reader<'_>, end: u8) -> Option<()> {
    let mut depth = 0_u32;
    loop {
        match reader.next() {
            Token::Mark(mark) if mark == end && depth == 0 => return Some(()),
            Token::Mark(b'(') => depth += 1,
            Token::Mark(b')') => depth = depth.checked_sub(1)?,
            Token::End => return None,
            token => {
                let name = token.identifier().and_then(identifier::plain);
                let is_lock =
                    |name: &[u8]| LOCKS.iter().any(|lock| lock.eq_ignore_ascii_case(name));
                (!name.is_some_and(is_lock)).then_some(())?;
            }
        }
    }
}

/// What a column may be called.
fn alias(reader: &mut Reader<'_>) -> Option<()> {
    reader.accept(Keyword::As);
    if !reader.at_end() && !reader.peek().is(Keyword::Limit) && !reader.peek_mark(b',') {
        let alias = reader.next();
        (alias.identifier().is_some() || alias == Token::Text).then_some(())?;
    }
    Some(())
}
