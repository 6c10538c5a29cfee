//! All accounts at a time, and which of them a client is. Never changed once it is made.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use admission::{AccountName, Identity};
use vault::Vault;
use zeroize::Zeroizing;

use crate::account::{Account, Origin, Requires, Standing};
use crate::credential::Credential;
use crate::register::Found;

/// All accounts at a time.
#[derive(Clone, Debug, Default)]
pub struct Directory {
    pub(crate) version: u64,
    /// By number; also those that are gone.
    pub(crate) accounts: Vec<Arc<Account>>,
    /// Numbers by user, the most specific host first. Those of nobody in particular are under "".
    pub(crate) by_user: HashMap<String, Vec<u32>>,
    /// Users of the configuration.
    pub(crate) configured: HashMap<String, u32>,
    pub(crate) view: Option<View>,
    pub(crate) asks_database: bool,
    /// Some account can only be proved by the password itself, the first time.
    pub(crate) needs_passwords: bool,
    /// What clients have shown is in there, for all directories of a register.
    pub(crate) vault: Arc<Vault>,
}

/// How the database sees others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// The front door's address; `None` over a unix socket, or if only its name is known.
    pub our_address: Option<IpAddr>,
    /// The name of the front door's host, if the database knows one.
    pub our_host: Option<String>,
    /// A loopback address is `localhost` to it.
    pub resolves_names: bool,
    /// Differs when what roles may do, or who has them, has changed.
    pub roles: u64,
}

/// An account of the configuration.
pub struct Configured {
    /// The user name.
    pub user: String,
    /// The password.
    pub password: Zeroizing<String>,
    /// What its connections need.
    pub requires: Requires,
}

impl Configured {
    /// As if it had been read.
    pub(crate) fn found(self) -> Found {
        Found {
            name: AccountName::new(self.user, "%"),
            credential: Credential::Password(self.password),
            standing: Standing::Open,
            requires: self.requires,
            privileges: 0,
        }
    }
}

/// One that requires nothing.
impl From<(String, Zeroizing<String>)> for Configured {
    fn from((user, password): (String, Zeroizing<String>)) -> Self {
        Self {
            user,
            password,
            requires: Requires::Nothing,
        }
    }
}

impl Directory {
    /// One of accounts in the configuration, numbered from 0 on.
    pub fn configured<A: Into<Configured>>(accounts: impl IntoIterator<Item = A>) -> Self {
        let number = |(number, account): (usize, A)| {
            let found = account.into().found();
            Arc::new(found.into_account(number as u32, Origin::Configured))
        };
        let accounts = accounts.into_iter().enumerate().map(number).collect();
        Self::of(accounts)
    }

    /// One of these accounts, each at the place that is its number.
    pub(crate) fn of(accounts: Vec<Arc<Account>>) -> Self {
        let mut configured = HashMap::new();
        let mut by_user: HashMap<String, Vec<u32>> = HashMap::new();
        for account in &accounts {
            let user = account.user().to_owned();
            match account.origin {
                Origin::Configured => drop(configured.insert(user, account.number)),
                Origin::Database => by_user.entry(user).or_default().push(account.number),
                Origin::Ours | Origin::Gone => {}
            }
        }
        for numbers in by_user.values_mut() {
            numbers.sort_by(|&one, &other| accounts[one as usize].order(&accounts[other as usize]));
        }
        let is_sha2 = |account: &Arc<Account>| matches!(account.credential, Credential::Sha2(_));
        Self {
            needs_passwords: accounts.iter().any(is_sha2),
            accounts,
            by_user,
            configured,
            ..Self::default()
        }
    }

    /// Where what clients show is kept.
    pub fn vault(&self) -> &Arc<Vault> {
        &self.vault
    }

    /// Greater in a later one.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// True if the database's accounts belong here, too.
    pub fn asks_database(&self) -> bool {
        self.asks_database
    }

    /// True once the database's accounts have been read.
    pub fn was_read(&self) -> bool {
        self.view.is_some()
    }

    /// Differs when what roles may do, or who has them, has changed.
    pub fn roles(&self) -> u64 {
        self.view.as_ref().map_or(0, |view| view.roles)
    }

    /// True if clients may have to show the password itself.
    pub fn needs_passwords(&self) -> bool {
        self.needs_passwords
    }

    /// The account with a number.
    pub fn account(&self, number: u32) -> Option<&Arc<Account>> {
        self.accounts.get(number as usize)
    }

    /// Whether a number is that of the front door's own account.
    pub fn is_ours(&self, number: u32) -> bool {
        let account = self.account(number);
        account.is_some_and(|account| account.origin == Origin::Ours)
    }

    /// As whom a backend is opened only to see whether it is there.
    pub fn for_probe(&self) -> Option<u32> {
        let ours = self.accounts.iter().find(|a| a.origin == Origin::Ours);
        let first = || {
            self.accounts
                .iter()
                .find(|a| a.origin == Origin::Configured)
        };
        ours.or_else(first).map(|account| account.number)
    }

    /// The account of a client that says it is `user` and comes from `address` (`None`: over a unix socket).
    pub fn find(&self, user: &str, address: Option<IpAddr>) -> Option<&Arc<Account>> {
        if let Some(&number) = self.configured.get(user) {
            return self.account(number);
        }
        let is_local = match address {
            None => true,
            Some(address) => self.resolves_names() && address.to_canonical().is_loopback(),
        };
        self.find_as(&Identity {
            user,
            address,
            host: is_local.then_some("localhost"),
        })
    }

    /// The account that the database takes the front door for, if it says it is `user`. Configured accounts
    /// are not asked about.
    pub fn find_behind(&self, user: &str) -> Option<&Arc<Account>> {
        let view = self.view.as_ref()?;
        self.find_as(&Identity {
            user,
            address: view.our_address,
            host: view.our_host.as_deref(),
        })
    }

    /// True if a client from a loopback address is `localhost` to the database, or if that is not known.
    pub fn names_loopback(&self) -> bool {
        self.view.as_ref().is_none_or(|view| view.resolves_names)
    }

    fn resolves_names(&self) -> bool {
        self.view.as_ref().is_some_and(|view| view.resolves_names)
    }

    fn find_as(&self, who: &Identity<'_>) -> Option<&Arc<Account>> {
        let first = |user: &str| {
            let numbers = self.by_user.get(user)?.iter();
            let mut accounts = numbers.filter_map(|&number| self.account(number));
            accounts.find(|account| account.matches(who))
        };
        let named = first(who.user);
        let anonymous = if who.user.is_empty() { None } else { first("") };
        match (named, anonymous) {
            (Some(one), Some(other)) if other.order(one).is_lt() => Some(other),
            (None, other) => other,
            (one, _) => one,
        }
    }
}
