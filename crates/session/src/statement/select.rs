//! SELECT and what is as good as one: VALUES, TABLE, common table expressions, parentheses.

use super::expression::{self, Calls, Until};
use super::findings::Findings;
use super::keyword::Keyword;
use super::kind::Kind;
use super::reader::Reader;
use super::write;

/// Behind SELECT, TABLE or VALUES.
pub(super) fn select(reader: &mut Reader<'_>, found: &mut Findings) -> Kind {
    expression::scan_all(reader, found);
    Kind::Select
}

/// Behind an opening parenthesis.
pub(super) fn parenthesised(reader: &mut Reader<'_>, found: &mut Findings) -> Kind {
    while reader.accept_mark(b'(') {}
    match reader.peek_keyword() {
        Keyword::Values => {
            reader.next();
            select(reader, found)
        }
        Keyword::Select | Keyword::Table | Keyword::With => select(reader, found),
        _ => Kind::Unknown,
    }
}

/// Behind WITH: the verb comes after the common table expressions.
pub(super) fn with(reader: &mut Reader<'_>, found: &mut Findings) -> Kind {
    expression::scan(reader, found, Until::Verb, Calls::All);
    let keyword = reader.peek_keyword();
    reader.next();
    match keyword {
        Keyword::Insert => write::insert(reader, found, Kind::Insert),
        Keyword::Replace => write::insert(reader, found, Kind::Replace),
        Keyword::Update => write::update(reader, found),
        Keyword::Delete => write::scanned(reader, found, Kind::Delete),
        // The verb may hide in parentheses; then it can only be a SELECT.
        _ => select(reader, found),
    }
}
