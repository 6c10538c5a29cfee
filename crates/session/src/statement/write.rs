//! INSERT, REPLACE, UPDATE, DELETE, LOAD.

use super::admin;
use super::expression;
use super::findings::Findings;
use super::identifier;
use super::keyword::Keyword;
use super::kind::Kind;
use super::pins::PinReason;
use super::reader::Reader;
use super::token::Token;

/// Behind DELETE, or where another one's expressions begin.
pub(super) fn scanned(reader: &mut Reader<'_>, found: &mut Findings, kind: Kind) -> Kind {
    expression::scan_all(reader, found);
    kind
}

/// Behind UPDATE.
pub(super) fn update(reader: &mut Reader<'_>, found: &mut Findings) -> Kind {
    while matches!(
        reader.peek_keyword(),
        Keyword::LowPriority | Keyword::Ignore
    ) {
        reader.next();
    }
    if !reader.peek_mark(b'(') && is_of_threads(table(reader)) {
        found.pin(PinReason::Profiling);
    }
    if reader.peek_mark(b',') {
        found.joins();
    }
    scanned(reader, found, Kind::Update)
}

/// Steps over a table's name. Returns its schema, if that is named, and it.
fn table<'a>(reader: &mut Reader<'a>) -> [Option<&'a [u8]>; 2] {
    let mut parts = [None, reader.next().identifier()];
    while reader.accept_mark(b'.') {
        parts = [parts[1], reader.next().identifier()];
    }
    parts
}

/// True of the table that says of what each connection's statistics are kept. No reset of a connection puts that back.
fn is_of_threads(table: [Option<&[u8]>; 2]) -> bool {
    let [schema, name] = table.map(|part| part.and_then(identifier::plain).unwrap_or_default());
    schema.eq_ignore_ascii_case(b"performance_schema") && name.eq_ignore_ascii_case(b"threads")
}

/// Behind INSERT or REPLACE.
pub(super) fn insert(reader: &mut Reader<'_>, found: &mut Findings, kind: Kind) -> Kind {
    target(reader);
    scanned(reader, found, kind)
}

/// Behind INSERT or REPLACE: steps over the table's name, whose columns would look like a call.
pub(super) fn target(reader: &mut Reader<'_>) {
    while matches!(
        reader.peek_keyword(),
        Keyword::LowPriority
            | Keyword::Delayed
            | Keyword::HighPriority
            | Keyword::Ignore
            | Keyword::Into
    ) {
        reader.next();
    }
    table(reader);
}

/// Behind LOAD: only what follows SET holds expressions.
pub(super) fn load(reader: &mut Reader<'_>, found: &mut Findings) -> Kind {
    if reader.peek_keyword() == Keyword::Index {
        return admin::committing(found);
    }
    loop {
        match reader.next() {
            Token::End => return Kind::Load,
            Token::UserVariable(name) => {
                found.user_variable(name);
                found.assigns();
            }
            token if token.is(Keyword::Character) => {
                reader.next();
            }
            token if token.is(Keyword::Set) => break,
            _ => {}
        }
    }
    scanned(reader, found, Kind::Load)
}
