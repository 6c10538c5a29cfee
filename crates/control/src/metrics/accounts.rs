//! What accounts do at once, wait for and were refused, and what is done in schemas with limits. Owns how many of
//! them are shown.

use std::collections::BTreeMap;
use std::fmt::Result;

use engine::{AccountReport, Usage};

use super::page::Page;

/// So many accounts have their own label; the others are added up as `other`.
const ACCOUNTS_MAX: usize = 200;

const OTHER: &str = "other";

/// Values by account.
type Values = BTreeMap<String, u64>;

/// A gauge of each account or schema.
type Gauge = (&'static str, &'static str, fn(&Usage) -> u32);

const OF_SCHEMAS: [Gauge; 4] = [
    (
        "myriad_schema_connections",
        "Client connections in schemas with limits, by schema",
        |usage| usage.connections,
    ),
    (
        "myriad_schema_running",
        "Statements that run, by default schema, as far as it has limits",
        |usage| usage.running,
    ),
    (
        "myriad_schema_transactions",
        "Transactions that are open, by default schema, as far as it has limits",
        |usage| usage.transactions,
    ),
    (
        "myriad_schema_waiting",
        "Statements that wait, by default schema, as far as it has limits",
        |usage| usage.waiting,
    ),
];

/// Writes the families.
pub(super) fn write(page: &mut Page<'_>, usage: &[Usage], accounts: &[AccountReport]) -> Result {
    let labels = Labels::new(usage, true);
    for (name, help, value) in OF_SCHEMAS {
        let schemas = usage.iter().filter(|usage| usage.is_schema);
        let values = schemas.map(|usage| (&*usage.name, u64::from(value(usage))));
        page.gauges(name, help, "schema", labels.sum(values))?;
    }
    let labels = Labels::new(usage, false);
    let mut gauge = |name, help, value: fn(&Usage) -> u32| {
        let usage = usage.iter().filter(|usage| !usage.is_schema);
        let values = usage.map(|usage| (&*usage.name, u64::from(value(usage))));
        page.gauges(name, help, "account", labels.sum(values))
    };
    gauge(
        "myriad_account_connections",
        "Client connections, by account",
        |usage| usage.connections,
    )?;
    gauge(
        "myriad_account_running",
        "Statements that run, by account, as far as it has limits on them",
        |usage| usage.running,
    )?;
    gauge(
        "myriad_account_transactions",
        "Transactions that are open, by account, as far as it has limits on them",
        |usage| usage.transactions,
    )?;
    gauge(
        "myriad_account_waiting",
        "Statements that wait for a permit, by account",
        |usage| usage.waiting,
    )?;
    let mut counter = |name, help, value: fn(&AccountReport) -> u64| {
        let values = accounts
            .iter()
            .map(|account| (&*account.name, value(account)));
        page.counters(name, help, "account", labels.sum(values))
    };
    counter(
        "myriad_account_admitted_total",
        "Statements that were let through, by account",
        |account| account.counters.admitted,
    )?;
    counter(
        "myriad_account_timed_out_total",
        "Statements that waited too long and never ran, by account",
        |account| account.counters.timed_out,
    )?;
    counter(
        "myriad_account_rejected_total",
        "Statements that were refused because too many waited, by account",
        |account| account.counters.rejected,
    )?;
    counter(
        "myriad_account_abandoned_total",
        "Statements that left the queue because their client hung up, by account",
        |account| account.counters.abandoned,
    )?;
    counter(
        "myriad_account_killed_total",
        "Statements that were ended while they waited, by account",
        |account| account.counters.killed,
    )
}

/// The accounts, or schemas, that have a label: those that came first keep theirs.
struct Labels<'a>(Vec<&'a str>);

impl<'a> Labels<'a> {
    fn new(usage: &'a [Usage], of_schemas: bool) -> Self {
        let accounts = usage.iter().filter(|usage| usage.is_schema == of_schemas);
        Self(
            accounts
                .map(|usage| &*usage.name)
                .take(ACCOUNTS_MAX)
                .collect(),
        )
    }

    fn sum<'v>(&self, values: impl Iterator<Item = (&'v str, u64)>) -> Values {
        let mut sums = Values::new();
        for (name, value) in values {
            let label = if self.0.contains(&name) { name } else { OTHER };
            *sums.entry(label.to_owned()).or_default() += value;
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use engine::Quota;

    use super::*;

    #[test]
    fn accounts_beyond_the_bound_are_added_up() {
        let usage = |number: usize| Usage {
            name: number.to_string().into(),
            is_schema: false,
            connections: 1,
            running: 0,
            transactions: 0,
            waiting: 0,
            quota: Quota::NONE,
        };
        let usage: Vec<Usage> = (0..ACCOUNTS_MAX + 5).map(usage).collect();
        let labels = Labels::new(&usage, false);
        let sums = labels.sum(usage.iter().map(|usage| (&*usage.name, 1)));
        assert_eq!(sums.len(), ACCOUNTS_MAX + 1);
        assert_eq!((sums[OTHER], sums["0"]), (5, 1));
    }
}
