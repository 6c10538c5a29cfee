//! SHOW and HELP.

use super::expression;
use super::findings::Findings;
use super::keyword::Keyword;
use super::kind::{Kind, Traits};
use super::reader::Reader;
use super::variables::Scope;

/// Behind SHOW or HELP.
pub(super) fn show(reader: &mut Reader<'_>, found: &mut Findings) -> Kind {
    if Scope::of(reader.peek_keyword()).is_some() {
        reader.next();
    }
    match reader.peek_keyword() {
        // An account's host would look like a user variable.
        Keyword::Grants | Keyword::Create => reader.skip_statement(),
        Keyword::Warnings | Keyword::Errors => {
            found.add(Traits::READS_DIAGNOSTICS | Traits::KEEPS_FOUND_ROWS);
        }
        Keyword::Variables => found.add(Traits::READS_ADDRESS),
        Keyword::Count => count(reader, found),
        _ => {}
    }
    expression::scan_all(reader, found);
    Kind::Show
}

/// `COUNT(*) WARNINGS`.
fn count(reader: &mut Reader<'_>, found: &mut Findings) {
    reader.next();
    while !reader.at_end() && !reader.accept_mark(b')') {
        reader.next();
    }
    if matches!(reader.peek_keyword(), Keyword::Warnings | Keyword::Errors) {
        found.add(Traits::READS_DIAGNOSTICS);
    }
}
