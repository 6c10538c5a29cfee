//! SHOW and HELP.

use super::expression;
use super::findings::Findings;
use super::keyword::Keyword;
use super::kind::{Kind, Traits};
use super::reader::Reader;
use super::variables::Scope;

/// Behind HELP.
pub(super) fn help(reader: &mut Reader<'_>, found: &mut Findings) -> Kind {
    found.add(Traits::KEEPS_FOUND_ROWS);
    expression::scan_all(reader, found);
    Kind::Show
}

/// Behind SHOW.
pub(super) fn show(reader: &mut Reader<'_>, found: &mut Findings) -> Kind {
    reader.accept(Keyword::Full);
    if keeps_found_rows(reader) {
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

/// True of what the servers do not carry out as a SELECT from tables of their own. Both agree.
fn keeps_found_rows(reader: &Reader<'_>) -> bool {
    matches!(
        reader.peek_keyword(),
        Keyword::All
            | Keyword::Authors
            | Keyword::Binary
            | Keyword::Binlog
            | Keyword::Contributors
            | Keyword::Create
            | Keyword::Engine
            | Keyword::Errors
            | Keyword::Explain
            | Keyword::Grants
            | Keyword::Master
            | Keyword::Privileges
            | Keyword::Processlist
            | Keyword::Profiles
            | Keyword::Relaylog
            | Keyword::Replica
            | Keyword::Replicas
            | Keyword::Slave
            | Keyword::Warnings
    )
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
