//! Limits that statements set (rule 21): the account's right to set them is asked from the server, the
//! server's part of the statement runs first, and its OK is told once the limits are kept.
//!
//! Owns the way of such a statement through the engine. Where limits are kept, and that they come into
//! force on all workers, is the matter of whoever is named to [`Shared::keep_limits_with`].
//!
//! [`Shared::keep_limits_with`]: crate::Shared::keep_limits_with

use admission::AccountName;
use events::Io;
use membership::Key;
use session::statement::{
    AccountRef, AccountStatement, Kind, Limits, Statement, account_statement, names_limits,
};
use wire::{Command, TextResultSet};

use crate::ask::Ask;
use crate::backend::Due;
use crate::client::State;
use crate::commands::rewrite::Rewrite;
use crate::commands::{Packet, Taken};
use crate::errors::ClientError;
use crate::permits::grants::creates_users;
use crate::{Engine, Mail, Turn};

/// What the account may do, by itself and by the roles that are active. Source: "Resource limits" in the manuals:
/// who may create an account may limit it.
const GRANTS: &[u8] = b"SHOW GRANTS";

/// What becomes of limits, by a statement that the server has accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LimitsChange {
    /// These accounts have these limits; what is not named stays as it is.
    Set(Vec<AccountName>, Limits),
    /// These accounts are gone.
    Drop(Vec<AccountName>),
    /// These accounts have other names.
    Rename(Vec<(AccountName, AccountName)>),
}

/// A change that is to be kept and put in force; the client that asked is to be told by [`Mail::LimitsKept`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitsOrder {
    /// What changes.
    pub change: LimitsChange,
    /// The worker and the client that asked; `None` if it hung up.
    pub asker: Option<(usize, Key)>,
}

/// A statement that changes limits, before it was sent.
pub(crate) struct Intent {
    change: LimitsChange,
    /// What the server gets in its place; `None`: the text as it is.
    server_text: Option<Vec<u8>>,
    right: Right,
}

/// Whether the account may set limits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Right {
    /// The server is to be asked.
    Unknown,
    /// It was asked.
    Asked,
    /// It may, or the server checks the whole of the statement by itself.
    Granted,
}

/// What a statement changes that was sent, and its OK once that has come.
pub(crate) struct Keeping {
    /// Of limits, if any.
    change: Option<LimitsChange>,
    /// The accounts are to be read again.
    pub reads_accounts: bool,
    /// The OK, as the client will be told.
    pub answer: Vec<u8>,
}

/// An OK that is to be told once what the statement changed is in force.
pub(crate) struct Kept {
    answer: Vec<u8>,
    /// The accounts are to be read again before.
    reads_accounts: bool,
}

impl Keeping {
    /// Of a statement after which nothing but the accounts has changed.
    pub(crate) fn of_accounts() -> Self {
        Self {
            change: None,
            reads_accounts: true,
            answer: Vec::new(),
        }
    }
}

impl Engine {
    /// Looks at a statement that may set limits. `None` if it goes on its way, perhaps with an intent;
    /// else what became of it.
    pub(crate) fn limits_command<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        packet: Packet<'_>,
        statement: &Statement,
    ) -> Option<Taken> {
        let text = packet.text();
        let refused = if packet.payload.first() == Some(&(Command::StmtPrepare as u8)) {
            names_limits(text).then(ClientError::limits_not_alone)
        } else if matches!(
            statement.kind,
            Kind::Account | Kind::Prepared | Kind::Multiple
        ) {
            self.intend(key, text).err()
        } else {
            None
        };
        let error = refused?;
        self.answer_err(turn, key, &error);
        self.touch(key, turn.now);
        Some(Taken::Now)
    }

    /// Notes what a text is to change.
    fn intend(&mut self, key: Key, text: &[u8]) -> Result<(), ClientError> {
        let (Some(client), Some(facts)) = (self.clients.get(key), &self.known.facts) else {
            return Ok(());
        };
        let Some(dialect) = facts.dialect(&client.session) else {
            return Ok(());
        };
        let own = self.accounts.account(client.account);
        let own = own.map(|account| account.name());
        let name = |account: &AccountRef| account_name(account, own);
        let names = |accounts: &[AccountRef]| accounts.iter().map(name).collect::<Option<Vec<_>>>();
        let (change, server_text, right) = match account_statement(text, &dialect) {
            AccountStatement::Other => return Ok(()),
            AccountStatement::Wrong(error) => {
                return Err(ClientError::syntax(&error, facts.flavor));
            }
            AccountStatement::NotAlone => return Err(ClientError::limits_not_alone()),
            AccountStatement::Limits {
                accounts,
                limits,
                server_text,
            } => {
                let names = names(&accounts).ok_or_else(ClientError::limits_unreadable_name)?;
                let change = LimitsChange::Set(names, limits);
                (Some(change), Some(server_text), Right::Unknown)
            }
            AccountStatement::Drop(accounts) => (
                names(&accounts).map(LimitsChange::Drop),
                None,
                Right::Granted,
            ),
            AccountStatement::Rename(pairs) => {
                let pairs = pairs
                    .iter()
                    .map(|(from, to)| Some((name(from)?, name(to)?)));
                let pairs = pairs.collect::<Option<Vec<_>>>();
                (pairs.map(LimitsChange::Rename), None, Right::Granted)
            }
        };
        // A name that cannot be read has no limits.
        if let Some(change) = change {
            let intent = Intent {
                change,
                server_text,
                right,
            };
            self.intents.insert(key, intent);
        }
        Ok(())
    }

    /// Asks the backend whether the account may set limits. False if nothing is to be asked.
    pub(crate) fn ask_for_right<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) -> bool {
        let Some(intent) = self.intents.get_mut(&key) else {
            return false;
        };
        if intent.right == Right::Granted {
            return false;
        }
        let backend = self.clients.get(key).and_then(|client| client.backend);
        let Some(backend) = backend.and_then(|key| self.pool.get_mut(key)) else {
            return false;
        };
        intent.right = Right::Asked;
        backend.ask(turn.io.outbox(backend.handle), Ask::Right, GRANTS);
        backend.due |= Due::COMMAND;
        true
    }

    /// The backend said whether the account may set limits. If not, its statement is not run.
    pub(crate) fn learn_right<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        backend: Key,
        rows: Option<&TextResultSet>,
    ) {
        let Some(backend) = self.pool.get_mut(backend) else {
            return;
        };
        let awaited = backend.due.contains(Due::COMMAND);
        let Some(client) = backend.client.filter(|_| awaited) else {
            return;
        };
        let rows = rows.into_iter().flat_map(TextResultSet::rows);
        let mut lines = rows.filter_map(|row| row.first()?.as_deref());
        let granted = lines.any(creates_users);
        if granted {
            if let Some(intent) = self.intents.get_mut(&client) {
                intent.right = Right::Granted;
            }
            return;
        }
        backend.due -= Due::COMMAND;
        self.answer_err(turn, client, &ClientError::may_not_create_users());
        self.drop_first_command(client);
    }

    /// The statement is sent now: what it changes, and what the server gets in place of its text.
    pub(crate) fn take_intent(&mut self, key: Key) -> (Option<Box<Keeping>>, Option<Rewrite>) {
        if self.intents.is_empty() {
            return (None, None);
        }
        let Some(intent) = self.intents.remove(&key) else {
            return (None, None);
        };
        let keeping = Keeping {
            change: Some(intent.change),
            reads_accounts: false,
            answer: Vec::new(),
        };
        let text = intent.server_text.map(Rewrite::of_text);
        (Some(Box::new(keeping)), text)
    }

    /// A statement will not be sent.
    pub(crate) fn forget_intent(&mut self, key: Key) {
        if !self.intents.is_empty() {
            self.intents.remove(&key);
        }
    }

    /// The server has accepted a statement: its limits are to be kept before that is told.
    pub(crate) fn keep_limits<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        client: Key,
        keeping: Keeping,
    ) {
        let kept = Kept {
            answer: keeping.answer,
            reads_accounts: keeping.reads_accounts,
        };
        self.kept.insert(client, kept);
        let Some(change) = keeping.change else {
            return self.limits_kept(turn, client, Ok(()));
        };
        let order = LimitsOrder {
            change,
            asker: Some((self.worker, client)),
        };
        if !self.shared.keep_limits(order) {
            let told = Mail::LimitsKept(client, Err("nobody keeps them here".to_owned()));
            // Mail to oneself arrives as long as this runs.
            let _arrives = turn.io.post(self.worker, told);
        }
    }

    /// The same of a statement whose client has hung up: the server has carried it out, so its limits are in force.
    pub(crate) fn keep_limits_for_nobody(&mut self, keeping: Keeping) {
        if keeping.reads_accounts {
            self.ask_for_accounts_soon();
        }
        let change = keeping.change.map(|change| LimitsOrder {
            change,
            asker: None,
        });
        if let Some(order) = change
            && !self.shared.keep_limits(order)
        {
            tracing::error!("limits of a statement could not be kept: nobody keeps them here");
        }
    }

    /// True if a client's next command must wait until its limits are kept.
    pub(crate) fn awaits_limits<I: Io<Mail>>(&mut self, turn: &Turn<'_, I>, client: Key) -> bool {
        let awaits = !self.kept.is_empty() && self.kept.contains_key(&client);
        if awaits {
            self.clients.move_to(client, State::Asking, turn.now);
        }
        awaits
    }

    /// The limits were kept, or why they could not be.
    pub(crate) fn limits_kept<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        client: Key,
        kept: Result<(), String>,
    ) {
        // It may have hung up.
        let Some(waits) = self.kept.get_mut(&client) else {
            return;
        };
        if kept.is_ok() && std::mem::take(&mut waits.reads_accounts) {
            return self.ask_for_accounts(turn, client);
        }
        let Some(Kept { answer, .. }) = self.kept.remove(&client) else {
            return;
        };
        match (kept, self.clients.get(client)) {
            (Ok(()), Some(record)) => {
                turn.io.outbox(record.handle).extend_from_slice(&answer);
            }
            (Err(why), _) => self.answer_err(turn, client, &ClientError::limits_not_kept(&why)),
            (Ok(()), None) => return,
        }
        // While its backend is asked for what only that knows, the session goes on when that was told.
        if self.clients.state(client) == Some(State::Asking) {
            self.asked(turn, client);
        }
    }
}

/// The account that a statement of the account `own` names; `None` if it is no text.
fn account_name(account: &AccountRef, own: Option<&AccountName>) -> Option<AccountName> {
    match account {
        AccountRef::Current => own.cloned(),
        AccountRef::Named { user, host } => {
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
            Some(AccountName::new(text(user)?, text(host)?))
        }
    }
}
