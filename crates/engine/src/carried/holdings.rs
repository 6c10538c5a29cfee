//! Pins that end before the session does: what it holds on its backend is listed as far as it has
//! names, and when the last is let go of, the reason is gone.

use std::sync::Arc;

use membership::Key;
use session::statement::{
    Holding, Kind, LockAct, PinReason, PinReasons, Statement, TableName, Traits,
};
use wire::ServerStatus;

use crate::Engine;
use crate::backend::{ClientCommand, PreparedXa};
use crate::carried::effect::{Act, Effect};
use crate::client::Client;
use crate::commands::answers::Ending;
use crate::locks::answer::Returned;
use crate::locks::effect::{LockEffect, may_release_unseen};
use crate::locks::held::HeldLocks;
use crate::locks::registry::{LockRegistry, LockTicket};
use crate::pair::Pair;
use crate::prepared::by_name::{ByName, Texts};
use crate::shared::PinLimits;

/// A temporary table: schema and name.
type QualifiedName = (Option<Arc<[u8]>>, Box<[u8]>);

/// What a pinned session holds.
#[derive(Debug, Default)]
pub(crate) struct Holdings {
    tables: Vec<QualifiedName>,
    handlers: Vec<Box<[u8]>>,
    /// User-level locks.
    locks: HeldLocks,
    /// Texts that are prepared by name.
    pub(crate) texts: Texts,
    /// Prepared statements that stay on this backend, by the client's ids.
    pub(crate) prepared: Vec<u32>,
    /// Those with an open cursor.
    pub(crate) cursors: Vec<u32>,
    /// Of these, more may be held than is listed: they last until the session ends or is reset.
    uncertain: PinReasons,
}

/// The reasons whose end is seen from the list.
const LISTED: [PinReason; 6] = [
    PinReason::Prepared,
    PinReason::Cursor,
    PinReason::TemporaryTable,
    PinReason::Handler,
    PinReason::UserLock,
    PinReason::TextPrepared,
];

/// Those of them that are about prepared statements.
const OF_STATEMENTS: [PinReason; 2] = [PinReason::Prepared, PinReason::Cursor];

/// When one of these ends, nothing is left behind.
const LEAVE_NOTHING: [PinReason; 4] = [
    PinReason::AutoIsNull,
    PinReason::Prepared,
    PinReason::Cursor,
    PinReason::Transaction,
];

/// True if the text must be looked at for what it takes hold of or lets go of.
pub(crate) fn concerns(statement: &Statement) -> bool {
    statement.traits.intersects(Traits::RELEASES)
        || LISTED.iter().any(|&reason| statement.pins.contains(reason))
}

impl Client {
    /// A statement is about to be sent. What is held is uncertain from then on if its effect cannot be told from its text.
    pub(crate) fn holds_unseen(&mut self, statement: &Statement, effect: Option<&Effect>) {
        if effect.is_some_and(Effect::is_of_text) {
            return;
        }
        if let Some(holdings) = &mut self.holdings
            && may_release_unseen(statement)
        {
            holdings.locks.lose_names();
        }
        let renames = statement.kind == Kind::Ddl && self.pins.contains(PinReason::TemporaryTable);
        let unseen = LISTED.into_iter().filter(|&reason| {
            !OF_STATEMENTS.contains(&reason) && statement.pins.contains(reason)
                || renames && reason == PinReason::TemporaryTable
        });
        let unseen: PinReasons = unseen.collect();
        if !unseen.is_empty() {
            self.holdings.get_or_insert_default().uncertain |= unseen;
        }
    }

    /// A prepared statement is closed. True if it was a reason to be pinned, which is over.
    pub(crate) fn let_go_of_statement(&mut self, id: u32) -> bool {
        let Some(holdings) = &mut self.holdings else {
            return false;
        };
        let held = holdings.prepared.contains(&id) || holdings.cursors.contains(&id);
        holdings.prepared.retain(|&prepared| prepared != id);
        holdings.cursors.retain(|&cursor| cursor != id);
        let over = holdings.let_go();
        for reason in OF_STATEMENTS {
            if held && over.contains(reason) {
                self.pins.remove(reason);
            }
        }
        if held && self.pins.is_empty() {
            self.unpin();
        }
        held
    }

    /// The reasons that are over with the answer to `command`.
    fn ended(
        &mut self,
        command: &ClientCommand,
        ending: &Ending,
        locks: &Arc<LockRegistry>,
    ) -> PinReasons {
        let failed = matches!(ending, Ending::Err(_));
        let mut ended = PinReasons::NONE;
        if !failed && command.kind != Kind::Multiple {
            let sent = (command.kind, command.traits);
            ended = released(sent);
        }
        if self.status.contains(ServerStatus::AUTOCOMMIT) {
            ended.insert(PinReason::Transaction);
        }
        if failed && command.kind == Kind::Lock && command.pins.contains(PinReason::LockTables) {
            // It was the first, and has locked nothing.
            ended.insert(PinReason::LockTables);
        }
        if self.auto_is_null() == Some(false) {
            ended.insert(PinReason::AutoIsNull);
        }
        if let Some(effect) = &command.effect {
            let schema = self.session.schema.clone();
            let holdings = self.holdings.get_or_insert_default();
            match (effect.act(), failed) {
                (Act::Lock(lock), _) => holdings.take_lock(lock, failed, locks),
                (Act::ByName(effect), _) => holdings.take_text(effect, ending.code()),
                (Act::Text(holding), false) => holdings.take(holding, schema),
                _ => {}
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
fn released((kind, traits): (Kind, Traits)) -> PinReasons {
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
    fn take(&mut self, holding: &Holding, schema: Option<Arc<[u8]>>) {
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
    fn take_lock(&mut self, effect: &LockEffect, failed: bool, registry: &Arc<LockRegistry>) {
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
    fn take_text(&mut self, effect: &ByName, error: Option<u16>) {
        if !self.texts.take(effect, error) {
            self.uncertain.insert(PinReason::TextPrepared);
        }
    }

    /// True if there may be texts that are not listed.
    pub(crate) fn has_texts_unseen(&self) -> bool {
        self.uncertain.contains(PinReason::TextPrepared)
    }

    /// The listed reasons for which nothing is held.
    fn let_go(&self) -> PinReasons {
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

impl Engine {
    /// Takes the right to be pinned for a session that was pinned late.
    pub(crate) fn keep_pin(&mut self, client: Key) {
        let client = self.clients.get_mut(client);
        let Some(client) = client.filter(|client| !client.pins.is_empty()) else {
            return;
        };
        if client.pin_slot.is_none()
            && let Some(account) = self.accounts.account(client.account)
        {
            client.pin_slot = self.shared.pin(&account.pinned, PinLimits::NONE).ok();
        }
    }
}

impl Pair<'_> {
    /// Without autocommit, no flag tells of a transaction before tables with transactions are used. A savepoint may come
    /// first, also in a routine; and of what was written to other tables, and of temporary tables that were dropped,
    /// ROLLBACK says that it stays so.
    fn keep_transaction(&mut self, command: &ClientCommand, failed: bool) {
        let told = ServerStatus::AUTOCOMMIT | ServerStatus::IN_TRANS;
        let wrote = match command.kind {
            Kind::Ddl => !command.traits.contains(Traits::IMPLICIT_COMMIT),
            // What it has put into a variable.
            Kind::Select => false,
            _ => command.counts.affected > 0,
        };
        let called = command.kind == Kind::Call || command.pins.contains(PinReason::Call);
        let began = wrote || called || command.traits.contains(Traits::SETS_SAVEPOINT);
        // Of several statements, another one may have failed.
        let done = began && (!failed || command.kind == Kind::Multiple);
        if done && !self.client.status.intersects(told) {
            self.pin_late(PinReason::Transaction);
        }
    }

    /// Takes back the reasons to be pinned that ended with this answer, and takes on the one that it has shown.
    pub(crate) fn end_pins(
        &mut self,
        command: &ClientCommand,
        ending: &Ending,
        locks: &Arc<LockRegistry>,
    ) {
        self.keep_transaction(command, matches!(ending, Ending::Err(_)));
        self.keep_insert_id_for_null();
        let client = &mut *self.client;
        if client.pins.is_empty() {
            return;
        }
        let ended = client.ended(command, ending, locks);
        if ended.is_empty() {
            return;
        }
        ended.iter().for_each(|reason| client.pins.remove(reason));
        self.counters.pins_ended += 1;
        // Should more be left than was listed, nobody else may find it.
        let leaves = ended.iter().any(|reason| !LEAVE_NOTHING.contains(&reason));
        self.backend.dirty |= leaves;
        if ended.contains(PinReason::Xa) {
            self.backend.prepared_xa = PreparedXa::No;
        }
        if client.pins.is_empty() {
            client.unpin();
        }
    }
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
