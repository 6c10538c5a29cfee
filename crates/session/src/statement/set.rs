//! SET in all its forms. Owns the list of assignments; what a variable means is in `variables`.

use super::classify;
use super::dialect::Flavor;
use super::expression::{self, Calls, Until};
use super::findings::Findings;
use super::keyword::Keyword;
use super::kind::{Kind, Traits};
use super::pins::PinReason;
use super::reader::Reader;
use super::schema;
use super::token::Token;
use super::variables::{self, Scope};

/// Behind SET.
pub(super) fn set(reader: &mut Reader<'_>, found: &mut Findings, nesting: u8) -> Kind {
    match reader.peek_keyword() {
        Keyword::Password => {
            found.add(Traits::SETS_PASSWORD);
            schema::account(found)
        }
        Keyword::Default => schema::account(found),
        Keyword::Role => {
            found.add(Traits::SETS_ROLE);
            Kind::Set
        }
        Keyword::Resource => {
            found.pin(PinReason::ResourceGroup);
            Kind::Set
        }
        // The session tracker tells what the next transaction is to have.
        Keyword::Transaction => Kind::Set,
        Keyword::Statement => for_statement(reader, found, nesting),
        _ => list(reader, found),
    }
}

/// `SET STATEMENT a = 1, b = 2 FOR …`: the inner statement counts; the variables are put back. What an inner
/// SET changes for good cannot be told from that.
fn for_statement(reader: &mut Reader<'_>, found: &mut Findings, nesting: u8) -> Kind {
    reader.next();
    loop {
        let name = reader.peek().identifier().unwrap_or_default();
        if variables::is_of_tracking(name) {
            found.pin(PinReason::SessionTracking);
        } else if variables::is_of_profiling(name) {
            found.pin(PinReason::Profiling);
        }
        expression::scan(reader, found, Until::CommaOrFor, Calls::All);
        if !reader.accept_mark(b',') {
            break;
        }
    }
    if !reader.accept(Keyword::For) {
        return Kind::Unknown;
    }
    found.not_plain();
    found.add(Traits::FOR_STATEMENT);
    match classify::judge(reader, found, nesting + 1) {
        Kind::Empty => Kind::Unknown,
        Kind::Set => {
            found.pin(PinReason::UntrackedVariable);
            Kind::Set
        }
        kind => kind,
    }
}

fn list(reader: &mut Reader<'_>, found: &mut Findings) -> Kind {
    // On some servers GLOBAL holds for the assignments behind it, too.
    let mut global_seen = false;
    loop {
        if !assignment(reader, found, &mut global_seen) {
            return Kind::Unknown;
        }
        if !reader.accept_mark(b',') {
            return Kind::Set;
        }
    }
}

/// One assignment; `false` if it is none.
fn assignment(reader: &mut Reader<'_>, found: &mut Findings, global_seen: &mut bool) -> bool {
    let scope = Scope::of(reader.peek_keyword());
    if scope.is_some() {
        reader.next();
    }
    let scope = scope.unwrap_or(Scope::Unscoped);
    *global_seen |= scope == Scope::Global;
    match reader.peek_keyword() {
        Keyword::Transaction => {
            transaction(scope, found);
            reader.skip_statement();
            return true;
        }
        Keyword::Names | Keyword::Character | Keyword::Charset => {
            found.add(Traits::SETS_CHARSET | Traits::SETS_VARIABLE);
            expression::scan(reader, found, Until::Comma, Calls::All);
            return true;
        }
        _ => {}
    }
    let target = target(reader, found, scope, *global_seen);
    target.is_some_and(|target| value(reader, found, target))
}

/// What is assigned to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    Other,
    /// A variable that needs a privilege to be set, but for its default.
    Guarded,
}

/// `SET SESSION TRANSACTION …` and `SET GLOBAL TRANSACTION …`.
fn transaction(scope: Scope, found: &mut Findings) {
    match scope {
        Scope::Global => {
            found.add(Traits::SETS_GLOBAL);
            found.writes();
        }
        Scope::Session => found.add(Traits::SETS_VARIABLE),
        Scope::Unscoped => {}
    }
}

/// The left side of an assignment.
fn target(
    reader: &mut Reader<'_>,
    found: &mut Findings,
    mut scope: Scope,
    global_seen: bool,
) -> Option<Target> {
    let name = match reader.next() {
        Token::UserVariable(name) => {
            found.user_variable(name);
            found.assigns();
            return Some(Target::Other);
        }
        Token::SystemVariable => {
            let (written, name) = variables::name(reader)?;
            scope = written;
            if written == Scope::Unscoped && reader.dialect().flavor == Flavor::MariaDb {
                // In a list with GLOBAL it is not the session's for sure.
                match global_seen {
                    true => found.pin(PinReason::UntrackedVariable),
                    false if variables::is_of_next_transaction(name) => {}
                    false => found.add(Traits::SETS_UNSCOPED),
                }
            }
            name
        }
        token => component(reader, token)?,
    };
    if scope == Scope::Global || scope == Scope::Unscoped && global_seen {
        found.add(Traits::SETS_GLOBAL);
        found.writes();
    }
    if scope != Scope::Global {
        variables::assign(name, found);
    }
    Some(match variables::is_of_replication(name) {
        true => Target::Guarded,
        false => Target::Other,
    })
}

/// A name, or the last part of a structured one.
fn component<'a>(reader: &mut Reader<'a>, first: Token<'a>) -> Option<&'a [u8]> {
    let mut name = first.identifier()?;
    while reader.accept_mark(b'.') {
        name = reader.next().identifier()?;
    }
    super::identifier::plain(name)
}

fn is_sign(token: Token<'_>) -> bool {
    token == Token::Mark(b'=') || token == Token::Assign
}

/// The sign and the right side of an assignment.
fn value(reader: &mut Reader<'_>, found: &mut Findings, target: Target) -> bool {
    let sign = reader.next();
    if !is_sign(sign) {
        return false;
    }
    if target == Target::Guarded && reader.peek_keyword() == Keyword::Default {
        // The tracker tells its value, which the account may not be allowed to set.
        found.pin(PinReason::ReplicationVariable);
    }
    expression::scan(reader, found, Until::Comma, Calls::All);
    true
}
