//! `SHOW SCHEMAS`: what runs and waits in each schema that has limits, and those limits.

use engine::Usage;

use super::{Column, Row, Value, ms, number, text};

pub(super) const COLUMNS: &[Column] = &[
    text("schema"),
    number("connections"),
    number("running"),
    number("transactions"),
    number("waiting"),
    number("max_connections"),
    number("max_concurrent_queries"),
    number("max_concurrent_transactions"),
    number("max_queued"),
    number("queue_timeout_ms"),
    number("max_statement_time_ms"),
];

/// One row for each schema with limits that sessions have been in, in the order of their names.
pub(super) fn rows(usage: &[Usage]) -> Vec<Row> {
    let mut schemas: Vec<_> = usage.iter().filter(|usage| usage.is_schema).collect();
    schemas.sort_by(|a, b| a.name.cmp(&b.name));
    schemas.into_iter().map(row).collect()
}

fn row(usage: &Usage) -> Row {
    let quota = &usage.quota;
    let numbers = [
        usage.connections,
        usage.running,
        usage.transactions,
        usage.waiting,
        quota.max_connections,
        quota.max_concurrent_queries,
        quota.max_concurrent_transactions,
        quota.max_queued,
    ];
    let spans = [quota.queue_timeout, quota.max_statement_time];
    let mut row: Row = vec![usage.name.to_string().into()];
    row.extend(numbers.map(|number| Value::from(u64::from(number))));
    row.extend(spans.map(|span| Value::from(ms(span))));
    row
}
