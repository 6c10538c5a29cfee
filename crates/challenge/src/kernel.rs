//! How much memory the kernel uses, on the whole machine. Sources: `proc_meminfo(5)` and
//! `/proc/net/sockstat`.

use std::time::{Duration, Instant};

use crate::{KernelMemory, Stop};

/// Below so many connections, what else happens on a machine is more than what they use.
const CONNECTIONS_MIN: u32 = 1_000;

/// How long is waited for memory of earlier connections to be given back.
const SETTLE_LIMIT: Duration = Duration::from_secs(8);
const SETTLE_LOOK: Duration = Duration::from_millis(200);
/// Changes of less than this between two looks are rest.
const REST_BYTES: u64 = 1 << 20;

/// What it uses at this moment; `None` where it does not say.
pub(crate) fn memory() -> Option<KernelMemory> {
    let meminfo = std::fs::read_to_string("/proc/meminfo").ok()?;
    let sockets = std::fs::read_to_string("/proc/net/sockstat").ok()?;
    parse(&meminfo, &sockets, rustix::param::page_size() as u64)
}

/// The same once it has stopped to change, or after a while.
pub(crate) fn memory_at_rest(stop: &Stop) -> Option<KernelMemory> {
    let deadline = Instant::now() + SETTLE_LIMIT;
    let mut before = memory()?;
    loop {
        std::thread::sleep(SETTLE_LOOK);
        let now = memory()?;
        let at_rest = before.total().abs_diff(now.total()) < REST_BYTES;
        if at_rest || Instant::now() > deadline || stop.is_requested() {
            return Some(now);
        }
        before = now;
    }
}

/// What each connection uses, if there were enough of them to tell.
pub(crate) fn per_connection(
    before: Option<KernelMemory>,
    after: Option<KernelMemory>,
    connections: u32,
) -> Option<KernelMemory> {
    let (before, after) = (before?, after?);
    let each = |before: u64, after: u64| after.saturating_sub(before) / u64::from(connections);
    let grown = after.total() > before.total();
    (connections >= CONNECTIONS_MIN && grown).then(|| KernelMemory {
        slab_bytes: each(before.slab_bytes, after.slab_bytes),
        stack_bytes: each(before.stack_bytes, after.stack_bytes),
        page_table_bytes: each(before.page_table_bytes, after.page_table_bytes),
        socket_bytes: each(before.socket_bytes, after.socket_bytes),
    })
}

fn parse(meminfo: &str, sockstat: &str, page_size: u64) -> Option<KernelMemory> {
    let kib = |name| Some(number_behind(meminfo, name)? * 1_024);
    let tcp = sockstat.lines().find(|line| line.starts_with("TCP:"))?;
    Some(KernelMemory {
        slab_bytes: kib("Slab:")?,
        stack_bytes: kib("KernelStack:")?,
        page_table_bytes: kib("PageTables:")?,
        socket_bytes: number_behind(tcp, " mem")? * page_size,
    })
}

/// The number behind the first `name`.
pub(crate) fn number_behind(text: &str, name: &str) -> Option<u64> {
    let (_, rest) = text.split_once(name)?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMINFO: &str =
        "MemTotal: 24 kB\nSlab:      100 kB\nKernelStack:  16 kB\nPageTables: 8 kB\n";
    const SOCKSTAT: &str =
        "sockets: used 9\nTCP: inuse 5 orphan 0 tw 0 alloc 7 mem 3\nUDP: mem 9\n";

    #[test]
    fn the_kernel_says_what_it_uses() {
        let memory = parse(MEMINFO, SOCKSTAT, 4_096).unwrap();
        assert_eq!(memory.slab_bytes, 102_400);
        assert_eq!(memory.stack_bytes, 16_384);
        assert_eq!(memory.page_table_bytes, 8_192);
        assert_eq!(memory.socket_bytes, 12_288);
        assert_eq!(parse("Slab: 1 kB", SOCKSTAT, 1), None);
        assert_eq!(parse(MEMINFO, "", 1), None);
        assert!(super::memory().is_some_and(|memory| memory.slab_bytes > 0));
    }

    #[test]
    fn a_few_connections_cannot_be_told_from_noise() {
        let before = KernelMemory {
            slab_bytes: 1_000_000,
            socket_bytes: 500,
            ..KernelMemory::default()
        };
        let after = KernelMemory {
            slab_bytes: 9_000_000,
            socket_bytes: 0,
            ..before
        };
        let each = per_connection(Some(before), Some(after), 1_000).unwrap();
        assert_eq!((each.slab_bytes, each.socket_bytes), (8_000, 0));
        assert_eq!(per_connection(Some(before), Some(after), 999), None);
        assert_eq!(per_connection(Some(after), Some(before), 1_000), None);
        assert_eq!(per_connection(None, Some(before), 1_000), None);
    }
}
