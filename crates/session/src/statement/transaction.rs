//! Transactions and what holds locks across statements: BEGIN, COMMIT, XA, LOCK and kin.

use super::findings::Findings;
use super::keyword::Keyword;
use super::kind::{Kind, Traits};
use super::pins::PinReason;
use super::reader::Reader;
use super::{admin, routine};

/// Behind BEGIN: a transaction, or a compound statement.
pub(super) fn begin(reader: &mut Reader<'_>, found: &mut Findings) -> Kind {
    reader.accept(Keyword::Work);
    if reader.peek_keyword() == Keyword::Not {
        return routine::compound(reader, found);
    }
    bare(reader, found);
    Kind::Begin
}

/// Behind START.
pub(super) fn start(reader: &mut Reader<'_>, found: &mut Findings) -> Kind {
    if !reader.accept(Keyword::Transaction) {
        return admin::committing(found);
    }
    if reader.accept(Keyword::Read) && !reader.accept(Keyword::Write) {
        reader.accept(Keyword::Only);
    }
    bare(reader, found);
    Kind::Begin
}

fn bare(reader: &Reader<'_>, found: &mut Findings) {
    if reader.ends_text() {
        found.add(Traits::BARE_BEGIN);
    }
}

/// Behind ROLLBACK.
pub(super) fn rollback(reader: &mut Reader<'_>, found: &mut Findings) -> Kind {
    reader.accept(Keyword::Work);
    if reader.accept(Keyword::To) {
        return Kind::Savepoint;
    }
    completion(reader, found, Kind::Rollback)
}

/// Behind COMMIT or ROLLBACK, a statement of this kind: `[WORK] [AND [NO] CHAIN] [[NO] RELEASE]`.
pub(super) fn completion(reader: &mut Reader<'_>, found: &mut Findings, kind: Kind) -> Kind {
    let mut negated = false;
    while !reader.at_end() {
        let keyword = reader.next().keyword();
        if keyword == Keyword::Release {
            found.add(match negated {
                true => Traits::KEEPS_CONNECTION,
                false => Traits::RELEASES_CONNECTION,
            });
        }
        negated = keyword == Keyword::No;
    }
    kind
}

/// Behind XA.
pub(super) fn xa(reader: &Reader<'_>, found: &mut Findings) -> Kind {
    match reader.peek_keyword() {
        Keyword::Recover => {}
        Keyword::Commit | Keyword::Rollback => found.add(Traits::XA_ENDS),
        Keyword::Start | Keyword::Begin => {
            found.add(Traits::OWN_CONDITIONS);
            found.pin(PinReason::Xa);
        }
        _ => found.pin(PinReason::Xa),
    }
    Kind::Xa
}

/// Behind LOCK.
pub(super) fn lock(reader: &Reader<'_>, found: &mut Findings) -> Kind {
    match reader.peek_keyword() {
        Keyword::Instance => found.pin(PinReason::BackupLock),
        Keyword::Table | Keyword::Tables => {
            found.pin(PinReason::LockTables);
            found.add(Traits::IMPLICIT_COMMIT);
        }
        _ => return Kind::Unknown,
    }
    Kind::Lock
}

/// Behind UNLOCK.
pub(super) fn unlock(reader: &Reader<'_>, found: &mut Findings) -> Kind {
    match reader.peek_keyword() {
        Keyword::Instance => {}
        Keyword::Table | Keyword::Tables => {
            found.add(Traits::RELEASES_TABLE_LOCKS | Traits::IMPLICIT_COMMIT);
        }
        _ => return Kind::Unknown,
    }
    Kind::Lock
}
