//! Pins that end before the session does: what it holds on its backend is listed as far as it has
//! names, and when the last is let go of, the reason is gone.

use std::sync::Arc;

use session::statement::{
    Holding, Kind, LockAct, PinReason, PinReasons, Statement, TableName, Traits,
};

use crate::locks::answer::Returned;
use crate::locks::effect::LockEffect;
use crate::locks::held::HeldLocks;
use crate::locks::registry::{LockRegistry, LockTicket};
use crate::prepared::by_name::{ByName, Texts};

/// A temporary table: schema and name.
type QualifiedName = (Option<Arc<[u8]>>, Box<[u8]>);

/// What a pinned session holds.
#[derive(Debug, Default)]
pub struct Holdings {
    tables: Vec<QualifiedName>,
    handlers: Vec<Box<[u8]>>,
    /// User-level locks.
    pub locks: HeldLocks,
    /// Texts that are prepared by name.
    pub texts: Texts,
    /// Prepared statements that stay on this backend, by the client's ids.
    pub prepared: Vec<u32>,
    /// Prepared statements with an open cursor, by the client's ids.
    pub cursors: Vec<u32>,
    /// Of these, more may be held than is listed: they last until the session ends or is reset.
    pub uncertain: PinReasons,
}

/// The reasons whose end is seen from the list.
pub const LISTED: [PinReason; 6] = [
    PinReason::Prepared,
    PinReason::Cursor,
    PinReason::TemporaryTable,
    PinReason::Handler,
    PinReason::UserLock,
    PinReason::TextPrepared,
];

/// True if the text must be looked at for what it takes hold of or lets go of.
pub fn concerns(statement: &Statement) -> bool {
    statement.traits.intersects(Traits::RELEASES)
        || LISTED.iter().any(|&reason| statement.pins.contains(reason))
}

/// The reasons that a statement which succeeded has ended, whatever was held.
pub fn released((kind, traits): (Kind, Traits)) -> PinReasons {
    let mut ended = PinReasons::NONE;
    if traits.contains(Traits::RELEASES_TABLE_LOCKS) {
        ended.insert(PinReason::LockTables);
        ended.insert(PinReason::GlobalReadLock);
    }
    if kind == Kind::Begin {
        // LOCK TABLES ends with the next transaction. FLUSH TABLES WITH READ LOCK does not.
        ended.insert(PinReason::LockTables);
    }
    if traits.contains(Traits::XA_ENDS) {
        ended.insert(PinReason::Xa);
    }
    if matches!(kind, Kind::Begin | Kind::Commit | Kind::Rollback)
        || kind == Kind::Ddl && traits.contains(Traits::IMPLICIT_COMMIT)
    {
        ended.insert(PinReason::Transaction);
    }
    ended
}

impl Holdings {
    /// Takes over what a statement did.
    pub fn take(&mut self, holding: &Holding, schema: Option<Arc<[u8]>>) {
        match holding {
            Holding::CreatesTable(name) => {
                let name = qualified(name, schema);
                if !self.tables.contains(&name) {
                    self.tables.push(name);
                }
            }
            Holding::DropsTables(names) => {
                for name in names {
                    let name = qualified(name, schema.clone());
                    self.tables.retain(|table| *table != name);
                }
            }
            Holding::OpensHandler(name) => self.handlers.push(name.clone()),
            Holding::ClosesHandler(name) => self.handlers.retain(|handler| handler != name),
            Holding::ReadsHandler | Holding::Lock(_) => {}
        }
    }

    /// Takes over what a call of a lock's function did.
    pub fn take_lock(&mut self, effect: &LockEffect, failed: bool, registry: &Arc<LockRegistry>) {
        let (ticket, returned) = (effect.take_ticket(), effect.returned());
        if failed {
            // The next who waits for the lock has its turn.
            return;
        }
        let certain = match (effect.does, returned) {
            (LockAct::Gets, Returned::One) => {
                self.locks.got(effect.name.as_ref(), ticket, registry);
                true
            }
            (LockAct::Gets, Returned::Not) => {
                ticket.into_iter().for_each(LockTicket::leave_to_server);
                true
            }
            (LockAct::Gets, Returned::Untold) => {
                ticket.into_iter().for_each(LockTicket::leave_to_server);
                false
            }
            (LockAct::Releases, Returned::Not) => true,
            (LockAct::Releases, Returned::One | Returned::Untold) => {
                let is_told = returned == Returned::One;
                self.locks.released(effect.name.as_ref(), is_told)
            }
            (LockAct::ReleasesAll, _) => {
                self.locks = HeldLocks::default();
                self.uncertain.remove(PinReason::UserLock);
                true
            }
        };
        if !certain {
            self.uncertain.insert(PinReason::UserLock);
        }
    }

    /// Takes over what a statement about texts did. More than are listed are held until a reset.
    pub fn take_text(&mut self, effect: &ByName, error: Option<u16>) {
        if !self.texts.take(effect, error) {
            self.uncertain.insert(PinReason::TextPrepared);
        }
    }

    /// True if there may be texts that are not listed.
    pub fn has_texts_unseen(&self) -> bool {
        self.uncertain.contains(PinReason::TextPrepared)
    }

    /// The listed reasons for which nothing is held.
    pub fn let_go(&self) -> PinReasons {
        let held = [
            !self.prepared.is_empty(),
            !self.cursors.is_empty(),
            !self.tables.is_empty(),
            !self.handlers.is_empty(),
            !self.locks.is_empty(),
            !self.texts.is_empty(),
        ];
        LISTED
            .into_iter()
            .zip(held)
            .filter(|&(reason, held)| !held && !self.uncertain.contains(reason))
            .map(|(reason, _)| reason)
            .collect()
    }
}

fn qualified(name: &TableName, schema: Option<Arc<[u8]>>) -> QualifiedName {
    let written = name.schema.as_deref().map(Arc::from);
    (written.or(schema), name.table.clone())
}

#[cfg(test)]
mod tests {
    use session::statement::{Dialect, Flavor, classify};

    use super::*;

    #[test]
    fn what_a_statement_releases() {
        const TRANSACTION: &[PinReason] = &[PinReason::Transaction];
        const TABLES: &[PinReason] = &[PinReason::LockTables, PinReason::Transaction];
        const ALL_TABLES: &[PinReason] = &[PinReason::LockTables, PinReason::GlobalReadLock];
        for (text, ended) in [
            ("UNLOCK TABLES", ALL_TABLES),
            // The global read lock stays.
            ("BEGIN", TABLES),
            ("BEGIN WORK", TABLES),
            ("START TRANSACTION READ ONLY", TABLES),
            ("START TRANSACTION WITH CONSISTENT SNAPSHOT", TABLES),
            ("COMMIT", TRANSACTION),
            ("ROLLBACK", TRANSACTION),
            ("ROLLBACK TO s", &[]),
            ("CREATE TABLE t (a INT)", TRANSACTION),
            ("CREATE TEMPORARY TABLE t (a INT)", &[]),
            ("SET autocommit=0", &[]),
            ("BEGIN NOT ATOMIC SELECT 1; END", &[]),
            ("FLUSH TABLES", &[]),
            ("XA COMMIT 'x'", &[PinReason::Xa]),
        ] {
            let dialect = Dialect::new(Flavor::MariaDb, 101_119);
            let found = classify(text.as_bytes(), &dialect);
            let sent = (found.kind, found.traits);
            let expected: PinReasons = ended.iter().copied().collect();
            assert_eq!(released(sent), expected, "{text}");
        }
    }
}
