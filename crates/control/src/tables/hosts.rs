//! `SHOW HOSTS`: the addresses where handshakes broke, and which of them are blocked for that.

use engine::BrokenHost;

use super::{Column, Row, number, text};

pub(super) const COLUMNS: &[Column] =
    &[text("host"), number("broken_handshakes"), number("blocked")];

/// One row for each address, in the order of addresses.
pub(super) fn rows(mut hosts: Vec<BrokenHost>) -> Vec<Row> {
    hosts.sort_by_key(|host| host.address);
    hosts.iter().map(row).collect()
}

fn row(host: &BrokenHost) -> Row {
    vec![
        host.address.to_string().into(),
        u64::from(host.handshakes).into(),
        u64::from(host.blocked).into(),
    ]
}
