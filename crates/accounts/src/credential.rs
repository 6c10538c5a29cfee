//! What proves that a client is an account: a password that is written down, or what the database keeps
//! of one. Shows nothing of either, and overwrites it when dropped. What clients show is in a [`Vault`].

use std::fmt;
use std::sync::{Arc, OnceLock};

use vault::{Kept, Refused, Shown, Vault};
use wire::{
    AuthPlugin, NATIVE_PASSWORD, is_stored_password, native_password_hash, native_password_stage1,
    native_password_with,
};
use zeroize::Zeroizing;

use crate::voucher::{self, Vouchers};

/// What stands for an account that must prove itself in several ways, one after the other.
pub const MULTI_FACTOR: &str = "multi_factor_authentication";

/// What cannot be handed on: plugins that ask the operating system whose process is at the other end, which
/// would be the front door; and what begins anew after its OK.
const UNRELAYED: [&str; 3] = ["unix_socket", "auth_socket", MULTI_FACTOR];

/// What proves an account.
pub enum Credential {
    /// A password that is known; empty for none.
    Password(Zeroizing<String>),
    /// What `mysql_native_password` keeps of a password.
    Native(NativeHash),
    /// What `caching_sha2_password` keeps of a password.
    Sha2(Sha2Hash),
    /// That of a plugin which only the database can check.
    Other(OtherPlugin),
    /// Nothing proves it.
    Nothing,
}

/// A plugin that only the database can check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherPlugin {
    /// Its name.
    pub name: Box<str>,
    /// What is known of the passwords that it, and those beside it, would take.
    pub vouchers: Vouchers,
}

/// Nothing is known of its passwords.
impl From<&str> for OtherPlugin {
    fn from(name: &str) -> Self {
        Self {
            name: name.into(),
            vouchers: Vouchers::default(),
        }
    }
}

/// What a client has proved.
#[derive(Debug)]
pub enum Proof {
    /// Nothing.
    Wrong,
    /// That it is the account. What it showed opens backends from now on.
    Right,
    /// The same, but what it showed is remembered nowhere, and so opens no backend.
    Forgotten(Refused),
}

/// What opens a backend connection as an account.
pub enum Secret<'a> {
    /// The password, as it is written down; empty for none.
    Written(&'a str),
    /// The password, as a client has shown it.
    Password(Shown<'a>),
    /// `SHA1(password)`.
    Stage1(Shown<'a>),
}

/// `SHA1(SHA1(password))`, and `SHA1(password)` once a client has proved to know it.
pub struct NativeHash {
    hash: [u8; 20],
    stage1: Learned,
}

/// A salted hash that only the password itself can be checked against, and the password once a client has
/// shown that.
pub struct Sha2Hash {
    stored: Box<str>,
    password: Learned,
}

/// What a client has shown, for all readings of an account in which the same proves it.
type Learned = OnceLock<Arc<Kept>>;

impl Credential {
    /// What `caching_sha2_password` has as its `authentication_string`; nothing if there is no password.
    pub fn sha2(stored: &str) -> Self {
        if stored.is_empty() {
            return Self::Password(Zeroizing::default());
        }
        Self::Sha2(Sha2Hash {
            stored: stored.into(),
            password: OnceLock::new(),
        })
    }

    /// What `mysql_native_password` has as its `authentication_string`: `*` and 40 hexadecimal digits, or
    /// nothing if there is no password. Anything else proves nothing.
    pub fn native(stored: &str) -> Self {
        if stored.is_empty() {
            return Self::Password(Zeroizing::default());
        }
        match voucher::native(stored) {
            Some(hash) => Self::Native(NativeHash {
                hash,
                stage1: OnceLock::new(),
            }),
            None => Self::Nothing,
        }
    }

    /// The plugin by which clients prove it; `None` if it may be any that can be checked.
    pub fn plugin(&self) -> Option<AuthPlugin> {
        match self {
            Self::Native(_) => Some(AuthPlugin::NativePassword),
            Self::Sha2(_) => Some(AuthPlugin::CachingSha2Password),
            Self::Password(_) | Self::Other(_) | Self::Nothing => None,
        }
    }

    /// The plugin whose challenges are handed on, the database deciding; `None` if that is not how it is
    /// proved.
    pub fn relayed(&self) -> Option<&str> {
        match self {
            Self::Other(plugin) => Some(&*plugin.name).filter(|name| !UNRELAYED.contains(name)),
            _ => None,
        }
    }

    /// Whether `response` to `nonce` by `plugin` proves it. What was proved opens backends from now on, if
    /// `vault` has room for it.
    pub fn is_proved_by(
        &self,
        plugin: AuthPlugin,
        (nonce, response): (&[u8; 20], &[u8]),
        vault: &Vault,
    ) -> Proof {
        let right = match self {
            Self::Password(password) => plugin.verify(password.as_bytes(), nonce, response),
            Self::Native(hash) if plugin == AuthPlugin::NativePassword => {
                return hash.is_proved_by(nonce, response, vault);
            }
            Self::Sha2(hash) if plugin == AuthPlugin::CachingSha2Password => {
                // Whether it is known must not be told by being quick.
                let password = hash.password.get().map(|known| known.show());
                let compared = password.as_deref().unwrap_or(b"\0");
                plugin.verify(compared, nonce, response) && password.is_some()
            }
            Self::Native(_) | Self::Sha2(_) | Self::Other(_) | Self::Nothing => false,
        };
        Proof::of(right)
    }

    /// Whether this is the password. Takes milliseconds, whoever it is. What was shown opens backends from
    /// now on, if `vault` has room for it.
    pub fn is_password(&self, password: &[u8], vault: &Vault) -> Proof {
        let of_nobody = "$A$005$----------------------------------------------------------------";
        match self {
            Self::Sha2(hash) if is_stored_password(password, hash.stored.as_bytes()) => {
                learn(&hash.password, password, vault)
            }
            Self::Sha2(_) => Proof::Wrong,
            Self::Password(known) => {
                // It must not be told from others by being quick.
                is_stored_password(password, of_nobody.as_bytes());
                Proof::of(AuthPlugin::CachingSha2Password.verify(
                    known.as_bytes(),
                    &[0; 20],
                    &AuthPlugin::CachingSha2Password.response(password, &[0; 20]),
                ))
            }
            Self::Native(_) | Self::Other(_) | Self::Nothing => {
                is_stored_password(password, of_nobody.as_bytes());
                Proof::Wrong
            }
        }
    }

    /// What opens a backend connection. `None` if that is not known, or not yet.
    pub fn secret(&self) -> Option<Secret<'_>> {
        match self {
            Self::Password(password) => Some(Secret::Written(password)),
            Self::Native(hash) => Some(Secret::Stage1(hash.stage1.get()?.show())),
            Self::Sha2(hash) => Some(Secret::Password(hash.password.get()?.show())),
            Self::Other(_) | Self::Nothing => None,
        }
    }

    /// Whether it is known what opens a backend connection.
    pub fn opens_backends(&self) -> bool {
        match self {
            Self::Password(_) => true,
            Self::Native(hash) => hash.stage1.get().is_some(),
            Self::Sha2(hash) => hash.password.get().is_some(),
            Self::Other(_) | Self::Nothing => false,
        }
    }

    /// What the database keeps of the password with which a client has logged in by `plugin`, as clients call it. `None` if
    /// that is not known, or there is no password.
    pub fn kept(&self, plugin: &[u8]) -> Option<Box<[u8]>> {
        let is_native = plugin == NATIVE_PASSWORD;
        match self {
            Self::Password(password) if is_native && !password.is_empty() => {
                Some(voucher::native_of(password.as_bytes()).into())
            }
            Self::Native(native) if is_native => Some(native.hash.into()),
            Self::Other(other) => other.vouchers.kept(plugin).map(Into::into),
            Self::Password(_) | Self::Native(_) | Self::Sha2(_) | Self::Nothing => None,
        }
    }

    /// True if the same is known of passwords that only the database can check.
    pub(crate) fn vouches_as(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Other(one), Self::Other(other)) => one.vouchers == other.vouchers,
            _ => true,
        }
    }

    /// Takes over what clients have proved to know; the same proves both.
    pub(crate) fn take_learned(&mut self, before: &Self) {
        match (self, before) {
            (Self::Native(hash), Self::Native(before)) => hash.stage1.clone_from(&before.stage1),
            (Self::Sha2(hash), Self::Sha2(before)) => hash.password.clone_from(&before.password),
            _ => {}
        }
    }

    /// True if the same proves both.
    pub(crate) fn is_as(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Password(one), Self::Password(other)) => one == other,
            (Self::Native(one), Self::Native(other)) => one.hash == other.hash,
            (Self::Sha2(one), Self::Sha2(other)) => one.stored == other.stored,
            // Whoever has logged in with another password stays: the database has let it in.
            (Self::Other(one), Self::Other(other)) => one.name == other.name,
            (Self::Nothing, Self::Nothing) => true,
            _ => false,
        }
    }
}

impl NativeHash {
    fn is_proved_by(&self, nonce: &[u8; 20], response: &[u8], vault: &Vault) -> Proof {
        let Some(stage1) = native_password_stage1(response, nonce, &self.hash) else {
            return Proof::Wrong;
        };
        let stage1 = Zeroizing::new(stage1);
        let differs = native_password_hash(&stage1)
            .iter()
            .zip(self.hash)
            .fold(0, |differs, (a, b)| differs | (a ^ b));
        if differs != 0 {
            return Proof::Wrong;
        }
        learn(&self.stage1, &*stage1, vault)
    }
}

/// Remembers what was shown, once. Two who show it at once have a page's cell each for a moment.
fn learn(learned: &Learned, shown: &[u8], vault: &Vault) -> Proof {
    if learned.get().is_some() {
        return Proof::Right;
    }
    match vault.keep(shown) {
        Ok(kept) => {
            learned.get_or_init(|| Arc::new(kept));
            Proof::Right
        }
        Err(refused) => Proof::Forgotten(refused),
    }
}

impl Proof {
    fn of(right: bool) -> Self {
        if right { Self::Right } else { Self::Wrong }
    }

    /// Whether the client is the account and its backends can be opened.
    pub fn is_right(&self) -> bool {
        matches!(self, Self::Right)
    }
}

impl Secret<'_> {
    /// What answers `nonce` by `plugin`; `None` if that needs the password itself.
    pub fn response(&self, plugin: AuthPlugin, nonce: &[u8; 20]) -> Option<Vec<u8>> {
        match (self, plugin) {
            (Self::Written(_) | Self::Password(_), _) => {
                Some(plugin.response(self.password()?, nonce))
            }
            (Self::Stage1(stage1), AuthPlugin::NativePassword) => {
                Some(native_password_with((**stage1).try_into().ok()?, nonce))
            }
            (Self::Stage1(_), AuthPlugin::CachingSha2Password) => None,
        }
    }

    /// The plugin to answer with where the server names this one first; it may ask for another.
    pub fn plugin_beside(&self, named: Option<AuthPlugin>) -> AuthPlugin {
        match self {
            Self::Written(_) | Self::Password(_) => named.unwrap_or_default(),
            Self::Stage1(_) => AuthPlugin::NativePassword,
        }
    }

    /// The password itself, if it is known.
    pub fn password(&self) -> Option<&[u8]> {
        match self {
            Self::Written(password) => Some(password.as_bytes()),
            Self::Password(password) => Some(password),
            Self::Stage1(_) => None,
        }
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Password(_) => "Password",
            Self::Native(_) => "Native",
            Self::Sha2(_) => "Sha2",
            Self::Other(_) => "Other",
            Self::Nothing => "Nothing",
        })
    }
}
