//! Pins that end before the session does: what it holds on its backend is listed as far as it has
//! names, and when the last is let go of, the reason is gone.

use std::sync::Arc;

use membership::Key;
use session::statement::{Holding, Kind, PinReason, PinReasons, Statement, TableName, Traits};
use wire::{Piece, ServerStatus};

use crate::Engine;
use crate::backend::ClientCommand;
use crate::client::Client;
use crate::prepared::Prepared;

/// A temporary table: schema and name.
type QualifiedName = (Option<Arc<[u8]>>, Box<[u8]>);

/// What a pinned session holds.
#[derive(Debug, Default)]
pub(crate) struct Holdings {
    tables: Vec<QualifiedName>,
    handlers: Vec<Box<[u8]>>,
    /// User-level locks, each as often as it was got.
    locks: u32,
    /// Statements of the binary protocol.
    pub(crate) prepared: Vec<Prepared>,
    /// The last of them, unless preparing another has failed since.
    pub(crate) last_prepared: Option<u32>,
    /// Of these, more may be held than is listed: they last until the session ends or is reset.
    uncertain: PinReasons,
}

/// What a command does to what is held, and the row it is answered with, which may come in parts.
pub(crate) struct Effect {
    act: Act,
    row: Vec<u8>,
}

/// What a command does.
enum Act {
    Text(Holding),
    /// COM_STMT_PREPARE of this, whose id the answer tells.
    Prepares(Prepared),
}

/// The header byte and the id of a prepared statement.
const PREPARED: usize = 5;

/// A row with the number one and nothing else.
const ONE: &[u8] = b"\x011";

impl Effect {
    /// What a text does.
    pub(crate) fn of_text(holding: Holding) -> Self {
        let (act, row) = (Act::Text(holding), Vec::new());
        Self { act, row }
    }

    /// What preparing a statement does.
    pub(crate) fn prepares(prepared: Prepared) -> Self {
        let (act, row) = (Act::Prepares(prepared), Vec::new());
        Self { act, row }
    }

    /// The id of the statement that was prepared.
    fn id(&self) -> Option<u32> {
        self.row
            .get(1..5)?
            .first_chunk()
            .copied()
            .map(u32::from_le_bytes)
    }

    /// The beginning of a row, or the rest of it. What was the rest of something before it is forgotten.
    pub(crate) fn row(&mut self, piece: &Piece<'_>) {
        let bytes = match piece {
            Piece::Rest(bytes) => bytes,
            _ => {
                self.row.clear();
                piece.payload()
            }
        };
        // What is longer than either needs is not looked at.
        let room = PREPARED.saturating_sub(self.row.len());
        self.row.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}

/// The reasons whose end is seen from the list.
const LISTED: [PinReason; 4] = [
    PinReason::Prepared,
    PinReason::TemporaryTable,
    PinReason::Handler,
    PinReason::UserLock,
];

/// True if the text must be looked at for what it takes hold of or lets go of.
pub(crate) fn concerns(statement: &Statement) -> bool {
    statement.traits.intersects(Traits::RELEASES)
        || LISTED.iter().any(|&reason| statement.pins.contains(reason))
}

impl Client {
    /// A statement is about to be sent whose effect on what is held cannot be told from its text.
    pub(crate) fn holds_unseen(&mut self, statement: &Statement) {
        let renames = statement.kind == Kind::Ddl && self.pins.contains(PinReason::TemporaryTable);
        let unseen = LISTED.into_iter().filter(|&reason| {
            reason != PinReason::Prepared && statement.pins.contains(reason)
                || renames && reason == PinReason::TemporaryTable
        });
        let unseen: PinReasons = unseen.collect();
        if !unseen.is_empty() {
            self.holdings.get_or_insert_default().uncertain |= unseen;
        }
    }

    /// The reasons that are over with the answer to `command`.
    fn ended(&mut self, command: &ClientCommand, failed: bool) -> PinReasons {
        let mut ended = PinReasons::NONE;
        if !failed && command.kind != Kind::Multiple {
            let sent = (command.kind, command.traits);
            ended = released(sent, command.in_transaction, self.status);
        }
        if failed && command.kind == Kind::Lock && command.pins.contains(PinReason::LockTables) {
            // It was the first, and has locked nothing.
            ended.insert(PinReason::LockTables);
        }
        if let Some(effect) = &command.effect {
            let schema = self.session.schema.clone();
            let holdings = self.holdings.get_or_insert_default();
            if !failed {
                holdings.take(effect, schema);
            } else if matches!(effect.act, Act::Prepares(_)) {
                holdings.last_prepared = None;
            }
            ended |= holdings.let_go();
        }
        ended
            .iter()
            .filter(|&reason| self.pins.contains(reason))
            .collect()
    }
}

/// The reasons that a statement which succeeded has ended, whatever was held.
fn released(
    (kind, traits): (Kind, Traits),
    was_in_transaction: bool,
    status: ServerStatus,
) -> PinReasons {
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
    let completes = matches!(kind, Kind::Commit | Kind::Rollback);
    if completes && was_in_transaction && !status.contains(ServerStatus::IN_TRANS) {
        ended.insert(PinReason::OneShotTransaction);
    }
    ended
}

impl Holdings {
    /// Takes over what a statement did.
    fn take(&mut self, effect: &Effect, schema: Option<Arc<[u8]>>) {
        let holding = match &effect.act {
            Act::Text(holding) => holding,
            Act::Prepares(prepared) => {
                self.last_prepared = effect.id();
                let named = effect.id().map(|id| Prepared { id, ..*prepared });
                return self.prepared.extend(named);
            }
        };
        let is_one = effect.row == ONE;
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
            Holding::ReadsHandler => {}
            Holding::GetsLock => self.locks += u32::from(is_one),
            Holding::ReleasesLock => self.locks = self.locks.saturating_sub(u32::from(is_one)),
            Holding::ReleasesAllLocks => {
                self.locks = 0;
                self.uncertain.remove(PinReason::UserLock);
            }
        }
    }

    /// The listed reasons for which nothing is held.
    fn let_go(&self) -> PinReasons {
        let held = [
            !self.prepared.is_empty(),
            !self.tables.is_empty(),
            !self.handlers.is_empty(),
            self.locks > 0,
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

impl Engine {
    /// Takes back the reasons to be pinned that ended with this answer.
    pub(crate) fn end_pins(&mut self, key: Key, command: &ClientCommand, failed: bool) {
        let Some(client) = self.clients.get_mut(key) else {
            return;
        };
        if client.pins.is_empty() {
            return;
        }
        let ended = client.ended(command, failed);
        if ended.is_empty() {
            return;
        }
        ended.iter().for_each(|reason| client.pins.remove(reason));
        self.counters.pins_ended += 1;
        if client.pins.is_empty() {
            client.unpin();
            // Should more be left than was listed, nobody else may find it.
            if let Some(backend) = client.backend.and_then(|key| self.pool.get_mut(key)) {
                backend.dirty = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use session::statement::{Dialect, Flavor, classify};

    use super::*;

    #[test]
    fn what_a_statement_releases() {
        const TABLES: &[PinReason] = &[PinReason::LockTables];
        const ALL_TABLES: &[PinReason] = &[PinReason::LockTables, PinReason::GlobalReadLock];
        for (text, ended) in [
            ("UNLOCK TABLES", ALL_TABLES),
            // The global read lock stays.
            ("BEGIN", TABLES),
            ("BEGIN WORK", TABLES),
            ("START TRANSACTION READ ONLY", TABLES),
            ("START TRANSACTION WITH CONSISTENT SNAPSHOT", TABLES),
            ("COMMIT", &[]),
            ("ROLLBACK", &[]),
            ("SET autocommit=0", &[]),
            ("BEGIN NOT ATOMIC SELECT 1; END", &[]),
            ("FLUSH TABLES", &[]),
            ("XA COMMIT 'x'", &[PinReason::Xa]),
        ] {
            let dialect = Dialect::new(Flavor::MariaDb, 101_119);
            let found = classify(text.as_bytes(), &dialect);
            let sent = (found.kind, found.traits);
            let expected: PinReasons = ended.iter().copied().collect();
            assert_eq!(
                released(sent, false, ServerStatus::AUTOCOMMIT),
                expected,
                "{text}"
            );
        }
    }
}
