//! What a statement takes hold of or lets go of that lives on the backend: temporary tables, handlers,
//! user-level locks (`locks`). Owns the reading of their names; who holds what is the session's to know.

use super::dialect::Dialect;
use super::identifier;
use super::keyword::Keyword;
use super::locks::{LockCall, lock_call};
use super::reader::Reader;

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
    /// One call of a function of user-level locks.
    Lock(LockCall),
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
    if let Some(call) = lock_call(text, dialect) {
        return Some(Holding::Lock(call));
    }
    let mut reader = Reader::new(text, dialect);
    let holding = match reader.next().keyword() {
        Keyword::Create => creates(&mut reader),
        Keyword::Drop => drops(&mut reader),
        Keyword::Handler => handler(&mut reader),
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
    let mut table = name(reader)?;
    let mut schema = None;
    if reader.accept_mark(b'.') {
        schema = Some(table);
        table = name(reader)?;
    }
    Some(TableName { schema, table })
}

fn name(reader: &mut Reader<'_>) -> Option<Box<[u8]>> {
    let written = reader.next().identifier()?;
    let name = identifier::unquote(written, reader.dialect().charset);
    Some(name.into_owned().into_boxed_slice())
}

/// Behind HANDLER: `name OPEN [[AS] alias]` or `alias CLOSE`.
fn handler(reader: &mut Reader<'_>) -> Option<Holding> {
    let TableName { table, .. } = table_name(reader)?;
    if reader.accept(Keyword::Read) {
        return Some(Holding::ReadsHandler);
    }
    if reader.accept_word("close") {
        return Some(Holding::ClosesHandler(table));
    }
    if !reader.accept_word("open") {
        return None;
    }
    reader.accept(Keyword::As);
    let alias = if reader.at_end() { None } else { name(reader) };
    Some(Holding::OpensHandler(alias.unwrap_or(table)))
}
