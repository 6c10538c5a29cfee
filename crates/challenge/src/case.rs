//! What distinguishes runs of one way and width: the limits of accounts that are in force.
//!
//! Not here: what the limits do, which is the front door's.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::database::{OTHER_USER, USER};

/// Statements of an account that has a limit like the original experiment's.
const WIDE: u32 = 128;
/// The least limit but one that a misbehaving account is held to.
const NARROW: u32 = 4;
/// The weight of an account against that of another one, which is 1.
const WEIGHT: u32 = 32;
/// Statements that run at once in a storm.
pub(crate) const STORM_QUERIES: u32 = 16;

/// The limits in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Case {
    /// 128 statements and 128 transactions at once.
    BothLimits,
    /// None.
    NoLimits,
    /// The misbehaving account may run 4 statements at once.
    QueryLimit4,
    /// The misbehaving account may have 4 transactions at once.
    TransactionLimit4,
    /// The misbehaving account may run 4 statements at once, and has weight 1, the protected one 32.
    Weight32,
    /// The misbehaving account may run 1 statement at once.
    QueryLimit1,
    /// A storm at 16 statements at once: first come, first served.
    Fifo,
    /// The same: the newest first while the oldest waits for too long.
    Lifo,
    /// The same: who has waited for too long is refused.
    Codel,
}

impl Case {
    /// As people read it.
    pub fn name(self) -> &'static str {
        match self {
            Self::BothLimits => "both limits 128",
            Self::NoLimits => "no limits",
            Self::QueryLimit4 => "query limit 4",
            Self::TransactionLimit4 => "transaction limit 4",
            Self::Weight32 => "query limit 4, weight 1 against 32",
            Self::QueryLimit1 => "query limit 1",
            Self::Fifo => "fifo",
            Self::Lifo => "lifo",
            Self::Codel => "codel",
        }
    }

    /// The quotas that make it, as they stand in the front door's configuration.
    pub(crate) fn quotas(self) -> String {
        let queries = "max_concurrent_queries";
        let transactions = "max_concurrent_transactions";
        let quota = |account: &str, limits: &[(&str, u32)]| {
            let limits = limits.iter().map(|(key, limit)| format!("{key} = {limit}"));
            let limits: Vec<String> = limits.collect();
            format!(
                "\n[[quota]]\naccount = \"{account}\"\n{}\n",
                limits.join("\n")
            )
        };
        let two = |key: &str, ours: u32, theirs: u32| {
            quota(USER, &[(key, ours)]) + &quota(OTHER_USER, &[(key, theirs)])
        };
        match self {
            Self::BothLimits => quota(USER, &[(queries, WIDE), (transactions, WIDE)]),
            Self::NoLimits => String::new(),
            Self::QueryLimit4 => two(queries, WIDE, NARROW),
            Self::TransactionLimit4 => two(transactions, WIDE, NARROW),
            Self::Weight32 => {
                quota(USER, &[(queries, WIDE), ("weight", WEIGHT)])
                    + &quota(OTHER_USER, &[(queries, NARROW), ("weight", 1)])
            }
            Self::QueryLimit1 => two(queries, WIDE, 1),
            Self::Fifo | Self::Lifo | Self::Codel => {
                let quota = quota(USER, &[(queries, STORM_QUERIES)]);
                format!("{quota}overload = \"{}\"\n", self.name())
            }
        }
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_written_for_the_account_that_has_them() {
        let limited = Case::QueryLimit4.quotas();
        let (ours, theirs) = limited.split_once(OTHER_USER).unwrap();
        assert!(ours.contains("max_concurrent_queries = 128"), "{limited}");
        assert!(theirs.contains("max_concurrent_queries = 4"), "{limited}");
        let weighted = Case::Weight32.quotas();
        assert!(weighted.ends_with("max_concurrent_queries = 4\nweight = 1\n"));
        assert_eq!(Case::NoLimits.quotas(), "");
        let storm = Case::Codel.quotas();
        assert!(storm.ends_with("max_concurrent_queries = 16\noverload = \"codel\"\n"));
    }
}
