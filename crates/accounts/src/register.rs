//! The accounts from one reading to the next: which are the same, and which have changed.

use std::collections::HashMap;
use std::sync::Arc;

use admission::AccountName;
use vault::Vault;
use zeroize::Zeroizing;

use crate::account::{Account, Origin, Requires, Standing};
use crate::credential::Credential;
use crate::directory::{Configured, Directory, View};

/// Makes directories.
#[derive(Debug)]
pub struct Register {
    current: Arc<Directory>,
    /// Of the accounts that are there.
    configured: Numbers,
    of_database: Numbers,
}

/// Numbers of accounts, by name.
type Numbers = HashMap<AccountName, u32>;

/// What the database says.
#[derive(Debug)]
pub struct Reading {
    /// All its accounts; a name that comes twice counts once.
    pub accounts: Vec<Found>,
    /// How it sees others.
    pub view: View,
}

/// An account, as it was read.
#[derive(Debug)]
pub struct Found {
    /// Its name.
    pub name: AccountName,
    /// What proves it.
    pub credential: Credential,
    /// Whether it may log in.
    pub standing: Standing,
    /// What its connections need.
    pub requires: Requires,
    /// A sum over what it may do.
    pub privileges: u64,
}

impl Register {
    /// With accounts of the configuration, and the front door's own in the database, by which the others are
    /// read. Without that the database is not asked.
    pub fn new<A: Into<Configured>>(
        configured: impl IntoIterator<Item = A>,
        ours: Option<(String, Zeroizing<String>)>,
    ) -> Self {
        let (mut accounts, mut numbers) = (Vec::new(), Numbers::new());
        let found = configured.into_iter().map(|account| account.into().found());
        renew(&mut accounts, &mut numbers, (Origin::Configured, found));
        let asks_database = ours.is_some();
        accounts.extend(ours.map(|(user, password)| {
            let name = AccountName::new(user, "%");
            let credential = Credential::Password(password);
            let number = accounts.len() as u32;
            Arc::new(Account::new(number, Origin::Ours, name, credential))
        }));
        let current = Directory {
            asks_database,
            ..Directory::of(accounts)
        };
        Self {
            current: Arc::new(current),
            configured: numbers,
            of_database: Numbers::new(),
        }
    }

    /// With this vault for what clients show, instead of one as large as the kernel allows.
    pub fn with_vault(self, vault: Arc<Vault>) -> Self {
        let current = Directory::clone(&self.current);
        Self {
            current: Arc::new(Directory { vault, ..current }),
            ..self
        }
    }

    /// The accounts as they are known now.
    pub fn directory(&self) -> Arc<Directory> {
        self.current.clone()
    }

    /// Takes in what the database says. The new directory, or `None` if nothing differs.
    pub fn update(&mut self, reading: Reading) -> Option<Arc<Directory>> {
        let mut accounts = self.current.accounts.clone();
        let found = (Origin::Database, reading.accounts);
        let differ = renew(&mut accounts, &mut self.of_database, found);
        let view = Some(reading.view);
        (differ || self.current.view != view).then(|| self.go_over_to(accounts, view))
    }

    /// Takes in what the configuration says. The new directory, or `None` if nothing differs.
    pub fn configure<A: Into<Configured>>(
        &mut self,
        configured: impl IntoIterator<Item = A>,
    ) -> Option<Arc<Directory>> {
        let mut accounts = self.current.accounts.clone();
        let found = configured.into_iter().map(|account| account.into().found());
        let found = (Origin::Configured, found);
        let view = self.current.view.clone();
        renew(&mut accounts, &mut self.configured, found).then(|| self.go_over_to(accounts, view))
    }

    /// Goes over to another account of the front door's own. The new directory, or `None` if it is the same.
    pub fn change_ours(
        &mut self,
        (user, password): (String, Zeroizing<String>),
    ) -> Option<Arc<Directory>> {
        let mut accounts = self.current.accounts.clone();
        let name = AccountName::new(user, "%");
        let number = accounts.len() as u32;
        let ours = Account::new(number, Origin::Ours, name, Credential::Password(password));
        for before in accounts.iter_mut().filter(|a| a.origin == Origin::Ours) {
            if before.name() == ours.name() && before.credential.is_as(&ours.credential) {
                return None;
            }
            let (number, name) = (before.number, before.name().clone());
            let gone = Account::new(number, Origin::Gone, name, Credential::Nothing);
            *before = Arc::new(gone);
        }
        accounts.push(Arc::new(ours));
        let view = self.current.view.clone();
        Some(self.go_over_to(accounts, view))
    }

    fn go_over_to(&mut self, accounts: Vec<Arc<Account>>, view: Option<View>) -> Arc<Directory> {
        self.current = Arc::new(Directory {
            version: self.current.version + 1,
            asks_database: self.current.asks_database || view.is_some(),
            vault: self.current.vault.clone(),
            view,
            ..Directory::of(accounts)
        });
        self.directory()
    }
}

/// Brings `accounts` to what was found of one origin, whose numbers these are. False if nothing differs.
fn renew(
    accounts: &mut Vec<Arc<Account>>,
    numbers: &mut Numbers,
    (origin, all): (Origin, impl IntoIterator<Item = Found>),
) -> bool {
    let mut changed = false;
    let mut before = std::mem::take(numbers);
    for found in all {
        if numbers.contains_key(&found.name) {
            continue;
        }
        let number = before.remove(&found.name);
        let new_number = accounts.len() as u32;
        numbers.insert(found.name.clone(), number.unwrap_or(new_number));
        let Some(number) = number else {
            accounts.push(Arc::new(found.into_account(new_number, origin)));
            changed = true;
            continue;
        };
        let place = &mut accounts[number as usize];
        if let Some(after) = found.beside(place) {
            *place = Arc::new(after);
            changed = true;
        }
    }
    // Those that are left were not found any more.
    for (name, number) in before {
        let gone = Account::new(number, Origin::Gone, name, Credential::Nothing);
        accounts[number as usize] = Arc::new(gone);
        changed = true;
    }
    changed
}

impl Found {
    pub(crate) fn into_account(self, number: u32, origin: Origin) -> Account {
        Account {
            standing: self.standing,
            requires: self.requires,
            privileges: self.privileges,
            ..Account::new(number, origin, self.name, self.credential)
        }
    }

    /// What becomes of an account that was as `before`; `None` if it is still so, and keeps what has been
    /// learned of it.
    fn beside(self, before: &Account) -> Option<Account> {
        let mut after = self.into_account(before.number, before.origin);
        if after.is_as(before) {
            return None;
        }
        after.credential_version = before.credential_version;
        after.pinned = before.pinned.clone();
        match after.credential.is_as(&before.credential) {
            true => after.credential.take_learned(&before.credential),
            false => after.credential_version += 1,
        }
        Some(after)
    }
}
