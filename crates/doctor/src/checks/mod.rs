//! The checks, one file each, and running them all. What could not be found out is a finding, too.

mod clock_source;
mod congestion_control;
mod conntrack;
mod cpu;
mod file_max;
mod input_queue;
mod io_uring;
mod listen_queue;
mod locked_memory;
mod memory;
mod memory_group;
mod memory_maps;
mod model;
mod nr_open;
mod open_files;
mod overcommit;
mod ports;
mod socket_buffers;
mod syn_queue;
mod tcp_memory;
mod threads;
mod time_wait;
mod transparent_huge_pages;

use crate::finding::{Finding, Group, Observation, Severity};
use crate::host::{Host, Unknown};
use crate::need::Need;

/// One check.
struct Check {
    /// Also the name of its page in `docs/doctor`.
    name: &'static str,
    group: Group,
    run: fn(&Host, &Need) -> Result<Observation, Unknown>,
}

/// In the order in which they are told.
const CHECKS: [&Check; 22] = [
    &open_files::CHECK,
    &nr_open::CHECK,
    &file_max::CHECK,
    &threads::CHECK,
    &memory_maps::CHECK,
    &ports::CHECK,
    &time_wait::CHECK,
    &listen_queue::CHECK,
    &syn_queue::CHECK,
    &input_queue::CHECK,
    &conntrack::CHECK,
    &congestion_control::CHECK,
    &memory::CHECK,
    &memory_group::CHECK,
    &locked_memory::CHECK,
    &tcp_memory::CHECK,
    &socket_buffers::CHECK,
    &overcommit::CHECK,
    &transparent_huge_pages::CHECK,
    &io_uring::CHECK,
    &cpu::CHECK,
    &clock_source::CHECK,
];

/// Runs all of them.
pub(crate) fn run(host: &Host, need: &Need) -> Vec<Finding> {
    let findings = CHECKS.iter().map(|check| {
        let observed = (check.run)(host, need);
        Finding {
            check: check.name,
            group: check.group,
            observation: observed.unwrap_or_else(unknown),
        }
    });
    findings.collect()
}

pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    CHECKS.iter().map(|check| check.name)
}

/// What a check that could not be made has observed.
pub(crate) fn unknown(Unknown(why): Unknown) -> Observation {
    Observation::new("unknown", why).judged(true, Severity::Unknown, [])
}
