//! The text of `/metrics`: which families there are, and where their values come from.

mod accounts;
mod page;
mod process;

use std::fmt::{Error, Result};
use std::sync::Arc;

use engine::{DisconnectReason, Gauges, Report, Usage};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, text};
use prometheus_client::registry::Registry;

use crate::credentials::Attempt;
use crate::desk::Desk;
use crate::facts::DriverCount;
use crate::outlook::Backend;
use crate::watch::Sighting;
use page::Page;
use process::Process;

/// What `/metrics` declares its text to be.
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Everything that one scrape shows.
#[derive(Debug)]
pub(crate) struct Scrape {
    sighting: Arc<Sighting>,
    process: Process,
    driver: Vec<DriverCount>,
    driver_memory: Vec<(&'static str, u64)>,
    slots: u64,
    slots_taken: u64,
    usage: Vec<Usage>,
    draining: bool,
    pin_reasons: Vec<&'static str>,
    listeners: [DriverCount; 5],
    hosts_failed: u64,
    command_bytes: u64,
    clients_deferred: u64,
    hosts_blocked: u64,
    standstill: bool,
}

impl Scrape {
    /// Puts together what the workers told and what the process knows.
    pub(crate) fn new(sighting: Arc<Sighting>, desk: &Desk) -> Self {
        let facts = &desk.facts;
        let (command_bytes, clients_deferred) = facts.shared.command_memory();
        Self {
            sighting,
            process: Process::read(),
            driver: (facts.driver_counters)(),
            driver_memory: (facts.driver_memory)(),
            slots: facts.shared.ledger.total() as u64,
            slots_taken: facts.shared.ledger.taken() as u64,
            usage: facts.shared.admission.usage(),
            draining: (facts.draining)(),
            pin_reasons: facts.pin_reasons.clone(),
            listeners: desk.counts(),
            hosts_failed: facts.shared.hosts_failed().0 as u64,
            command_bytes: command_bytes as u64,
            clients_deferred: clients_deferred as u64,
            hosts_blocked: facts.shared.hosts_blocked() as u64,
            standstill: facts.shared.standstill().is_some(),
        }
    }

    /// The text in the OpenMetrics format.
    pub(crate) fn text(self) -> std::result::Result<String, Error> {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(self));
        let mut text = String::new();
        text::encode(&mut text, &registry)?;
        Ok(text)
    }

    fn workers(&self, page: &mut Page<'_>) -> Result {
        page.build_info(
            "myriad_build_info",
            "The version that runs",
            env!("CARGO_PKG_VERSION"),
        )?;
        let collected = &self.sighting.collected;
        let workers = collected.reports.len() as u64;
        page.gauge("myriad_workers", "Workers, ended ones included", workers)?;
        page.gauge(
            "myriad_workers_responding",
            "Workers that answered this scrape; gauges are theirs only",
            collected.responding() as u64,
        )?;
        page.gauge(
            "myriad_draining",
            "1 while no new clients are taken",
            u64::from(self.draining),
        )?;
        page.gauge(
            "myriad_hosts_failed",
            "Addresses that failed to log in and are remembered for that",
            self.hosts_failed,
        )?;
        page.gauge(
            "myriad_command_buffer_bytes",
            "Memory that is reserved for commands of clients (command_buffer_total)",
            self.command_bytes,
        )?;
        page.gauge(
            "myriad_clients_deferred",
            "Clients that are not read from until there is memory for their command",
            self.clients_deferred,
        )?;
        page.gauge(
            "myriad_hosts_blocked",
            "Addresses that are blocked because handshakes broke there (server.max_connect_errors)",
            self.hosts_blocked,
        )
    }

    fn memory(&self, page: &mut Page<'_>, gauges: &Gauges) -> Result {
        let clients = [
            ("client_records", gauges.client_bytes),
            ("client_ids", gauges.client_id_bytes),
            ("client_inboxes", gauges.client_inbox_bytes),
            ("prepared_texts", gauges.prepared_text_bytes),
            ("long_data", gauges.long_data_bytes),
            ("sessions", gauges.session_bytes),
        ];
        let kinds = clients.into_iter().chain(self.driver_memory.clone());
        page.gauges(
            "myriad_memory_bytes",
            "Memory of the workers in bytes, by kind",
            "kind",
            kinds,
        )
    }

    fn backend(&self, page: &mut Page<'_>) -> Result {
        let reachable = self.sighting.backend == Backend::Reachable;
        page.gauge(
            "myriad_backend_reachable",
            "1 if a backend connection is open or the last one asked for could be opened",
            u64::from(reachable),
        )?;
        let accounts = self.sighting.accounts.as_ref();
        let readable = accounts.is_none_or(|accounts| accounts.last == Attempt::Read);
        page.gauge(
            "myriad_accounts_readable",
            "1 unless [monitor] could not read the accounts of the database last",
            u64::from(readable),
        )?;
        page.gauge(
            "myriad_backend_slots_total",
            "Backend connections that there may be",
            self.slots,
        )?;
        page.gauge(
            "myriad_backend_slots_taken",
            "Backend connections that there are or that are being made",
            self.slots_taken,
        )?;
        page.gauge(
            "myriad_standstill",
            "1 while silent sessions hold all backend connections and statements wait",
            u64::from(self.standstill),
        )
    }

    fn pins(&self, page: &mut Page<'_>, total: &Report) -> Result {
        page.gauges(
            "myriad_pinned_sessions",
            "Pinned sessions by reason; one may have several",
            "reason",
            self.by_reason(&total.gauges.pinned),
        )?;
        page.counters(
            "myriad_pins_total",
            "Sessions that became pinned, by reason",
            "reason",
            self.by_reason(&total.counters.pins),
        )
    }

    fn by_reason(&self, counts: &[u64]) -> Vec<(&'static str, u64)> {
        let names = self.pin_reasons.iter().copied();
        let mut named: Vec<_> = names.zip(counts.iter().copied()).collect();
        let other = counts.iter().skip(named.len()).sum();
        if other > 0 || named.is_empty() {
            named.push(("other", other));
        }
        named
    }

    fn counters(&self, page: &mut Page<'_>, total: &Report) -> Result {
        let reasons = DisconnectReason::ALL.into_iter();
        page.counters(
            "myriad_disconnects_total",
            "Client connections that ended, by reason",
            "reason",
            reasons.map(|reason| (reason.name(), total.counters.disconnects[reason as usize])),
        )?;
        let counts = total.counters.each();
        for (name, help, value) in counts.iter().chain(&self.driver).chain(&self.listeners) {
            page.counter(&format!("myriad_{name}_total"), help, *value)?;
        }
        Ok(())
    }
}

impl Collector for Scrape {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> Result {
        let page = &mut Page::new(encoder);
        let total = &self.sighting.collected.total;
        self.workers(page)?;
        levels(page, &total.gauges)?;
        self.memory(page, &total.gauges)?;
        self.backend(page)?;
        queue(page, total)?;
        accounts::write(page, &self.usage, &total.accounts)?;
        self.pins(page, total)?;
        self.counters(page, total)?;
        self.process.write(page)
    }
}

/// Clients by state.
pub(crate) fn clients(gauges: &Gauges) -> [(&'static str, u64); 9] {
    [
        ("login", gauges.clients_login),
        ("idle", gauges.clients_idle),
        ("queued", gauges.clients_queued),
        ("for_lock", gauges.clients_for_lock),
        ("waiting", gauges.clients_waiting),
        ("for_lane", gauges.clients_for_lane),
        ("in_lane", gauges.clients_in_lane),
        ("active", gauges.clients_active),
        ("held", gauges.clients_held),
    ]
}

/// Backend connections by state.
pub(crate) fn backends(gauges: &Gauges) -> [(&'static str, u64); 7] {
    [
        ("connecting", gauges.backends_connecting),
        ("resetting", gauges.backends_resetting),
        ("idle", gauges.backends_idle),
        ("active", gauges.backends_active),
        ("lane", gauges.backends_lane),
        ("draining", gauges.backends_draining),
        ("reserved", gauges.backends_reserved),
    ]
}

fn levels(page: &mut Page<'_>, gauges: &Gauges) -> Result {
    page.gauges(
        "myriad_clients",
        "Client connections by state",
        "state",
        clients(gauges),
    )?;
    page.gauges(
        "myriad_backends",
        "Backend connections by state",
        "state",
        backends(gauges),
    )?;
    page.gauge(
        "myriad_busy_limit",
        "Backend connections that may run short statements alone at once, over all workers",
        gauges.busy_limit,
    )?;
    page.gauge(
        "myriad_lane_limit",
        "Lanes that there may be for one state of sessions, over all workers",
        gauges.lane_limit,
    )?;
    page.gauge(
        "myriad_pool_keys",
        "Kinds of sessions that share backend connections, over all workers: accounts, with what their clients can do",
        gauges.pool_keys,
    )?;
    page.gauge(
        "myriad_prepared_templates",
        "Different prepared statements that sessions have; each worker counts its own",
        gauges.prepared_templates,
    )?;
    page.gauge(
        "myriad_prepared_on_backends",
        "Statements that are prepared on backend connections",
        gauges.prepared_on_backends,
    )
}

fn queue(page: &mut Page<'_>, total: &Report) -> Result {
    page.histogram(
        "myriad_queue_wait_seconds",
        "How long statements waited for a backend before they were sent",
        &total.counters.queue_wait,
    )?;
    page.gauge(
        "myriad_queue_oldest_wait_seconds",
        "How long the oldest waiting statement has waited",
        page::seconds(total.gauges.queue_wait_us_max),
    )
}
