//! SET in all its forms. `variables` knows what a variable means.

use super::assignments::{Assigned, Target, assigned};
use super::classify;
use super::dialect::Flavor;
use super::expression::{self, Calls, Until};
use super::findings::Findings;
use super::identifier;
use super::keyword::Keyword;
use super::kind::{Kind, Traits};
use super::pins::PinReason;
use super::reader::Reader;
use super::schema;
use super::variables::{self, Scope, Variable};

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
        let name = reader.peek().identifier().and_then(identifier::plain);
        match Variable::of(name.unwrap_or_default()) {
            Variable::Tracking => found.pin(PinReason::SessionTracking),
            Variable::Profiling => found.pin(PinReason::Profiling),
            _ => {}
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
        let Some(Assigned { scope, target, .. }) = assigned(reader) else {
            return Kind::Unknown;
        };
        match target {
            Target::Transaction => {
                transaction(scope, found);
                reader.skip_statement();
            }
            Target::Names => found.add(Traits::SETS_CHARSET | Traits::SETS_VARIABLE),
            Target::User(name) => {
                found.user_variable(name);
                found.assigns();
            }
            Target::Variable { name, at } => {
                global_seen |= !at && scope == Scope::Global;
                let kind = Variable::of(name);
                if at && scope == Scope::Unscoped && reader.dialect().flavor == Flavor::MariaDb {
                    // In a list with GLOBAL it is not the session's for sure.
                    match kind {
                        _ if global_seen => found.pin(PinReason::UntrackedVariable),
                        Variable::Transaction => {}
                        _ => found.add(Traits::SETS_UNSCOPED),
                    }
                }
                if scope == Scope::Global || scope == Scope::Unscoped && global_seen {
                    found.add(Traits::SETS_GLOBAL);
                    found.writes();
                }
                if scope != Scope::Global {
                    variables::assign(name, kind, found);
                }
                // The tracker tells the value that DEFAULT stands for, which may need a privilege to be set.
                if kind == Variable::Replication && reader.peek_keyword() == Keyword::Default {
                    found.pin(PinReason::ReplicationVariable);
                }
            }
        }
        expression::scan(reader, found, Until::Comma, Calls::All);
        if !reader.accept_mark(b',') {
            return Kind::Set;
        }
    }
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
