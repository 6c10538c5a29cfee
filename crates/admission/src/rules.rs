//! Which quota applies to whom: accounts by pattern, the most specific first, one quota for all
//! others, and schemas. Owns no counts.

use std::sync::Arc;

use crate::like::{is_like, literal_prefix};
use crate::pattern::{AccountName, Identity, Pattern};
use crate::quota::Quota;

/// All quotas.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    accounts: Vec<(Pattern, Quota)>,
    others: Quota,
    schemas: Vec<(String, Quota)>,
}

impl Rules {
    /// Rules for these accounts and schemas; every account without a quota of its own has `others`,
    /// each by itself. The name of a schema may have wildcards, as in a grant; each schema that it
    /// matches is counted by itself.
    pub fn new(
        accounts: impl IntoIterator<Item = (AccountName, Quota)>,
        others: Quota,
        schemas: impl IntoIterator<Item = (String, Quota)>,
    ) -> Self {
        let accounts = accounts.into_iter();
        let mut accounts: Vec<_> = accounts.map(|(name, q)| (Pattern::new(name), q)).collect();
        accounts.sort_by(|(one, _), (other, _)| one.order(other));
        let mut schemas: Vec<_> = schemas.into_iter().collect();
        schemas.sort_by_key(|(name, _)| {
            let prefix = literal_prefix(name);
            (prefix.is_some(), prefix.map(|prefix| usize::MAX - prefix))
        });
        Self {
            accounts,
            others,
            schemas,
        }
    }

    /// The account that a client is counted under: that of the most specific pattern. The others are
    /// counted by user.
    pub(crate) fn account_of(&self, who: &Identity<'_>) -> AccountName {
        let pattern = self.accounts.iter().find(|(p, _)| p.matches(who));
        match pattern {
            Some((pattern, _)) => pattern.name.clone(),
            None => AccountName::new(who.user, "%"),
        }
    }

    /// What is configured for an account that [`Rules::account_of`] named, now or earlier.
    pub(crate) fn quota_of(&self, account: &AccountName) -> &Quota {
        let named = self.accounts.iter().find(|(p, _)| p.name == *account);
        named.map_or(&self.others, |(_, quota)| quota)
    }

    /// Whether anything is configured for any schema.
    pub(crate) fn has_schemas(&self) -> bool {
        !self.schemas.is_empty()
    }

    /// What is configured for a schema; `None` if nothing is.
    pub(crate) fn schema(&self, name: &str) -> Option<&Quota> {
        let pattern = self.schemas.iter().find(|(p, _)| is_like(name, p));
        pattern.map(|(_, quota)| quota)
    }
}

/// What a row is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Subject {
    Account(AccountName),
    Schema(Arc<str>),
}

impl Subject {
    pub(crate) fn shown(&self) -> Arc<str> {
        match self {
            Self::Account(name) => name.shown(),
            Self::Schema(name) => name.clone(),
        }
    }

    pub(crate) fn quota(&self, rules: &Rules) -> Quota {
        match self {
            Self::Account(name) => rules.quota_of(name).clone(),
            Self::Schema(name) => rules.schema(name).cloned().unwrap_or_default(),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn limit(n: u32) -> Quota {
        Quota {
            max_concurrent_queries: n,
            ..Quota::NONE
        }
    }

    fn rules() -> Rules {
        Rules::new(
            [
                (AccountName::new("app", "%"), limit(1)),
                (AccountName::new("app", "10.%"), limit(2)),
                (AccountName::new("", "10.9.%"), limit(3)),
            ],
            limit(9),
            [
                ("shop%".to_owned(), limit(4)),
                ("shop".to_owned(), limit(5)),
            ],
        )
    }

    #[test]
    fn the_most_specific_pattern_counts() {
        for (user, address, expected, quota) in [
            ("app", "10.1.1.1", "'app'@'10.%'", 2),
            ("app", "11.1.1.1", "'app'@'%'", 1),
            // As on the server, a host that says more comes before a user that does.
            ("app", "10.9.1.1", "''@'10.9.%'", 3),
            ("eve", "10.9.1.1", "''@'10.9.%'", 3),
            ("eve", "11.1.1.1", "'eve'@'%'", 9),
            ("bob", "11.1.1.1", "'bob'@'%'", 9),
        ] {
            let who = Identity {
                user,
                address: address.parse().ok(),
                host: None,
            };
            let account = rules().account_of(&who);
            assert_eq!(account.to_string(), expected);
            assert_eq!(rules().quota_of(&account), &limit(quota), "{expected}");
        }
    }

    #[test]
    fn schemas_without_a_quota_have_none() {
        let rules = rules();
        let found = ["shop", "shop2", "other"].map(|name| rules.schema(name).cloned());
        assert_eq!(found, [Some(limit(5)), Some(limit(4)), None]);
    }
}
