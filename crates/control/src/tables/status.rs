//! `SHOW STATUS`: everything of `/metrics` that is a number, under names of one word.

use engine::{DisconnectReason, PinReason};

use super::Row;
use crate::credentials::Attempt;
use crate::desk::Desk;
use crate::metrics;
use crate::outlook::Backend;
use crate::watch::Sighting;

pub(super) fn rows(desk: &Desk, sighting: &Sighting) -> Vec<Row> {
    let mut page = Page(Vec::new());
    let total = &sighting.collected.total;
    let (gauges, counters) = (&total.gauges, &total.counters);
    page.add("version", env!("CARGO_PKG_VERSION"));
    page.add("server_version", &*total.server_version);
    page.add("workers", sighting.collected.reports.len() as u64);
    page.add("workers_responding", sighting.collected.responding() as u64);
    page.add("draining", u64::from((desk.facts.draining)()));
    let reachable = sighting.backend == Backend::Reachable;
    page.add("backend_reachable", u64::from(reachable));
    let accounts = sighting.accounts.as_ref();
    let readable = accounts.is_none_or(|accounts| accounts.last == Attempt::Read);
    page.add("accounts_readable", u64::from(readable));
    let ledger = &desk.facts.shared.ledger;
    page.add("backend_slots_total", ledger.total() as u64);
    page.add("backend_slots_taken", ledger.taken() as u64);
    let standstill = desk.facts.shared.standstill().is_some();
    page.add("standstill", u64::from(standstill));
    let (hosts_failed, _) = desk.facts.shared.hosts_failed();
    page.add("hosts_failed", hosts_failed as u64);
    let (command_bytes, clients_deferred) = desk.facts.shared.command_memory();
    page.add("command_buffer_bytes", command_bytes as u64);
    page.add("clients_deferred", clients_deferred as u64);
    page.add("hosts_blocked", desk.facts.shared.hosts_blocked() as u64);
    page.all("clients", metrics::clients(gauges));
    page.all("backends", metrics::backends(gauges));
    page.add("busy_limit", gauges.busy_limit);
    page.add("lane_limit", gauges.lane_limit);
    page.add("pool_keys", gauges.pool_keys);
    page.add("prepared_templates", gauges.prepared_templates);
    page.add("prepared_on_backends", gauges.prepared_on_backends);
    page.add("queue_wait_us_max", gauges.queue_wait_us_max);
    let reasons = DisconnectReason::ALL.into_iter();
    let disconnects = reasons.map(|reason| (reason.name(), counters.disconnects[reason as usize]));
    page.all("disconnects", disconnects);
    let reasons = PinReason::ALL.iter();
    let pins = reasons.map(|&reason| (reason.name(), counters.pins[reason as usize & 31]));
    page.all("pins", pins);
    let driver = (desk.facts.driver_counters)();
    for (name, _, value) in counters.each().into_iter().chain(driver) {
        page.add(name, value);
    }
    for (name, _, value) in desk.counts() {
        page.add(name, value);
    }
    page.0
}

struct Page(Vec<Row>);

impl Page {
    fn add(&mut self, name: &str, value: impl Into<super::Value>) {
        self.0.push(vec![name.into(), value.into()]);
    }

    fn all(&mut self, family: &str, values: impl IntoIterator<Item = (&'static str, u64)>) {
        for (name, value) in values {
            self.add(&format!("{family}_{name}"), value);
        }
    }
}
