//! Pins end when the session no longer has what they were for.

use std::sync::Arc;

use carry::effect::{Act, Effect};
use carry::ending::Ending;
use carry::holdings::{LISTED, released};
use carry::locks::effect::may_release_unseen;
use carry::locks::registry::LockRegistry;
use membership::Key;
use session::statement::{Kind, PinReason, PinReasons, Statement, Traits};
use wire::ServerStatus;

use crate::record::backend::{ClientCommand, PreparedXa};
use crate::record::client::Client;
use crate::record::pair::Pair;
use crate::record::records::Records;
use crate::record::shared::PinLimits;

/// The reasons that are about prepared statements.
const OF_STATEMENTS: [PinReason; 2] = [PinReason::Prepared, PinReason::Cursor];

/// When one of these ends, nothing is left behind.
const LEAVE_NOTHING: [PinReason; 4] = [
    PinReason::AutoIsNull,
    PinReason::Prepared,
    PinReason::Cursor,
    PinReason::Transaction,
];

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

impl Records {
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
