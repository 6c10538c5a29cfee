//! `[[account]]`: who may log in, and with which password. `[[admin.account]]` is read the same way.
//!
//! Where passwords come from is `password`'s matter.

use std::collections::BTreeMap;

use crate::error::Wrong;
use crate::password::{self, Surroundings};
use crate::secret::Secret;
use crate::section::Section;
use crate::tls::{REQUIRE, Require};
use crate::value;

/// The longest user name, in bytes: MariaDB's 128; MySQL's are shorter.
const USER_BYTES_MAX: usize = 128;

/// One who may log in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// The user name, 1 to 128 bytes.
    pub user: String,
    /// The password, from wherever it came; may be empty.
    pub password: Secret,
    /// How its clients must connect.
    pub require: Require,
}

/// Reads all accounts and sees that no user occurs twice.
pub(crate) fn read_all(root: &mut Section<'_, '_>, surroundings: &Surroundings) -> Vec<Account> {
    let mut lines = BTreeMap::new();
    root.sections("account", |section| Account {
        require: section.read("require", Require::None, |v| value::choice(v, &REQUIRE)),
        ..read(section, &mut lines, surroundings)
    })
}

/// Reads one account, if there is one.
pub(crate) fn read_optional(
    section: &mut Section<'_, '_>,
    surroundings: &Surroundings,
) -> Option<Account> {
    let account = section
        .is_written()
        .then(|| read(section, &mut BTreeMap::new(), surroundings));
    account.filter(|account| !account.user.is_empty())
}

/// Reads one account; `lines` says at which lines the users before it are.
pub(crate) fn read(
    section: &mut Section<'_, '_>,
    lines: &mut BTreeMap<String, usize>,
    surroundings: &Surroundings,
) -> Account {
    Account {
        user: read_user(section, lines),
        password: password::read(section, surroundings),
        require: Require::None,
    }
}

/// Reads a user name; `lines` says at which lines the earlier ones are.
fn read_user(section: &mut Section<'_, '_>, lines: &mut BTreeMap<String, usize>) -> String {
    let fix = "write user = \"name\"";
    let Some(written) = section.take("user") else {
        section.blame_missing("user", fix);
        return String::new();
    };
    let line = section.line(written.at);
    let user = value::text(written.value, fix)
        .and_then(check_user)
        .and_then(|user| {
            let Some(first) = lines.get(user) else {
                return Ok(user);
            };
            let what = format!("{user:?} at line {line} is already an account at line {first}");
            Err(Wrong::new(what, "remove one of the two"))
        });
    match user {
        Ok(user) => {
            lines.insert(user.to_owned(), line);
            user.to_owned()
        }
        Err(wrong) => {
            section.blame("user", written.at, wrong);
            String::new()
        }
    }
}

fn check_user(user: &str) -> Result<&str, Wrong> {
    let fix = format!("write a name of 1 to {USER_BYTES_MAX} bytes");
    match user.len() {
        0 => Err(Wrong::new("the name is empty", fix)),
        len if len > USER_BYTES_MAX => Err(Wrong::new(format!("the name has {len} bytes"), fix)),
        _ if user.contains('\0') => Err(Wrong::new("the name has a NUL byte", "remove it")),
        _ => Ok(user),
    }
}
