//! A made-up machine for tests: a healthy one, on which single facts are changed.

use std::fs;

use tempfile::TempDir;

use crate::finding::Finding;
use crate::host::{Host, Uring};
use crate::need::Need;

/// The files of a machine.
pub(crate) struct Tree {
    folder: TempDir,
    uring: Uring,
}

/// A server with 8 processors and 64 GiB that was set up for very many connections.
const HEALTHY: &[(&str, &str)] = &[
    (
        "proc/self/limits",
        "Limit                     Soft Limit           Hard Limit           Units\n\
         Max processes             500000               500000               processes\n\
         Max open files            1048576              1048576              files\n\
         Max locked memory         8388608              8388608              bytes\n",
    ),
    (
        "proc/self/status",
        "Name:\tmyriad\nUid:\t0\t0\t0\t0\nCapEff:\t000001ffffffffff\nCpus_allowed_list:\t0-7\n",
    ),
    ("proc/self/cgroup", "0::/system.slice/myriad.service\n"),
    (
        "sys/fs/cgroup/system.slice/myriad.service/memory.max",
        "max\n",
    ),
    (
        "sys/fs/cgroup/system.slice/myriad.service/memory.current",
        "1000000\n",
    ),
    (
        "sys/fs/cgroup/system.slice/myriad.service/pids.max",
        "max\n",
    ),
    (
        "proc/meminfo",
        "MemTotal:       65536000 kB\nMemFree:        60000000 kB\nMemAvailable:   60000000 kB\n\
         CommitLimit:    32768000 kB\nCommitted_AS:    1000000 kB\n",
    ),
    (
        "proc/net/sockstat",
        "sockets: used 100\nTCP: inuse 5 orphan 0 tw 3 alloc 8 mem 10\n",
    ),
    ("proc/loadavg", "0.10 0.20 0.30 2/400 1234\n"),
    ("proc/net/softnet_stat", "00000010 00000000 00000000\n"),
    ("proc/sys/fs/nr_open", "1073741816\n"),
    ("proc/sys/fs/file-max", "9223372036854775807\n"),
    ("proc/sys/fs/file-nr", "2000\t0\t9223372036854775807\n"),
    ("proc/sys/kernel/pid_max", "4194304\n"),
    ("proc/sys/kernel/threads-max", "500000\n"),
    ("proc/sys/kernel/osrelease", "6.12.0\n"),
    ("proc/sys/kernel/io_uring_disabled", "0\n"),
    ("proc/sys/vm/max_map_count", "1048576\n"),
    ("proc/sys/vm/overcommit_memory", "0\n"),
    ("proc/sys/net/core/somaxconn", "4096\n"),
    ("proc/sys/net/core/netdev_max_backlog", "1000\n"),
    ("proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n"),
    ("proc/sys/net/ipv4/ip_local_reserved_ports", "\n"),
    ("proc/sys/net/ipv4/tcp_max_syn_backlog", "4096\n"),
    ("proc/sys/net/ipv4/tcp_syncookies", "1\n"),
    ("proc/sys/net/ipv4/tcp_tw_reuse", "2\n"),
    ("proc/sys/net/ipv4/tcp_fin_timeout", "60\n"),
    ("proc/sys/net/ipv4/tcp_max_tw_buckets", "262144\n"),
    ("proc/sys/net/ipv4/tcp_congestion_control", "cubic\n"),
    ("proc/sys/net/ipv4/tcp_mem", "1000000\t1500000\t3000000\n"),
    ("proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n"),
    ("proc/sys/net/ipv4/tcp_wmem", "4096\t16384\t4194304\n"),
    (
        "sys/kernel/mm/transparent_hugepage/enabled",
        "always [madvise] never\n",
    ),
    (
        "sys/devices/system/clocksource/clocksource0/current_clocksource",
        "tsc\n",
    ),
];

impl Tree {
    /// A machine that will do for a hundred thousand connections.
    pub(crate) fn healthy() -> Self {
        let tree = Self {
            folder: tempfile::tempdir().unwrap(),
            uring: Uring::Works,
        };
        HEALTHY
            .iter()
            .fold(tree, |tree, (path, text)| tree.with(path, text))
    }

    /// With another file, or another text in it.
    pub(crate) fn with(self, path: &str, text: &str) -> Self {
        let file = self.folder.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
        self
    }

    /// With another value of a setting.
    pub(crate) fn sysctl(self, name: &str, value: &str) -> Self {
        let path = format!("proc/sys/{}", name.replace('.', "/"));
        self.with(&path, &format!("{value}\n"))
    }

    /// Without a file.
    pub(crate) fn without(self, path: &str) -> Self {
        fs::remove_file(self.folder.path().join(path)).unwrap();
        self
    }

    /// Whose kernel refuses io_uring.
    pub(crate) fn without_uring(mut self) -> Self {
        self.uring = Uring::Refused("Operation not permitted (os error 1)".into());
        self
    }

    /// With limits of open files.
    pub(crate) fn open_files(self, soft: u64, hard: u64) -> Self {
        let text = format!(
            "Max processes             500000               500000               processes\n\
             Max open files            {soft}               {hard}              files\n"
        );
        self.with("proc/self/limits", &text)
    }

    /// The machine.
    pub(crate) fn host(&self) -> Host {
        Host::at(self.folder.path(), self.uring.clone())
    }

    /// What one check says about this machine.
    pub(crate) fn check(&self, name: &str, need: &Need) -> Finding {
        let report = crate::report::examine(&self.host(), need);
        let mut findings = report.findings.into_iter();
        findings.find(|finding| finding.check == name).unwrap()
    }
}
