//! Who may log in, as it is known to this worker: following what was published, and having the database
//! asked again for those that are refused by what is known, and for statements that change it.
//!
//! Owns who waits for an answer. Who asks the database, and how often, is the matter of whoever is named
//! to [`Shared::read_accounts_with`](crate::Shared::read_accounts_with).

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use accounts::{Account, Directory};
use events::Io;
use membership::Key;
use pool::KeyId;
use session::statement::{Kind, Statement, Traits};

use crate::client::{Answered, LoginStep};
use crate::commands::settle::defines;
use crate::commands::{Packet, mentions};
use crate::errors::ClientError;
use crate::login::identity::{Asked, Claim};
use crate::permits::limits::Keeping;
use crate::{Engine, Mail, Turn};

/// Longer texts are not looked at for what they concern.
const TEXT_MAX: usize = 1_024;

/// So many who waited are dealt with at a time.
const BATCH: usize = 256;

/// The accounts are to be read, from now on; who asked is told by [`Mail::AccountsRead`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccountsOrder {
    /// The worker that asked.
    pub worker: usize,
    /// Later orders of it have greater ones; an answer to one is one to all before.
    pub ticket: u64,
}

/// Who waits for the accounts to be read, in the order in which they asked.
#[derive(Debug, Default)]
pub(crate) struct Asking {
    last: u64,
    waiting: VecDeque<(u64, Key)>,
    /// At that length those are taken out who have left meanwhile.
    sweep_at: usize,
}

impl Asking {
    /// One more waits; `is_there` tells who has not left. Those who have are no more than those who have not, but
    /// for a few.
    fn add(&mut self, key: Key, is_there: impl Fn(Key) -> bool) -> u64 {
        if self.waiting.len() >= self.sweep_at.max(BATCH) {
            self.waiting.retain(|(_, key)| is_there(*key));
            self.sweep_at = 2 * self.waiting.len();
        }
        self.last += 1;
        self.waiting.push_back((self.last, key));
        self.last
    }
}

/// The accounts that are known, for all workers.
#[derive(Default)]
pub(crate) struct Published {
    version: AtomicU64,
    latest: Mutex<Option<Arc<Directory>>>,
    reader: OnceLock<Reader>,
}

type Reader = Box<dyn Fn(AccountsOrder) + Send + Sync>;

impl Published {
    pub(crate) fn publish(&self, directory: Arc<Directory>) {
        let version = directory.version();
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        *latest = Some(directory);
        self.version.store(version, Ordering::Release);
    }

    pub(crate) fn read_with(&self, read: impl Fn(AccountsOrder) + Send + Sync + 'static) {
        self.reader.get_or_init(|| Box::new(read));
    }

    /// What was published last, if it is later than `version`. Takes the lock only then.
    fn since(&self, version: u64) -> Option<Arc<Directory>> {
        if self.version.load(Ordering::Acquire) <= version {
            return None;
        }
        let latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        latest.clone()
    }

    /// False if nobody reads any.
    fn ask(&self, order: AccountsOrder) -> bool {
        let reader = self.reader.get();
        reader.inspect(|read| read(order)).is_some()
    }
}

impl std::fmt::Debug for Published {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Published")
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

impl Engine {
    /// Goes over to the accounts that were published last. Backends of those that may do other things than
    /// before, or are no more, are used up; where only logins bring others, by the next login.
    pub(crate) fn follow_accounts<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        let Some(latest) = self.shared.accounts.since(self.accounts.version()) else {
            return;
        };
        let before = std::mem::replace(&mut self.accounts, latest);
        let after = self.accounts.clone();
        let all = before.was_read() && before.roles() != after.roles();
        let ids: Vec<KeyId> = self.pool.key_ids().collect();
        for id in ids {
            let number = self.pool.key(id).account;
            if !all && !may_differ(before.account(number), after.account(number)) {
                continue;
            }
            if self.is_relayed(id) {
                // Sessions keep what they may do until they log in again, as on the server.
                self.keys[id.0 as usize].outdated = true;
                continue;
            }
            self.retire_backends_of(turn, id);
            self.wake(id);
        }
        if all {
            self.known.schemas.forget_all();
        }
        self.serve_all(turn);
    }

    /// A client has proved to know the account's credential of now: what was opened with an earlier one is
    /// used up.
    pub(crate) fn follow_credential<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        id: KeyId,
        account: &Account,
    ) {
        let state = &mut self.keys[id.0 as usize];
        let outdated = std::mem::take(&mut state.outdated);
        let known = std::mem::replace(&mut state.credential_version, account.credential_version);
        if outdated || known != account.credential_version {
            // What was refused before says nothing about the new one.
            state.retry_at = None;
            self.retire_backends_of(turn, id);
        }
    }

    /// The client waits, and its login is looked at again when the database has been asked.
    pub(crate) fn ask_first<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        answered: Answered,
    ) {
        let step = LoginStep::Asking(Box::new(answered));
        self.clients.set_step(key, step, turn.now);
        self.ask_for_accounts(turn, key);
    }

    /// Has the database asked; the client is dealt with afterwards.
    pub(crate) fn ask_for_accounts<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let clients = &self.clients;
        let ticket = self.asking.add(key, |key| clients.get(key).is_some());
        self.counters.accounts_asked += 1;
        let worker = self.worker;
        if !self.shared.accounts.ask(AccountsOrder { worker, ticket }) {
            let told = Mail::AccountsRead {
                ticket,
                read: false,
            };
            // Mail to oneself arrives as long as this runs.
            let _arrives = turn.io.post(worker, told);
        }
    }

    /// The database was asked: whoever waited for that goes on.
    pub(crate) fn accounts_read<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        ticket: u64,
        read: bool,
    ) {
        self.follow_accounts(turn);
        for _ in 0..BATCH {
            let first = self.asking.waiting.front();
            if first.is_none_or(|(asked, _)| *asked > ticket) {
                return;
            }
            if let Some((_, key)) = self.asking.waiting.pop_front() {
                self.was_asked(turn, key, read);
            }
        }
        let rest = Mail::AccountsRead { ticket, read };
        let _arrives = turn.io.post(self.worker, rest);
    }

    fn was_asked<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key, read: bool) {
        let client = self.clients.get_mut(key);
        let login = client.and_then(|client| client.login.as_mut());
        let step = login.map(|login| &login.step);
        let Some(LoginStep::Asking(answered)) = step.cloned() else {
            if self.kept.contains_key(&key) {
                self.accounts_changed_by(turn, key, read);
            }
            return;
        };
        let claim = Claim {
            user: &answered.user,
            schema: answered.schema.as_deref(),
            response: &answered.response,
        };
        let asked = if read { Asked::Answered } else { Asked::InVain };
        self.authenticate(turn, key, (answered.plugin, asked), &claim);
    }

    /// What a statement has done to accounts is known, or cannot be: then nothing of before is used.
    fn accounts_changed_by<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key, read: bool) {
        if !read {
            self.global_changed(turn);
        }
        self.limits_kept(turn, key, Ok(()));
    }

    /// What is to be kept of a statement that may change accounts or privileges: its OK is told when that is
    /// known here.
    pub(crate) fn reads_accounts_after(
        &self,
        client: Key,
        (packet, statement): (Packet<'_>, &Statement),
        keeping: Option<Box<Keeping>>,
    ) -> Option<Box<Keeping>> {
        let names = |word: &[u8]| {
            let client = self.clients.get(client);
            let text = client.and_then(|client| client.text_that_runs(packet));
            text.is_some_and(|text| text.len() < TEXT_MAX && mentions(text, word))
        };
        if !self.accounts.asks_database() || !concerns_accounts(statement, names) {
            return keeping;
        }
        let mut keeping = keeping.unwrap_or_else(|| Box::new(Keeping::of_accounts()));
        keeping.reads_accounts = true;
        Some(keeping)
    }

    /// A statement has run that may have changed accounts, in the midst of others or where nobody reads
    /// accounts.
    pub(crate) fn may_have_changed_accounts<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        kind: Kind,
        traits: Traits,
    ) {
        let alone = kind == Kind::Account;
        if alone && !self.accounts.asks_database() {
            if traits.contains(Traits::SETS_PASSWORD) {
                // Sessions go on, as on the server: with a new password none could be opened for them.
                return;
            }
            self.global_changed(turn);
        } else if !alone && kind != Kind::Ddl && self.accounts.asks_database() {
            self.ask_for_accounts_soon();
        }
    }

    /// Has the accounts read again, while no client waits for that.
    pub(crate) fn ask_for_accounts_soon(&mut self) {
        self.asking.last += 1;
        let order = AccountsOrder {
            worker: self.worker,
            ticket: self.asking.last,
        };
        // Without a monitor there is nothing to read.
        let _nobody = self.shared.accounts.ask(order);
    }

    /// True if nothing is known that opens a backend connection of `id`.
    pub(crate) fn is_locked_out(&self, id: KeyId) -> bool {
        let account = self.accounts.account(self.pool.key(id).account);
        account.is_none_or(|account| !account.credential.opens_backends())
    }

    /// Tells the clients of keys that cannot have a backend.
    pub(crate) fn tell_locked_out<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        while let Some(id) = self.locked_out.pop() {
            if self.keys[id.0 as usize].unfit {
                self.tell_unfit(turn, id);
                continue;
            }
            if self.is_relayed(id) {
                self.close_waiters(turn, id);
                continue;
            }
            let account = self.accounts.account(self.pool.key(id).account);
            let goes_on = account.is_some_and(|account| !account.is_gone());
            if goes_on && self.is_served(id) {
                continue;
            }
            let error = ClientError::locked_out(account.map(|account| &**account));
            self.refuse_waiters(turn, id, &error.packet());
        }
    }

    /// The server wants something of a backend connection that is not known.
    pub(crate) fn backend_locked_out<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let id = self.pool.key_of(key);
        let text = "what the server asks for to let this account in is not known";
        self.give_up_connect(turn, key, text.to_owned());
        self.locked_out.extend(id);
    }
}

fn may_differ(before: Option<&Arc<Account>>, after: Option<&Arc<Account>>) -> bool {
    let told = |account: &Account| (account.is_gone(), account.privileges);
    before.map(|account| told(account)) != after.map(|account| told(account))
}

/// Whether a statement that runs alone may change accounts, privileges or roles. `names` tells whether its text has a word
/// that contains another.
fn concerns_accounts(statement: &Statement, names: impl Fn(&[u8]) -> bool) -> bool {
    match statement.kind {
        Kind::Account => defines(statement.kind, statement.traits),
        Kind::Admin => names(b"privileges"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use membership::Slab;

    use super::*;

    #[test]
    fn those_who_left_are_not_kept_until_the_next_answer() {
        let mut asking = Asking::default();
        let mut clients = Slab::default();
        let stays = clients.insert(());
        asking.add(stays, |_| true);
        for _ in 0..10_000 {
            let leaves = clients.insert(());
            asking.add(leaves, |key| clients.get(key).is_some());
            clients.remove(leaves);
        }
        assert!(asking.waiting.len() <= BATCH, "{}", asking.waiting.len());
        assert_eq!(asking.waiting[0], (1, stays));
    }
}
