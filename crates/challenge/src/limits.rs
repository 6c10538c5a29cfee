//! Which limit of this host stops a run, and at how many connections: foretold instead of tried.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};

use crate::kernel::number_behind;
use crate::{Course, Way};

/// Files that MariaDB keeps for itself and its tables before it lets in a connection.
const DATABASE_FILES: u64 = 500;
/// Files that the front door and the generator need besides those of their connections.
const OWN_FILES: u64 = 200;
/// Threads that are none of the database's.
const OTHER_THREADS: u64 = 1_000;
/// A thread's stack and the guard before it.
const MAPPINGS_PER_THREAD: u64 = 2;
const OTHER_MAPPINGS: u64 = 1_500;
/// The most that MariaDB takes as `max_connections`.
const DATABASE_CONNECTIONS: u64 = 100_000;
/// The generator's source addresses, and the ports that it uses of each.
const PORTS: u64 = 72 * 14_000;
/// What a connection takes of the machine's memory, all processes and the kernel together.
const BYTES_ALONE: u64 = 125_000;
const BYTES_MYRIAD: u64 = 13_000;

/// What of a host bounds the number of connections.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// Files that one process may open (RLIMIT_NOFILE).
    pub open_files: u64,
    /// Threads that there may be: the least of all their limits.
    pub threads: u64,
    /// Mappings that one process may have (vm.max_map_count).
    pub mappings: u64,
    /// Memory that is available, in bytes.
    pub memory_bytes: u64,
    /// Whether connections of the front door and of the generator are no open files.
    pub io_uring: bool,
}

/// What stops a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limit {
    /// Its name, as administrators know it.
    pub name: String,
    /// In a few words.
    pub short: String,
    /// Why it stops the run.
    pub text: String,
    /// About how many connections it allows.
    pub allows: u64,
}

impl Facts {
    /// What holds for this process and its children.
    pub fn read(io_uring: bool) -> Self {
        let number =
            |path: &str| -> Option<u64> { std::fs::read_to_string(path).ok()?.trim().parse().ok() };
        let threads = [
            number("/proc/sys/kernel/threads-max"),
            number("/proc/sys/kernel/pid_max"),
            number("/sys/fs/cgroup/pids.max"),
            getrlimit(Resource::Nproc)
                .current
                .filter(|_| !rustix::process::geteuid().is_root()),
        ];
        let meminfo = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let available = number_behind(&meminfo, "MemAvailable:");
        let open_files = getrlimit(Resource::Nofile).current;
        Self {
            open_files: open_files.unwrap_or(u64::MAX),
            threads: threads.into_iter().flatten().min().unwrap_or(u64::MAX),
            mappings: number("/proc/sys/vm/max_map_count").unwrap_or(u64::MAX),
            memory_bytes: available.map_or(u64::MAX, |kib| kib * 1_024),
            io_uring,
        }
    }

    /// The limit that stops a run, if one does: the tightest.
    pub fn stop(&self, course: &Course) -> Option<Limit> {
        let all = match course.way {
            Way::Alone => self.alone(),
            Way::ThreadPool => self.thread_pool(),
            Way::Myriad => self.myriad(),
        };
        let tightest = all.into_iter().min_by_key(|limit| limit.allows)?;
        (tightest.allows < u64::from(course.connections)).then_some(tightest)
    }

    fn alone(&self) -> Vec<Limit> {
        let threads = limit(
            "kernel.threads-max, kernel.pid_max, pids.max",
            format!("{} threads", show(self.threads)),
            "the database has a thread for each connection",
            self.threads.saturating_sub(OTHER_THREADS),
        );
        let mappings = limit(
            "vm.max_map_count",
            format!("{} memory mappings", show(self.mappings)),
            "each of the database's threads needs two, for its stack",
            self.mappings.saturating_sub(OTHER_MAPPINGS) / MAPPINGS_PER_THREAD,
        );
        let mut all = self.thread_pool();
        all.extend([threads, mappings]);
        all
    }

    fn thread_pool(&self) -> Vec<Limit> {
        let files = limit(
            "RLIMIT_NOFILE",
            format!("{} open files", show(self.open_files)),
            "each connection of the database is an open file of its process",
            self.open_files.saturating_sub(DATABASE_FILES),
        );
        let connections = limit(
            "max_connections",
            format!("{} max_connections", show(DATABASE_CONNECTIONS)),
            "MariaDB takes no larger max_connections",
            DATABASE_CONNECTIONS,
        );
        let mut all = vec![files, connections, self.memory(BYTES_ALONE)];
        all.extend(self.own_files("the load generator"));
        all
    }

    fn myriad(&self) -> Vec<Limit> {
        let ports = limit(
            "ports",
            format!("{} local ports", show(PORTS)),
            "the load generator has no more source addresses and ports",
            PORTS,
        );
        let mut all = vec![ports, self.memory(BYTES_MYRIAD)];
        all.extend(self.own_files("front door and load generator"));
        all
    }

    /// Over epoll each connection is an open file.
    fn own_files(&self, who: &str) -> Option<Limit> {
        let why = format!("without io_uring, each connection is an open file of {who}");
        (!self.io_uring).then(|| {
            limit(
                "RLIMIT_NOFILE",
                format!("{} open files", show(self.open_files)),
                &why,
                self.open_files.saturating_sub(OWN_FILES),
            )
        })
    }

    fn memory(&self, bytes: u64) -> Limit {
        limit(
            "memory",
            format!("{} MiB of memory", show(self.memory_bytes >> 20)),
            &format!(
                "a connection takes about {} bytes, all processes and the kernel together",
                show(bytes)
            ),
            self.memory_bytes / bytes,
        )
    }
}

fn limit(name: &str, short: String, why: &str, allows: u64) -> Limit {
    Limit {
        name: name.to_owned(),
        text: format!("{short} ({name}): {why}, so about {} fit", show(allows)),
        short,
        allows,
    }
}

fn show(number: u64) -> String {
    page::grouped(number as f64)
}

/// Lets this process and its children open so many files, or as many as may be. Nothing is to be put
/// back: the limit ends with them.
pub(crate) fn raise_open_files(wanted: u64) {
    let now = getrlimit(Resource::Nofile);
    if now.current.is_none_or(|current| current >= wanted) {
        return;
    }
    let enough = now.maximum.is_none_or(|maximum| maximum >= wanted);
    let raised = Rlimit {
        current: Some(wanted),
        maximum: if enough { now.maximum } else { Some(wanted) },
    };
    let as_allowed = Rlimit {
        current: now.maximum,
        maximum: now.maximum,
    };
    // Only root may raise the maximum, and not everywhere. What holds in the end is read again.
    let _refused =
        setrlimit(Resource::Nofile, raised).or_else(|_| setrlimit(Resource::Nofile, as_allowed));
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::Workload;

    const ROOMY: Facts = Facts {
        open_files: 2_000_000,
        threads: 4_000_000,
        mappings: 4_000_000,
        memory_bytes: 1 << 40,
        io_uring: true,
    };

    fn stop(facts: &Facts, way: Way, connections: u32) -> Option<(String, u64)> {
        let course = Course {
            way,
            connections,
            workload: Workload::PointSelect,
            warmup: Duration::ZERO,
            duration: Duration::ZERO,
        };
        let limit = facts.stop(&course)?;
        assert!(limit.text.contains(&limit.name) && limit.text.contains(&limit.short));
        Some((limit.name, limit.allows))
    }

    #[test]
    fn a_roomy_host_is_stopped_by_the_database_and_the_ports_alone() {
        for way in Way::ALL {
            assert_eq!(stop(&ROOMY, way, 100_000), None, "{way}");
        }
        let alone = stop(&ROOMY, Way::Alone, 100_001).unwrap();
        assert_eq!(alone, ("max_connections".into(), 100_000));
        assert_eq!(stop(&ROOMY, Way::Myriad, 1_000_000), None);
        assert_eq!(stop(&ROOMY, Way::Myriad, 2_000_000).unwrap().0, "ports");
    }

    #[test]
    fn open_files_stop_the_database_but_not_io_uring() {
        let facts = Facts {
            open_files: 20_000,
            ..ROOMY
        };
        for way in [Way::Alone, Way::ThreadPool] {
            let files = ("RLIMIT_NOFILE".to_owned(), 19_500);
            assert_eq!(stop(&facts, way, 19_501), Some(files), "{way}");
            assert_eq!(stop(&facts, way, 19_500), None, "{way}");
        }
        assert_eq!(stop(&facts, Way::Myriad, 100_000), None);
        let epoll = Facts {
            io_uring: false,
            ..facts
        };
        let files = ("RLIMIT_NOFILE".to_owned(), 19_800);
        assert_eq!(stop(&epoll, Way::Myriad, 25_000), Some(files));
    }

    #[test]
    fn threads_stop_only_what_has_threads() {
        let threads = Facts {
            threads: 32_768,
            ..ROOMY
        };
        let mappings = Facts {
            mappings: 65_530,
            ..ROOMY
        };
        assert_eq!(stop(&threads, Way::Alone, 50_000).unwrap().1, 31_768);
        let stopped = stop(&mappings, Way::Alone, 50_000).unwrap();
        assert_eq!(stopped, ("vm.max_map_count".into(), 32_015));
        for facts in [threads, mappings] {
            assert_eq!(stop(&facts, Way::ThreadPool, 50_000), None);
            assert_eq!(stop(&facts, Way::Myriad, 50_000), None);
        }
    }

    #[test]
    fn memory_stops_the_database_first() {
        let facts = Facts {
            memory_bytes: 2_000_000_000,
            ..ROOMY
        };
        assert_eq!(
            stop(&facts, Way::Alone, 25_000),
            Some(("memory".into(), 16_000))
        );
        assert_eq!(stop(&facts, Way::Myriad, 100_000), None);
        assert!(stop(&facts, Way::Myriad, 200_000).is_some());
    }

    #[test]
    fn this_host_has_limits() {
        let facts = Facts::read(true);
        assert!(facts.open_files > 100 && facts.threads > 100);
        assert!(facts.mappings > 1_000 && facts.memory_bytes > 1 << 20);
    }
}
