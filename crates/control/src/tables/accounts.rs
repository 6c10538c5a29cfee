//! `SHOW ACCOUNTS`: what runs and waits of each account, what became of its statements, and its limits.

use super::{Column, Row, Value, ms, number, text};
use engine::{AccountReport, Usage};

pub(super) const COLUMNS: &[Column] = &[
    text("account"),
    number("connections"),
    number("running"),
    number("transactions"),
    number("waiting"),
    number("admitted"),
    number("timed_out"),
    number("rejected"),
    number("abandoned"),
    number("killed"),
    number("wait_us_p50"),
    number("wait_us_p95"),
    number("wait_us_max"),
    number("max_connections"),
    number("max_concurrent_queries"),
    number("max_concurrent_transactions"),
    number("max_queued"),
    number("queue_timeout_ms"),
    number("max_statement_time_ms"),
    number("max_connects_per_second"),
    number("weight"),
    text("overload"),
];

/// One row for each account that was seen, in the order of their names.
pub(super) fn rows(usage: &[Usage], told: &[AccountReport]) -> Vec<Row> {
    let accounts = usage.iter().filter(|usage| !usage.is_schema);
    let mut accounts: Vec<_> = accounts.collect();
    accounts.sort_by(|a, b| a.name.cmp(&b.name));
    let rows = accounts.into_iter().map(|usage| {
        let report = told.iter().find(|report| report.name == usage.name);
        row(usage, report)
    });
    rows.collect()
}

/// An account that no worker has told of has no counts, and its limits are not known here.
fn row(usage: &Usage, report: Option<&AccountReport>) -> Row {
    let numbers = [
        usage.connections,
        usage.running,
        usage.transactions,
        usage.waiting,
    ];
    let mut row: Row = vec![usage.name.to_string().into()];
    row.extend(numbers.map(|count| Value::from(u64::from(count))));
    let Some(AccountReport {
        quota, counters, ..
    }) = report
    else {
        row.resize(COLUMNS.len(), Value::None);
        return row;
    };
    let waits = &counters.waits;
    let counts = [
        counters.admitted,
        counters.timed_out,
        counters.rejected,
        counters.abandoned,
        counters.killed,
        waits.percentile(50).as_us(),
        waits.percentile(95).as_us(),
        waits.max().as_us(),
        u64::from(quota.max_connections),
        u64::from(quota.max_concurrent_queries),
        u64::from(quota.max_concurrent_transactions),
        u64::from(quota.max_queued),
        ms(quota.queue_timeout),
        ms(quota.max_statement_time),
        u64::from(quota.max_connects_per_second),
        u64::from(quota.weight),
    ];
    row.extend(counts.map(Value::from));
    row.push(format!("{:?}", quota.overload).to_lowercase().into());
    row
}
