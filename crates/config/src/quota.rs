//! `[[quota]]` and `[[schema]]`: limits for accounts, for all other accounts, and for schemas.
//!
//! Owns the names and what applies where two places speak of one account; the limits themselves are
//! `limits`' matter, and which client is which account is admission's.

use std::collections::BTreeMap;
use std::fmt;

use crate::error::Wrong;
use crate::limits::Limits;
use crate::section::Section;
use crate::value;

const ACCOUNT_FIX: &str = "write an account such as \"'app'@'%'\", or \"app\" for any host";
const SCHEMA_FIX: &str = "write name = \"schema\", with % and _ as in a grant";

/// `'user'@'host'`, as the server names accounts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccountName {
    /// The user; empty for any.
    pub user: String,
    /// The host part, which may have wildcards or a netmask; `%` unless it is written.
    pub host: String,
}

/// Limits for an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Whose; `None`: of every account that is not named, each by itself.
    pub account: Option<AccountName>,
    /// Which.
    pub limits: Limits,
}

/// Limits for the sessions whose default schema it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    /// Its name; with wildcards, each schema that it matches by itself.
    pub name: String,
    /// Which.
    pub limits: Limits,
}

/// What applies after all places were heard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quotas {
    /// Of every account that is not named.
    pub others: Limits,
    /// Of those that are.
    pub accounts: BTreeMap<AccountName, Limits>,
}

impl Quotas {
    /// What the configuration says, and above that what statements have set since. What neither says
    /// of an account is as for all others.
    pub fn new(configured: &[Quota], set: &BTreeMap<AccountName, Limits>) -> Self {
        let others = configured.iter().find(|quota| quota.account.is_none());
        let others = others.map(|quota| quota.limits.clone()).unwrap_or_default();
        let mut accounts = BTreeMap::new();
        let named = configured.iter().filter_map(|quota| {
            let name = quota.account.as_ref()?;
            Some((name, &quota.limits))
        });
        for (name, limits) in named.chain(set) {
            let so_far = accounts.get(name).unwrap_or(&others);
            accounts.insert(name.clone(), so_far.overlaid(limits));
        }
        Self { others, accounts }
    }
}

impl AccountName {
    /// Reads `'user'@'host'`, `user@host` or `user`.
    pub(crate) fn parse(written: &str) -> Result<Self, Wrong> {
        let wrong = || Wrong::new(format!("{written:?} is no account"), ACCOUNT_FIX);
        let (user, rest) = part(written).ok_or_else(wrong)?;
        if rest.is_empty() {
            let host = "%".to_owned();
            return Ok(Self { user, host });
        }
        let host = rest.strip_prefix('@').and_then(part);
        match host {
            Some((host, "")) => Ok(Self { user, host }),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for AccountName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [user, host] = [&self.user, &self.host].map(|part| part.replace('\'', "''"));
        write!(f, "'{user}'@'{host}'")
    }
}

/// One part of an account, in quotes or not, and what follows it.
fn part(written: &str) -> Option<(String, &str)> {
    let Some(mut rest) = written.strip_prefix('\'') else {
        let end = written.find('@').unwrap_or(written.len());
        let (part, rest) = written.split_at(end);
        let is_plain = !part.is_empty() && !part.contains(['\'', ' ']);
        return is_plain.then(|| (part.to_owned(), rest));
    };
    let mut part = String::new();
    loop {
        let (before, after) = rest.split_once('\'')?;
        part.push_str(before);
        match after.strip_prefix('\'') {
            Some(after) => rest = after,
            None => return Some((part, after)),
        }
        part.push('\'');
    }
}

/// Reads all quotas and sees that none is for an account that has one.
pub(crate) fn read_all(root: &mut Section<'_, '_>) -> Vec<Quota> {
    let mut lines = BTreeMap::new();
    root.sections("quota", |section| {
        let account = section.take("account").map(|written| {
            let name = value::text(written.value, ACCOUNT_FIX).and_then(AccountName::parse);
            (written.at, name)
        });
        let (at, account) = match account {
            None => (section.place(), None),
            Some((at, Ok(name))) => (at, Some(name)),
            Some((at, Err(wrong))) => {
                section.blame("account", at, wrong);
                (at, None)
            }
        };
        let shown = match &account {
            Some(name) => name.to_string(),
            None => "a quota for all other accounts".to_owned(),
        };
        blame_twice(section, ("account", at), (shown, &mut lines));
        let limits = Limits::read_of_account(section);
        Quota { account, limits }
    })
}

/// Reads all schemas and sees that no name occurs twice.
pub(crate) fn read_schemas(root: &mut Section<'_, '_>) -> Vec<Schema> {
    let mut lines = BTreeMap::new();
    root.sections("schema", |section| {
        let name = read_schema_name(section, &mut lines);
        let limits = Limits::read_of_schema(section);
        Schema { name, limits }
    })
}

fn read_schema_name(section: &mut Section<'_, '_>, lines: &mut BTreeMap<String, usize>) -> String {
    let Some(written) = section.take("name") else {
        section.blame_missing("name", SCHEMA_FIX);
        return String::new();
    };
    let name = value::text(written.value, SCHEMA_FIX).and_then(|name| match name {
        "" => Err(Wrong::new("the name is empty", SCHEMA_FIX)),
        name => Ok(name.to_owned()),
    });
    match name {
        Ok(name) => {
            blame_twice(section, ("name", written.at), (name.clone(), lines));
            name
        }
        Err(wrong) => {
            section.blame("name", written.at, wrong);
            String::new()
        }
    }
}

/// Notes what occurs a second time; `lines` says at which lines the earlier ones are.
fn blame_twice(
    section: &mut Section<'_, '_>,
    (key, at): (&str, usize),
    (what, lines): (String, &mut BTreeMap<String, usize>),
) {
    let line = section.line(at);
    if let Some(first) = lines.get(&what) {
        let what = format!("{what} at line {line} is already at line {first}");
        section.blame(key, at, Wrong::new(what, "remove one of the two"));
    } else {
        lines.insert(what, line);
    }
}
