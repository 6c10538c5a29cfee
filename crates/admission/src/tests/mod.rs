//! The gate in every order, the scheduler against a naive model, and all workers from a seed.

#[cfg(loom)]
mod loom;

#[cfg(not(loom))]
mod model;
#[cfg(not(loom))]
mod scenes;
#[cfg(not(loom))]
mod storm;
#[cfg(not(loom))]
mod workers;
#[cfg(not(loom))]
mod world;

#[cfg(not(loom))]
use crate::{AccountName, Identity, Quota, Rules};

/// A quota with these limits on queries and transactions.
#[cfg(not(loom))]
fn limits(queries: u32, transactions: u32) -> Quota {
    Quota {
        max_concurrent_queries: queries,
        max_concurrent_transactions: transactions,
        ..Quota::NONE
    }
}

/// Rules for the users "0", "1", …
#[cfg(not(loom))]
fn rules(quotas: &[Quota]) -> Rules {
    let quotas = quotas.iter().cloned().enumerate();
    let named = quotas.map(|(user, quota)| (AccountName::new(user.to_string(), "%"), quota));
    Rules::new(named, Quota::NONE, [])
}

#[cfg(not(loom))]
fn user(name: &str) -> Identity<'_> {
    Identity {
        user: name,
        address: None,
        host: Some("localhost"),
    }
}
