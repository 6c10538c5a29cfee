//! SHOW and HELP.

use super::expression;
use super::findings::Findings;
use super::keyword::Keyword;
use super::kind::{Kind, Traits};
use super::reader::Reader;
use super::variables::Scope;

/// What the servers do not carry out as a SELECT from tables of their own. Both agree.
const KEEPS_FOUND_ROWS: &str = "all authors binary binlog contributors create engine errors explain grants master \
    privileges processlist profiles relaylog replica replicas slave warnings";

/// Behind HELP.
pub(super) fn help(reader: &mut Reader<'_>, found: &mut Findings) -> Kind {
    found.add(Traits::KEEPS_FOUND_ROWS);
    expression::scan_all(reader, found);
    Kind::Show
}

/// Behind SHOW.
pub(super) fn show(reader: &mut Reader<'_>, found: &mut Findings) -> Kind {
    reader.accept(Keyword::Full);
    if reader.peek().is_among(KEEPS_FOUND_ROWS) {
        found.add(Traits::KEEPS_FOUND_ROWS);
    }
    if Scope::of(reader.peek_keyword()).is_some() {
        reader.next();
    }
    match reader.peek_keyword() {
        // An account's host would look like a user variable.
        Keyword::Grants | Keyword::Create => reader.skip_statement(),
        Keyword::Warnings | Keyword::Errors => {
            found.add(Traits::READS_DIAGNOSTICS);
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
    while !reader.at_end() && !reader.next().is_mark(b')') {}
    if matches!(reader.peek_keyword(), Keyword::Warnings | Keyword::Errors) {
        found.add(Traits::READS_DIAGNOSTICS);
    }
}
