//! The accounts of a run: of the configuration and of the database, open and not.

use std::sync::Arc;

use accounts::{
    Configured, Credential, Directory, Found, Reading, Register, Requires, Standing, View,
};
use engine::AccountName;
use wire::{AuthPlugin, native_password_hash, native_password_with};

/// The accounts, and what proves them.
pub(super) struct Accounts {
    register: Register,
    secret: [u8; 20],
    password: String,
}

impl Accounts {
    pub(super) fn new(asks_database: bool, sum: [u8; 32]) -> Self {
        let password: String = sum.iter().map(|byte| format!("{byte:02x}")).collect();
        let configured = Configured::from(("conf".to_owned(), password.clone().into()));
        let ours = asks_database.then(|| ("monitor".to_owned(), password.clone().into()));
        let secret = std::array::from_fn(|at| sum[at] ^ 0x5a);
        Self {
            register: Register::new([configured], ours),
            secret,
            password,
        }
    }

    pub(super) fn directory(&self) -> Arc<Directory> {
        self.register.directory()
    }

    /// The database says that there are some of them, and what is required of the last.
    pub(super) fn read(&mut self, choice: u8) -> Option<Arc<Directory>> {
        let hash = native_password_hash(&self.secret);
        let stored: String = hash.iter().map(|byte| format!("{byte:02X}")).collect();
        let native = || Credential::native(&format!("*{stored}"));
        let sha2 =
            || Credential::sha2("$A$005$no password at all has this for its sum, for it is none");
        let standing = match choice >> 6 {
            0 | 1 => Standing::Open,
            2 => Standing::Locked,
            _ => Standing::Expired,
        };
        let found = [
            ("native", native(), Standing::Open, Requires::Nothing),
            ("sha2", sha2(), Standing::Open, Requires::Nothing),
            ("shut", native(), standing, Requires::Nothing),
            ("ssl", native(), Standing::Open, Requires::Ssl),
            ("x509", native(), Standing::Open, Requires::X509),
            (
                "other",
                Credential::Other("ed25519".into()),
                Standing::Open,
                Requires::Nothing,
            ),
        ];
        let chosen = found.into_iter().enumerate();
        let chosen = chosen
            .filter(|(at, _)| choice >> at & 1 == 0)
            .map(|(_, found)| found);
        let accounts = chosen.map(|(user, credential, standing, requires)| Found {
            name: AccountName::new(user, "%"),
            credential,
            standing,
            requires,
            privileges: u64::from(choice & 1),
        });
        self.register.update(Reading {
            accounts: accounts.collect(),
            view: View::default(),
        })
    }

    /// Somebody, and what proves to be that.
    pub(super) fn proof(
        &self,
        choice: u8,
        nonce: &[u8; 20],
    ) -> (&'static str, AuthPlugin, Vec<u8>) {
        let by_hash = || native_password_with(&self.secret, nonce);
        let by_password = |plugin: AuthPlugin| plugin.response(self.password.as_bytes(), nonce);
        let (native, sha2) = (AuthPlugin::NativePassword, AuthPlugin::CachingSha2Password);
        match choice % 6 {
            0 => ("conf", native, by_password(native)),
            1 => ("conf", sha2, by_password(sha2)),
            2 => ("native", native, by_hash()),
            3 => ("shut", native, by_hash()),
            4 => ("ssl", native, by_hash()),
            _ => ("x509", native, by_hash()),
        }
    }
}

/// Users that a client may say it is.
pub(super) const USERS: [&str; 9] = [
    "conf", "native", "sha2", "shut", "ssl", "x509", "other", "monitor", "",
];
