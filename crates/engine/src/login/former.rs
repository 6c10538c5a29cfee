//! COM_CHANGE_USER that is refused: MySQL closes the connection, MariaDB leaves it to the account of before, with a
//! session that has begun anew. After three of them MariaDB refuses the command without a look at it.

use std::sync::Arc;

use events::Io;
use membership::Key;
use session::statement::Flavor;

use crate::backend::PoolKey;
use crate::backend::facts::Anew;
use crate::client::State;
use crate::errors::ClientError;
use crate::report::counters::DisconnectReason;
use crate::{Engine, Mail, Turn};

/// So often a connection may be refused. Source: measured on MariaDB 10.11.
pub(crate) const REFUSED_MAX: u8 = 3;

/// Who a client is until it has proved to be somebody else.
pub(crate) struct Former {
    /// Account number.
    account: u32,
    /// What the account's limits know it by.
    user: Box<[u8]>,
    /// What its backends have in common.
    key: PoolKey,
    /// Default schema.
    schema: Option<Arc<[u8]>>,
}

impl Engine {
    /// Who the client, which asks to be somebody, is meanwhile. `None` if it is closed when it is refused.
    pub(crate) fn former(&self, key: Key) -> Option<Former> {
        let client = self.clients.get(key)?;
        let account = self.accounts.account(client.account)?;
        // The limits of who was let in without a name go by the name that it gave, which is not known any more.
        let is_known = !account.user().is_empty();
        // As long as no server has said which one it is, the connection stays.
        let facts = self.facts.as_ref();
        let is_mysql = facts.is_some_and(|facts| facts.told && facts.flavor == Flavor::MySql);
        (is_known && !is_mysql).then(|| Former {
            account: client.account,
            user: account.user().as_bytes().into(),
            key: self.pool.key(client.key).clone(),
            schema: client.session.schema.clone(),
        })
    }

    /// Whether the client may not even ask any more to be somebody else.
    pub(crate) fn asks_no_more(&self, key: Key) -> bool {
        let client = self.clients.get(key);
        client.is_some_and(|client| client.origin.changes_refused >= REFUSED_MAX)
    }

    /// A login was refused, and the client was told: it is again who it was before, or ends.
    pub(crate) fn login_refused<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        (error, reason): (&ClientError, DisconnectReason),
    ) {
        self.counters.logins_refused += 1;
        let login = self.clients.login_mut(key);
        let former = login.and_then(|login| login.former.take());
        let Some(former) = former.filter(|_| reason == DisconnectReason::LoginRefused) else {
            return self.close_client(turn, key, reason);
        };
        self.give_up_login(turn, key);
        // What it asked for is not remembered, and neither is what it had.
        let collation = self.facts.as_ref().map_or(0, |facts| facts.collation);
        self.reset_session(key, collation, Anew::ChangeUser);
        let id = self.key_id(&former.key);
        let Some(client) = self.clients.get_mut(key) else {
            return;
        };
        (client.account, client.key) = (former.account, id);
        client.session.schema = former.schema;
        client.login = None;
        client.origin.changes_refused = client.origin.changes_refused.saturating_add(1);
        if !self.take_seat(turn, key, &former.user) {
            return self.close_client(turn, key, reason);
        }
        self.keys[id.0 as usize].sessions += 1;
        self.follow_schema(key);
        self.keep_refusal(key, error, false);
        self.clients.move_to(key, State::Idle, turn.now);
        self.consume_inbox(turn, key);
    }

    /// Lets go of all that the client has or waits for in order to log in.
    fn give_up_login<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        self.leave_relay(turn, key);
        if self.clients.state(key).is_some_and(State::waits) {
            self.drop_first_command(key);
        }
        if let Some(client) = self.clients.get_mut(key)
            && let Some(backend) = client.backend.take()
        {
            let pins = client.pins;
            self.leave_behind(turn, backend, pins);
        }
        self.leave_key(key);
    }
}
