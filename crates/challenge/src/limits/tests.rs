//! Runs on machines that are made up.

use std::path::Path;
use std::time::Duration;

use super::*;
use crate::{Chapter, Steps};

/// The files of a machine below `root`: all as wide as it may be, but for these.
pub(crate) fn machine(root: &Path, open_files: u64, settings: &[(&str, &str)]) -> doctor::Host {
    let write = |path: &str, text: &str| {
        let file = root.join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    };
    let limits = format!(
        "Limit                     Soft Limit           Hard Limit           Units     \n\
         Max processes             unlimited            unlimited            processes \n\
         Max open files            {open_files}               {open_files}               files     \n"
    );
    write("proc/self/limits", &limits);
    write(
        "proc/self/status",
        "Uid:\t0\t0\t0\t0\nCapEff:\t000001ffffffffff\n",
    );
    write("proc/self/cgroup", "0::/\n");
    write("proc/loadavg", "0.00 0.00 0.00 1/400 1\n");
    write(
        "proc/meminfo",
        "MemTotal: 67108864 kB\nMemAvailable: 67108864 kB\n",
    );
    let wide = [
        ("kernel/pid_max", "4194304"),
        ("kernel/threads-max", "4194304"),
        ("vm/max_map_count", "4194304"),
        ("fs/nr_open", "1048576"),
        ("fs/file-max", "9223372036854775807"),
        ("net/core/somaxconn", "4096"),
        ("net/ipv4/tcp_max_syn_backlog", "4096"),
        ("net/ipv4/tcp_syncookies", "1"),
        ("net/ipv4/ip_local_port_range", "32768 60999"),
        ("net/ipv4/tcp_mem", "2000000 3000000 4000000"),
    ];
    for (key, value) in wide.iter().chain(settings) {
        write(&format!("proc/sys/{key}"), value);
    }
    doctor::Host::at(root, doctor::Uring::Works)
}

/// A plan of these steps that no one will run.
pub(crate) fn plan(steps: &str) -> Plan {
    Plan {
        program: "myriad".into(),
        chapters: vec![Chapter::Ladder],
        steps: steps.parse().unwrap(),
        users: Steps::new(vec![8]),
        widths: Steps::new(vec![8, 128]),
        crowd: 1_000,
        storm: 100,
        duration: Duration::from_secs(1),
        table_size: 1_000,
        database: "database".into(),
        out: "out".into(),
        state: "state".into(),
        keep_settings: false,
        uring: doctor::Uring::Works,
    }
}

/// A run of so many point selects.
pub(crate) fn course(way: Way, connections: u32) -> Course {
    Course {
        way,
        connections,
        workload: Workload::PointSelect,
        case: None,
        warmup: Duration::ZERO,
        duration: Duration::ZERO,
    }
}

fn stopped(host: &doctor::Host, way: Way, connections: u32) -> Option<(String, u64)> {
    let limit = stop(host, &plan("1"), &course(way, connections))?;
    assert!(!limit.short.is_empty() && !limit.text.is_empty());
    Some((limit.name, limit.allows))
}

#[test]
fn open_files_stop_the_database_but_not_io_uring() {
    let root = tempfile::tempdir().unwrap();
    let host = machine(root.path(), 20_000, &[]);
    for way in [Way::Alone, Way::ThreadPool] {
        let (name, allows) = stopped(&host, way, 25_000).unwrap();
        assert_eq!(name, "open-files", "{way}");
        assert!((19_000..20_000).contains(&allows), "{way}: {allows}");
    }
    assert_eq!(stopped(&host, Way::Myriad, 100_000), None);
}

#[test]
fn threads_stop_only_what_has_threads() {
    let root = tempfile::tempdir().unwrap();
    let host = machine(root.path(), 1 << 20, &[("kernel/pid_max", "5000")]);
    let (name, allows) = stopped(&host, Way::Alone, 10_000).unwrap();
    assert_eq!(name, "threads");
    assert!((4_000..5_000).contains(&allows), "{allows}");
    assert_ne!(
        stopped(&host, Way::ThreadPool, 10_000).map(|l| l.0),
        Some(name)
    );
    assert_eq!(stopped(&host, Way::Myriad, 10_000), None);
}

#[test]
fn mariadb_has_bounds_of_its_own() {
    let all = database(Way::Alone);
    let files = getrlimit(Resource::Nofile).current.unwrap();
    assert_eq!(all[0].allows, files - 410);
    assert_eq!(
        (all[1].name.as_str(), all[1].allows),
        ("max_connections", 100_000)
    );
    assert_eq!(database(Way::Myriad), []);
}
