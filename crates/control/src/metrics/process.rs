//! What the kernel tells of this process. What it does not tell is left out.

use std::fs;

use rustix::process::Resource;
use rustix::time::ClockId;

use super::page::Page;

/// The names and meanings that Prometheus recommends for every process.
#[derive(Debug)]
pub(super) struct Process {
    resident_memory_bytes: Option<u64>,
    cpu_seconds: f64,
    open_fds: Option<u64>,
    max_fds: Option<u64>,
}

impl Process {
    pub(super) fn read() -> Self {
        let cpu = rustix::time::clock_gettime(ClockId::ProcessCPUTime);
        Self {
            resident_memory_bytes: resident_memory_bytes(),
            cpu_seconds: cpu.tv_sec as f64 + cpu.tv_nsec as f64 / 1e9,
            open_fds: open_fds(),
            max_fds: rustix::process::getrlimit(Resource::Nofile).current,
        }
    }

    pub(super) fn write(&self, page: &mut Page<'_>) -> std::fmt::Result {
        page.counter(
            "process_cpu_seconds_total",
            "CPU time used, in user and kernel mode",
            self.cpu_seconds,
        )?;
        let gauges = [
            (
                "process_resident_memory_bytes",
                "Resident memory",
                self.resident_memory_bytes,
            ),
            ("process_open_fds", "Open file descriptors", self.open_fds),
            (
                "process_max_fds",
                "File descriptors that may be open",
                self.max_fds,
            ),
        ];
        for (name, help, value) in gauges {
            if let Some(value) = value {
                page.gauge(name, help, value)?;
            }
        }
        Ok(())
    }
}

fn resident_memory_bytes() -> Option<u64> {
    let statm = fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

/// Since Linux 6.2 the folder's size is the answer. Before, it is 0, and one has to count.
fn open_fds() -> Option<u64> {
    const FOLDER: &str = "/proc/self/fd";
    match fs::metadata(FOLDER).ok()?.len() {
        0 => Some(fs::read_dir(FOLDER).ok()?.count() as u64),
        open => Some(open),
    }
}
