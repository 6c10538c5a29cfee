//! Statements that define objects and accounts: CREATE, ALTER, DROP, RENAME.

use super::expression::{self, Calls, Until};
use super::findings::Findings;
use super::keyword::Keyword;
use super::kind::{Kind, Traits};
use super::pins::PinReason;
use super::program;
use super::reader::Reader;
use super::token::Token;

/// A statement that defines objects and commits.
pub(super) fn ddl(found: &mut Findings) -> Kind {
    found.add(Traits::IMPLICIT_COMMIT);
    Kind::Ddl
}

/// A statement about accounts, roles or privileges.
pub(super) fn account(found: &mut Findings) -> Kind {
    found.add(Traits::IMPLICIT_COMMIT);
    Kind::Account
}

/// Behind CREATE or ALTER.
pub(super) fn define(verb: Keyword, reader: &mut Reader<'_>, found: &mut Findings) -> Kind {
    let creates = verb == Keyword::Create;
    let mut temporary = false;
    loop {
        let token = reader.next();
        match token.keyword() {
            Keyword::Temporary if creates => {
                temporary = true;
                found.pin(PinReason::TemporaryTable);
            }
            Keyword::Definer => definer(reader),
            Keyword::User if !creates => return alter_user(reader, found),
            Keyword::User | Keyword::Role => return account(found),
            Keyword::Table | Keyword::Sequence => {
                expression::scan(reader, found, Until::End, Calls::FromSelect);
                return if temporary { Kind::Ddl } else { ddl(found) };
            }
            keyword if program::is_program(keyword) && (creates || keyword == Keyword::Event) => {
                found.add(Traits::DEFINES_STORED);
                program::skip(keyword, reader, found);
                return ddl(found);
            }
            Keyword::View => found.add(Traits::DEFINES_STORED),
            Keyword::Database | Keyword::Schema => found.add(Traits::DEFINES_SCHEMA),
            _ if token.is_end() => return ddl(found),
            _ => {}
        }
    }
}

/// Behind ALTER USER: whether only who may log in is changed, and not what sessions may do.
fn alter_user(reader: &mut Reader<'_>, found: &mut Findings) -> Kind {
    let (mut identified, mut more) = (false, false);
    while !reader.at_end() {
        let token = reader.next();
        identified |= token.is_word("identified");
        more |= token.is_among("default role");
    }
    if identified && !more {
        found.add(Traits::SETS_PASSWORD);
    }
    account(found)
}

/// Behind DROP.
pub(super) fn drop(reader: &mut Reader<'_>, found: &mut Findings) -> Kind {
    match reader.peek_keyword() {
        Keyword::Prepare => return Kind::Prepared,
        Keyword::User | Keyword::Role => return account(found),
        Keyword::Temporary => {
            found.add(Traits::DROPS_TEMPORARY);
            return Kind::Ddl;
        }
        Keyword::Table | Keyword::Tables | Keyword::Sequence => found.add(Traits::DROPS_TEMPORARY),
        Keyword::Database | Keyword::Schema => {
            found.add(Traits::DEFINES_SCHEMA);
        }
        keyword if keyword == Keyword::View || program::is_program(keyword) => {
            found.add(Traits::DEFINES_STORED);
        }
        _ => {}
    }
    ddl(found)
}

/// Behind RENAME.
pub(super) fn rename(reader: &Reader<'_>, found: &mut Findings) -> Kind {
    match reader.peek_keyword() {
        Keyword::User => account(found),
        _ => ddl(found),
    }
}

/// `= name[@host]`: the name may be a keyword.
fn definer(reader: &mut Reader<'_>) {
    if reader.accept_mark(b'=') {
        reader.next();
        if matches!(reader.peek(), Token::UserVariable(_)) {
            reader.next();
        }
    }
}
