//! An account: its name, its number, what proves it, and whether it may log in at all.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use admission::{AccountName, Identity, Pattern};

use crate::credential::Credential;

/// An account, as it was when it was read last.
#[derive(Debug)]
pub struct Account {
    /// Given once, never again.
    pub number: u32,
    /// Where it comes from.
    pub origin: Origin,
    /// What proves that a client is it.
    pub credential: Credential,
    /// Counts the credentials that it has had.
    pub credential_version: u32,
    /// Whether it may log in.
    pub standing: Standing,
    /// What its connections need.
    pub requires: Requires,
    /// Differs when what it may do has changed.
    pub privileges: u64,
    /// How many of its sessions are pinned; whoever pins them counts.
    pub pinned: Arc<AtomicUsize>,
    pub(crate) pattern: Pattern,
}

/// Where an account comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The configuration: whatever host a client comes from, and whatever the database says.
    Configured,
    /// The configuration, for the front door itself: nobody logs in as it.
    Ours,
    /// The database.
    Database,
    /// It was the database's, and is no more.
    Gone,
}

/// Whether an account may log in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Standing {
    /// It may.
    #[default]
    Open,
    /// `ACCOUNT LOCK`.
    Locked,
    /// Its password has expired.
    Expired,
}

/// What an account's connections need: `REQUIRE`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Requires {
    /// Nothing.
    #[default]
    Nothing,
    /// Encryption.
    Ssl,
    /// A client's certificate.
    X509,
    /// Encryption, and that of it or of a client's certificate.
    Certain(Box<Certain>),
}

/// What must be so of encryption and of a client's certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Certain {
    /// There must be a certificate, also if nothing is said of it: on MySQL `REQUIRE CIPHER` alone asks for one.
    pub certificate: bool,
    /// The name of the cipher suite, as the servers name it.
    pub cipher: Option<String>,
    /// Whom the certificate is for, as OpenSSL writes it on one line: `/C=SE/O=Example/CN=app`.
    pub subject: Option<String>,
    /// Who issued it, written alike.
    pub issuer: Option<String>,
}

impl Account {
    /// One that may log in and has not been told of a privilege.
    pub(crate) fn new(
        number: u32,
        origin: Origin,
        name: AccountName,
        credential: Credential,
    ) -> Self {
        Self {
            number,
            origin,
            credential,
            credential_version: 0,
            standing: Standing::Open,
            requires: Requires::Nothing,
            privileges: 0,
            pinned: Arc::default(),
            pattern: Pattern::new(name),
        }
    }

    /// `'user'@'host'`.
    pub fn name(&self) -> &AccountName {
        self.pattern.name()
    }

    /// The user part.
    pub fn user(&self) -> &str {
        &self.name().user
    }

    /// Whether it may be used at all.
    pub fn is_gone(&self) -> bool {
        self.origin == Origin::Gone
    }

    /// Whether it is what the server would take `who` for, if nothing more specific is.
    pub(crate) fn matches(&self, who: &Identity<'_>) -> bool {
        self.pattern.matches(who)
    }

    /// How the server sorts accounts: the one that is looked at first is the lesser.
    pub(crate) fn order(&self, other: &Self) -> std::cmp::Ordering {
        self.pattern.order(&other.pattern)
    }

    /// True if nothing differs that anybody could notice.
    pub(crate) fn is_as(&self, other: &Self) -> bool {
        let is_told_alike = (self.origin, self.standing, self.privileges)
            == (other.origin, other.standing, other.privileges);
        let is_proved_alike = self.credential.is_as(&other.credential)
            && self.credential.vouches_as(&other.credential);
        is_told_alike && self.requires == other.requires && is_proved_alike
    }
}
