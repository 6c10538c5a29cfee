//! How much CPU time and memory a process uses, and the kernel. Source: `proc_pid_stat(5)`,
//! `proc_meminfo(5)`.

use std::io;

/// Fields behind the parenthesised name, counted from 0: `utime`, `stime`, `rss`.
const USER: usize = 11;
const SYSTEM: usize = 12;
const RSS: usize = 21;

/// What a process has used up to some moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// CPU time of all its threads, user and system, in microseconds.
    pub(crate) cpu_us: u64,
    /// Memory it holds at that moment.
    pub(crate) rss_bytes: u64,
}

/// The usage of a process; `None` stands for this one.
pub(crate) fn usage(pid: Option<u32>) -> io::Result<Usage> {
    let path = match pid {
        Some(pid) => format!("/proc/{pid}/stat"),
        None => "/proc/self/stat".to_owned(),
    };
    let stat = std::fs::read_to_string(path)?;
    parse(&stat).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
}

fn parse(stat: &str) -> Option<Usage> {
    // The name may hold blanks and parentheses.
    let (_, fields) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = fields.split(' ').collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    let ticks = number(USER)? + number(SYSTEM)?;
    Some(Usage {
        cpu_us: ticks * 1_000_000 / rustix::param::clock_ticks_per_second(),
        rss_bytes: number(RSS)? * rustix::param::page_size() as u64,
    })
}

/// What the kernel's own data structures take on this machine, sockets among them.
pub(crate) fn slab_bytes() -> io::Result<u64> {
    let meminfo = std::fs::read_to_string("/proc/meminfo")?;
    parse_slab(&meminfo).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
}

fn parse_slab(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("Slab:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_is_skipped() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 1 2 3 4 150 50 0 0 20 0 1 0 9 1000 3 99";
        let usage = parse(stat).unwrap();
        assert_eq!(usage.rss_bytes, 3 * rustix::param::page_size() as u64);
        let ticks = usage.cpu_us * rustix::param::clock_ticks_per_second() / 1_000_000;
        assert_eq!(ticks, 200);
        assert_eq!(parse("7 (a) S"), None);
    }

    #[test]
    fn slab_is_one_line_of_meminfo() {
        let meminfo = "MemTotal:  24 kB\nSlab:             346960 kB\nSReclaimable: 1 kB\n";
        assert_eq!(parse_slab(meminfo), Some(346_960 * 1024));
        assert_eq!(parse_slab("MemTotal:  24 kB\n"), None);
    }

    #[test]
    fn this_process_has_memory_and_no_other_number() {
        assert!(usage(None).unwrap().rss_bytes > 0);
        assert_eq!(
            usage(Some(u32::MAX)).unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
    }
}
