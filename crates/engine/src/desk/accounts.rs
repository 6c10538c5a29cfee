//! Logins that wait: for the accounts to be read, for a password to be checked, for the pause after a wrong one. And
//! statements that change limits: whether their account may, and what its client is told.

use std::cmp::Reverse;
use std::sync::Arc;

use accounts::{Account, Proof};
use admission::AccountName;
use carry::errors::ClientError;
use carry::packet::{Packet, Taken};
use carry::rewrite::Rewrite;
use events::{Io, Peer};
use membership::Key;
use pool::KeyId;
use session::statement::{
    AccountRef, AccountStatement, Kind, Statement, Traits, account_statement, names_limits,
};
use wire::{AuthMoreData, AuthPlugin, Command, Malformed, REQUEST_PUBLIC_KEY, TextResultSet};
use zeroize::Zeroizing;

use crate::desk::Engine;
use crate::login::denial::Denial;
use crate::login::identity::{Asked, Claim, locked_out};
use crate::login::vouching::Proved;
use crate::record::ask::Ask;
use crate::record::backend::Due;
use crate::record::client::{Answered, LoginStep, State};
use crate::record::counters::DisconnectReason;
use crate::record::directory::{AccountsOrder, BATCH};
use crate::record::full_exchange::{PasswordCheck, Sent};
use crate::record::grants::creates_users;
use crate::record::limits::{Intent, Keeping, Kept, LimitsChange, LimitsOrder, Right};
use crate::record::shared::{LoginSlot, Mail};
use crate::record::turn::Turn;

/// So many refusals wait on a worker at most. One more, and the next of them is told early.
const HELD_BACK_MAX: usize = 1_024;

/// What the account may do, by itself and by the roles that are active. Source: "Resource limits" in the manuals:
/// who may create an account may limit it.
const GRANTS: &[u8] = b"SHOW GRANTS";

impl Engine {
    /// The right of a client at `peer` to be in the connection phase; `None` if there is no room for it.
    pub(crate) fn place_to_log_in<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        peer: Peer,
    ) -> Option<LoginSlot> {
        let max = self.records.settings.max_logins;
        if let Some(slot) = self.records.shared.begin_login(max) {
            return Some(slot);
        }
        let leaves = self.places.beyond_fair(peer);
        let leaves = leaves.or_else(|| self.records.dawdler(turn))?;
        let error = ClientError::too_many_connections();
        self.refuse(turn, leaves, &error, DisconnectReason::TooManyLogins);
        self.records.shared.begin_login(max)
    }

    /// Refuses a login. A wrong account or password is told later if the address has been wrong too often.
    pub(crate) fn deny<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        error: ClientError,
    ) {
        let Some(login) = self.records.clients.login_mut(key) else {
            return;
        };
        if !error.is_access_denied() {
            return self.refuse(turn, key, &error, DisconnectReason::LoginRefused);
        }
        login.place = None;
        self.records
            .clients
            .set_step(key, LoginStep::Denied, turn.now);
        self.records.counters.logins_denied += 1;
        let Some(client) = self.records.clients.get(key) else {
            return;
        };
        let wait = self
            .records
            .shared
            .strangers
            .mistook(client.origin.peer, turn.now);
        // A longer pause would outlast the login, and the client would never be told.
        let wait = wait.min(self.records.settings.login_timeout.half());
        if wait.as_us() == 0 {
            return self.refuse(turn, key, &error, DisconnectReason::LoginRefused);
        }
        self.records.counters.denials_delayed += 1;
        self.denials.hold(turn.now + wait, key, error);
        if self.denials.held.len() > HELD_BACK_MAX {
            self.records.counters.denials_early += 1;
            self.tell_denial(turn);
        }
    }

    /// Tells the refusals whose time has come.
    pub(crate) fn denials_due<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        while self.denials.due().is_some_and(|due| turn.now >= due) {
            self.tell_denial(turn);
        }
    }

    /// Tells the next refusal, if its client is still there.
    fn tell_denial<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        if let Some(Reverse(Denial { key, error, .. })) = self.denials.held.pop() {
            self.refuse(turn, key, &error, DisconnectReason::LoginRefused);
        }
    }

    /// Goes over to the accounts that were published last. Backends of those that may do other things than
    /// before, or are no more, are used up; where only logins bring others, by the next login.
    pub(crate) fn follow_accounts<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        let Some(latest) = self
            .records
            .shared
            .accounts
            .since(self.records.accounts.version())
        else {
            return;
        };
        let before = std::mem::replace(&mut self.records.accounts, latest);
        let after = self.records.accounts.clone();
        let all = before.was_read() && before.roles() != after.roles();
        let ids: Vec<KeyId> = self.records.pool.key_ids().collect();
        for id in ids {
            let number = self.records.pool.key(id).account;
            if !all && !may_differ(before.account(number), after.account(number)) {
                continue;
            }
            if self.records.is_relayed(id) {
                // Sessions keep what they may do until they log in again, as on the server.
                self.records.keys[id.0 as usize].outdated = true;
                continue;
            }
            self.records.retire_backends_of(turn, id);
            self.records.wake(id);
        }
        if all {
            self.records.known.schemas.forget_all();
        }
        self.serve_all(turn);
    }

    /// The client waits, and its login is looked at again when the database has been asked.
    pub(crate) fn ask_first<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        answered: Answered,
    ) {
        let step = LoginStep::Asking(Box::new(answered));
        self.records.clients.set_step(key, step, turn.now);
        self.ask_for_accounts(turn, key);
    }

    /// Has the database asked; the client is dealt with afterwards.
    fn ask_for_accounts<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let clients = &self.records.clients;
        let ticket = self.asking.add(key, |key| clients.get(key).is_some());
        self.records.counters.accounts_asked += 1;
        let worker = self.records.worker;
        if !self
            .records
            .shared
            .accounts
            .ask(AccountsOrder { worker, ticket })
        {
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
        let _arrives = turn.io.post(self.records.worker, rest);
    }

    fn was_asked<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key, read: bool) {
        let client = self.records.clients.get_mut(key);
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
            self.records.global_changed(turn);
        }
        self.limits_kept(turn, key, Ok(()));
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
        if alone && !self.records.accounts.asks_database() {
            if traits.contains(Traits::SETS_PASSWORD) {
                // Sessions go on, as on the server: with a new password none could be opened for them.
                return;
            }
            self.records.global_changed(turn);
        } else if !alone && kind != Kind::Ddl && self.records.accounts.asks_database() {
            self.ask_for_accounts_soon();
        }
    }

    /// Has the accounts read again, while no client waits for that.
    fn ask_for_accounts_soon(&mut self) {
        self.asking.last += 1;
        let order = AccountsOrder {
            worker: self.records.worker,
            ticket: self.asking.last,
        };
        // Without a monitor there is nothing to read.
        let _nobody = self.records.shared.accounts.ask(order);
    }

    /// Tells the clients of keys that cannot have a backend.
    pub(crate) fn tell_locked_out<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        while let Some(id) = self.locked_out.pop() {
            if self.records.keys[id.0 as usize].unfit {
                self.tell_unfit(turn, id);
                continue;
            }
            if self.records.is_relayed(id) {
                self.close_waiters(turn, id);
                continue;
            }
            let account = self
                .records
                .accounts
                .account(self.records.pool.key(id).account);
            let goes_on = account.is_some_and(|account| !account.is_gone());
            if goes_on && self.records.is_served(id) {
                continue;
            }
            let error = locked_out(account.map(|account| &**account));
            self.refuse_waiters(turn, id, &error.packet());
        }
    }

    /// The server wants something of a backend connection that is not known.
    pub(crate) fn backend_locked_out<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let id = self.records.pool.key_of(key);
        let text = "what the server asks for to let this account in is not known";
        self.give_up_connect(turn, key, text.to_owned());
        self.locked_out.extend(id);
    }

    /// What the client sent when the password was due, as it is (`clear`) or under the key.
    pub(crate) fn password_came<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        answered: Box<Answered>,
        clear: bool,
        payload: &[u8],
    ) -> Result<(), Malformed> {
        let Some(client) = self.records.clients.get(key) else {
            return Ok(());
        };
        let nonce = client.origin.nonce;
        if payload == REQUEST_PUBLIC_KEY {
            let step = LoginStep::Encrypted(answered);
            self.records.clients.set_step(key, step, turn.now);
            self.send_public_key(turn, key);
            return Ok(());
        }
        let sent = if clear {
            let password = payload.strip_suffix(b"\0");
            let password = password.ok_or(Malformed::Truncated("password"))?;
            Sent::Clear(Zeroizing::new(password.to_vec()))
        } else {
            Sent::Encrypted(payload.to_vec(), nonce)
        };
        let step = LoginStep::Checking(answered.clone());
        self.records.clients.set_step(key, step, turn.now);
        let account = self.records.account_claimed(key, &answered.user).cloned();
        let asker = (self.records.worker, key);
        let check = PasswordCheck {
            account,
            sent,
            vault: self.records.accounts.vault().clone(),
            asker,
        };
        if !self
            .records
            .shared
            .checker()
            .is_some_and(|checker| checker.check(check))
        {
            self.too_many_checks(turn, key);
        }
        Ok(())
    }

    /// Sends the key to encrypt with, at once or when there is one.
    pub(crate) fn send_public_key<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let shared = self.records.shared.clone();
        let Some(checker) = shared.checker() else {
            return self.too_many_checks(turn, key);
        };
        let Some(pem) = checker.public_key() else {
            if !checker.make_key((self.records.worker, key)) {
                self.too_many_checks(turn, key);
            }
            return;
        };
        let Some(client) = self.records.clients.get_mut(key) else {
            return;
        };
        let handle = client.handle;
        if let Some(login) = &mut client.login
            && matches!(login.step, LoginStep::Encrypted(_))
        {
            let outbox = turn.io.outbox(handle);
            login.sequence_id = AuthMoreData::Data(pem).encode(outbox, login.sequence_id);
        }
    }

    /// The password of a login was checked.
    pub(crate) fn password_checked<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        proof: &Proof,
    ) {
        let client = self.records.clients.get(key);
        let step = client.and_then(|client| Some(&client.login.as_ref()?.step));
        let Some(LoginStep::Checking(answered)) = step.cloned() else {
            return;
        };
        let claim = Claim {
            user: &answered.user,
            schema: answered.schema.as_deref(),
            response: &answered.response,
        };
        if let Proof::Forgotten(refused) = proof {
            let error = self.records.not_remembered(refused);
            return self.deny(turn, key, error);
        }
        // It may have changed while the password was looked at: then it must prove the new one.
        let account = self.records.account_claimed(key, claim.user).cloned();
        let right =
            |account: &Arc<Account>| proof.is_right() && account.credential.opens_backends();
        let account = account.filter(right);
        match (
            self.records.check_standing(key, account.as_deref(), &claim),
            account,
        ) {
            (Ok(()), Some(account)) => {
                let proved = Proved::by(&account, AuthPlugin::CachingSha2Password);
                self.let_in(turn, key, &proved, &claim);
            }
            (Err(error), _) => self.deny(turn, key, error),
            (Ok(()), None) => {}
        }
    }

    fn too_many_checks<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let error = ClientError::too_many_connections();
        self.refuse(turn, key, &error, DisconnectReason::TooManyLogins);
    }

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
        self.records.answer_err(turn, key, &error);
        self.records.touch(key, turn.now);
        Some(Taken::Now)
    }

    /// Notes what a text is to change.
    fn intend(&mut self, key: Key, text: &[u8]) -> Result<(), ClientError> {
        let (Some(client), Some(facts)) =
            (self.records.clients.get(key), &self.records.known.facts)
        else {
            return Ok(());
        };
        let Some(dialect) = facts.dialect(&client.session) else {
            return Ok(());
        };
        let own = self.records.accounts.account(client.account);
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
        let backend = self
            .records
            .clients
            .get(key)
            .and_then(|client| client.backend);
        let Some(backend) = backend.and_then(|key| self.records.pool.get_mut(key)) else {
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
        let Some(backend) = self.records.pool.get_mut(backend) else {
            return;
        };
        if !backend.due.contains(Due::COMMAND) {
            return;
        }
        let Some(client) = backend.client else {
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
        self.records
            .answer_err(turn, client, &ClientError::may_not_create_users());
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
            asker: Some((self.records.worker, client)),
        };
        if !self.records.shared.keep_limits(order) {
            let told = Mail::LimitsKept(client, Err("nobody keeps them here".to_owned()));
            // Mail to oneself arrives as long as this runs.
            let _arrives = turn.io.post(self.records.worker, told);
        }
    }

    /// The server has accepted a statement whose client has hung up: its limits are kept, and nobody is told.
    pub(crate) fn keep_limits_for_nobody(&mut self, keeping: Keeping) {
        if keeping.reads_accounts {
            self.ask_for_accounts_soon();
        }
        let change = keeping.change.map(|change| LimitsOrder {
            change,
            asker: None,
        });
        if let Some(order) = change
            && !self.records.shared.keep_limits(order)
        {
            tracing::error!("limits of a statement could not be kept: nobody keeps them here");
        }
    }

    /// True if a client's next command must wait until its limits are kept.
    pub(crate) fn awaits_limits<I: Io<Mail>>(&mut self, turn: &Turn<'_, I>, client: Key) -> bool {
        let awaits = !self.kept.is_empty() && self.kept.contains_key(&client);
        if awaits {
            self.records
                .clients
                .move_to(client, State::Asking, turn.now);
        }
        awaits
    }

    /// The limits were kept, or could not be, and why: tells the client.
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
        match (kept, self.records.clients.get(client)) {
            (Ok(()), Some(record)) => {
                turn.io.outbox(record.handle).extend_from_slice(&answer);
            }
            (Err(why), _) => {
                self.records
                    .answer_err(turn, client, &ClientError::limits_not_kept(&why));
            }
            (Ok(()), None) => return,
        }
        // While its backend is asked for what only that knows, the session goes on when that was told.
        if self.records.clients.state(client) == Some(State::Asking) {
            self.asked(turn, client);
        }
    }
}

fn may_differ(before: Option<&Arc<Account>>, after: Option<&Arc<Account>>) -> bool {
    let told = |account: &Account| (account.is_gone(), account.privileges);
    before.map(|account| told(account)) != after.map(|account| told(account))
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
