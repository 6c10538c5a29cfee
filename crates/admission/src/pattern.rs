//! Accounts as the server names them, `'user'@'host'`: which clients one is for, and which of two is
//! more specific. Owns no list of them; that is `rules`.

use std::cmp::Ordering;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use crate::like::{is_like, literal_prefix};

/// The name of an account. The host part may have the wildcards `%` and `_` or a netmask; an empty
/// user is everybody.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AccountName {
    /// The user.
    pub user: String,
    /// The host part.
    pub host: String,
}

/// Who a client is.
#[derive(Clone, Copy, Debug)]
pub struct Identity<'a> {
    /// The user it logged in as.
    pub user: &'a str,
    /// Its address; `None` over a unix socket.
    pub address: Option<IpAddr>,
    /// The name of its host, if that is known: `localhost` over a unix socket.
    pub host: Option<&'a str>,
}

/// An account that is ready to be matched.
#[derive(Clone, Debug)]
pub struct Pattern {
    pub(crate) name: AccountName,
    host: Host,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Host {
    /// A name or an address.
    Exact,
    /// An address of which only the bits of the mask count.
    Net { bits: u128, mask: u128, v4: bool },
    /// With wildcards; so many characters stand before the first.
    Like { prefix: usize },
    /// `%`.
    Any,
    /// Nothing: any as well, but looked at last.
    Empty,
}

impl AccountName {
    /// `'user'@'host'`.
    pub fn new(user: impl Into<String>, host: impl Into<String>) -> Self {
        Self {
            user: user.into(),
            host: host.into(),
        }
    }

    /// As it is shown.
    pub(crate) fn shown(&self) -> Arc<str> {
        self.to_string().into()
    }
}

impl fmt::Display for AccountName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [user, host] = [&self.user, &self.host].map(|part| part.replace('\'', "''"));
        write!(f, "'{user}'@'{host}'")
    }
}

impl Pattern {
    /// That of an account.
    pub fn new(name: AccountName) -> Self {
        let host = Host::parse(&name.host);
        Self { name, host }
    }

    /// The account.
    pub fn name(&self) -> &AccountName {
        &self.name
    }

    /// Whether a client may be it.
    pub fn matches(&self, who: &Identity<'_>) -> bool {
        let is_user = self.name.user.is_empty() || self.name.user == who.user;
        is_user && self.matches_host(who)
    }

    /// The order in which the server looks at accounts: hosts first, the most specific first.
    pub fn order(&self, other: &Self) -> Ordering {
        let key = |pattern: &Self| (pattern.host.rank(), pattern.name.user.is_empty());
        key(self)
            .cmp(&key(other))
            .then_with(|| self.name.cmp(&other.name))
    }

    fn matches_host(&self, who: &Identity<'_>) -> bool {
        let texts = [who.host.map(str::to_owned), who.address.map(show)];
        let mut texts = texts.into_iter().flatten();
        match self.host {
            Host::Any | Host::Empty => true,
            Host::Exact => {
                let address: Option<IpAddr> = self.name.host.parse().ok();
                let is_address =
                    address.is_some() && address.map(canonical) == who.address.map(canonical);
                is_address || texts.any(|text| text.eq_ignore_ascii_case(&self.name.host))
            }
            Host::Like { .. } => {
                let pattern = self.name.host.to_lowercase();
                texts.any(|text| is_like(&text.to_lowercase(), &pattern))
            }
            Host::Net { bits, mask, v4 } => who
                .address
                .map(canonical)
                .is_some_and(|address| address.is_ipv4() == v4 && number(address) & mask == bits),
        }
    }
}

impl Host {
    fn parse(written: &str) -> Self {
        match written {
            "" => return Self::Empty,
            "%" => return Self::Any,
            _ => {}
        }
        if let Some(net) = written.split_once('/').and_then(|(a, m)| Self::net(a, m)) {
            return net;
        }
        match literal_prefix(written) {
            Some(prefix) => Self::Like { prefix },
            None => Self::Exact,
        }
    }

    /// `198.51.100.0/255.255.255.0` or `198.51.100.0/24`.
    fn net(address: &str, mask: &str) -> Option<Self> {
        let address: IpAddr = address.parse().ok()?;
        let v4 = address.is_ipv4();
        let width = if v4 { 32 } else { 128 };
        let mask = match mask.parse::<u32>() {
            Ok(length) if length <= width => ones(length) << (width - length),
            Ok(_) => return None,
            Err(_) => {
                let mask: IpAddr = mask.parse().ok()?;
                (mask.is_ipv4() == v4).then(|| number(mask))?
            }
        };
        let bits = number(address);
        Some(Self::Net { bits, mask, v4 })
    }

    /// Lower is more specific.
    fn rank(&self) -> (u8, u32) {
        match self {
            Self::Exact => (0, 0),
            Self::Net { mask, .. } => (1, 128 - mask.count_ones()),
            Self::Like { prefix } => (2, u32::MAX - *prefix as u32),
            Self::Any => (3, 0),
            Self::Empty => (4, 0),
        }
    }
}

fn ones(length: u32) -> u128 {
    1_u128.checked_shl(length).map_or(u128::MAX, |bit| bit - 1)
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(u32::from(address)),
        IpAddr::V6(address) => u128::from(address),
    }
}

fn canonical(address: IpAddr) -> IpAddr {
    address.to_canonical()
}

fn show(address: IpAddr) -> String {
    canonical(address).to_string()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn who<'a>(user: &'a str, address: &str, host: Option<&'a str>) -> Identity<'a> {
        Identity {
            user,
            address: address.parse().ok(),
            host,
        }
    }

    #[test]
    fn hosts_match_as_the_server_matches_them() {
        for (host, address, name, expected) in [
            ("%", "10.1.2.3", None, true),
            ("", "10.1.2.3", None, true),
            ("10.1.2.3", "10.1.2.3", None, true),
            ("10.1.2.3", "::ffff:10.1.2.3", None, true),
            ("10.1.2.4", "10.1.2.3", None, false),
            ("10.1.%", "10.1.2.3", None, true),
            ("10.2.%", "10.1.2.3", None, false),
            ("10.1.2.0/255.255.255.0", "10.1.2.3", None, true),
            ("10.1.2.0/255.255.255.0", "10.1.3.3", None, false),
            ("10.1.2.0/24", "10.1.2.3", None, true),
            ("10.1.2.0/0", "10.1.2.3", None, false),
            ("0.0.0.0/0", "10.1.2.3", None, true),
            ("fd00::/8", "fd12::1", None, true),
            ("fd00::/8", "10.1.2.3", None, false),
            ("::1", "0:0:0:0:0:0:0:1", None, true),
            ("localhost", "", Some("localhost"), true),
            ("LOCALHOST", "", Some("localhost"), true),
            ("local%", "", Some("localhost"), true),
            ("10.%", "", Some("localhost"), false),
            ("%.example", "10.1.2.3", Some("db.Example"), true),
            ("10.1.2.0/33", "10.1.2.3", None, false),
        ] {
            let pattern = Pattern::new(AccountName::new("app", host));
            let found = pattern.matches(&who("app", address, name));
            assert_eq!(found, expected, "{address} {name:?} at {host}");
        }
    }

    #[test]
    fn users_are_compared_exactly_and_nobody_is_everybody() {
        let pattern = |user| Pattern::new(AccountName::new(user, "%"));
        let app = who("app", "10.1.2.3", None);
        let found = ["app", "App", "", "ap%"].map(|user| pattern(user).matches(&app));
        assert_eq!(found, [true, false, true, false]);
    }

    #[test]
    fn the_most_specific_host_comes_first_and_then_the_user() {
        let hosts = [
            ("app", "10.1.2.3"),
            ("", "localhost"),
            ("app", "10.1.2.0/24"),
            ("app", "10.1.0.0/16"),
            ("app", "10.1.2.%"),
            ("app", "10.%"),
            ("app", "%"),
            ("", "%"),
            ("app", ""),
        ];
        let expected = hosts.map(|(user, host)| AccountName::new(user, host));
        let mut patterns: Vec<Pattern> = expected.iter().rev().cloned().map(Pattern::new).collect();
        patterns.sort_by(Pattern::order);
        let names: Vec<AccountName> = patterns.into_iter().map(|pattern| pattern.name).collect();
        assert_eq!(names, expected);
    }

    #[test]
    fn names_are_shown_in_quotes() {
        assert_eq!(AccountName::new("o'n", "%").to_string(), "'o''n'@'%'");
    }
}
