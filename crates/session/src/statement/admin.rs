//! Statements that look after the server: FLUSH, BACKUP, tables' upkeep, replication, plugins.

use super::findings::Findings;
use super::keyword::Keyword;
use super::kind::{Kind, Traits};
use super::pins::PinReason;
use super::reader::Reader;

/// An administrative statement that commits.
pub(super) fn committing(found: &mut Findings) -> Kind {
    found.add(Traits::IMPLICIT_COMMIT);
    Kind::Admin
}

/// Behind any word that no other family begins with.
pub(super) fn admin(keyword: Keyword, reader: &mut Reader<'_>, found: &mut Findings) -> Kind {
    match keyword {
        Keyword::Flush => flush(reader, found),
        Keyword::Backup => backup(reader, found),
        Keyword::Binlog => {
            found.pin(PinReason::ReplicationVariable);
            Kind::Admin
        }
        Keyword::Optimize
        | Keyword::Check
        | Keyword::Repair
        | Keyword::Cache
        | Keyword::Reset
        | Keyword::Change
        | Keyword::Stop
        | Keyword::Install
        | Keyword::Uninstall
        | Keyword::Import
        | Keyword::Clone
        | Keyword::Restart
        | Keyword::Shutdown => committing(found),
        Keyword::Checksum | Keyword::Purge => Kind::Admin,
        _ => Kind::Unknown,
    }
}

/// Behind FLUSH: some forms hold locks until UNLOCK TABLES.
fn flush(reader: &mut Reader<'_>, found: &mut Findings) -> Kind {
    let mut names = false;
    while !reader.at_end() {
        let token = reader.next();
        let keyword = token.keyword();
        if token.is_word("status") && !names {
            found.pin(PinReason::SessionStatus);
        }
        if token.is_word("user_variables") && !names {
            found.add(Traits::FLUSHES_USER_VARIABLES);
        }
        names |= matches!(keyword, Keyword::Table | Keyword::Tables);
        if keyword == Keyword::Hosts && !names {
            found.add(Traits::FLUSHES_HOSTS);
        }
        let locks = matches!(
            (keyword, reader.peek_keyword()),
            (Keyword::With, Keyword::Read) | (Keyword::For, Keyword::Export)
        );
        if locks {
            found.pin(PinReason::GlobalReadLock);
        }
    }
    committing(found)
}

/// Behind BACKUP.
fn backup(reader: &mut Reader<'_>, found: &mut Findings) -> Kind {
    let stage = reader.accept(Keyword::Stage);
    let ends = match reader.peek_keyword() {
        Keyword::End => stage,
        Keyword::Unlock => true,
        _ => false,
    };
    if !ends {
        found.pin(PinReason::BackupLock);
    }
    committing(found)
}
