//! A control group whose memory is bounded.

use std::path::PathBuf;

use super::{assert_agree, report};
use crate::support::{Database, FrontDoor, eventually, run};

/// A group below the test's own, so that whatever bounds that still holds. It is removed with this.
struct MemoryGroup {
    folder: PathBuf,
}

impl MemoryGroup {
    /// A new one with a bound in bytes; `None`, with the reason printed, where that cannot be made.
    fn new(bytes: u64) -> Option<Self> {
        let skipped =
            |why: String| println!("SKIPPED: no control group with bounded memory: {why}");
        let (base, bound) = own_group();
        let folder = base.join(format!("myriad-test-{}", std::process::id()));
        if let Err(error) = std::fs::create_dir(&folder) {
            skipped(format!("{}: {error}", folder.display()));
            return None;
        }
        let group = Self { folder };
        match std::fs::write(group.folder.join(bound), bytes.to_string()) {
            Ok(()) => Some(group),
            Err(error) => {
                skipped(format!("{bound}: {error}"));
                None
            }
        }
    }

    /// A wrapper that enters it.
    fn enter(&self) -> String {
        let file = self.folder.join("cgroup.procs");
        format!("echo $$ > {}; exec \"$0\" \"$@\"", file.display())
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        eventually("the end of the control group", || {
            std::fs::remove_dir(&self.folder).ok()
        });
    }
}

/// The test's own group, and the file of a bound: of version 1 or 2.
fn own_group() -> (PathBuf, &'static str) {
    let text = std::fs::read_to_string("/proc/self/cgroup").unwrap();
    let path = |mark: &str| text.lines().find_map(|line| line.split_once(mark));
    match path(":memory:") {
        Some((_, path)) => {
            let base = format!("/sys/fs/cgroup/memory{path}");
            (base.into(), "memory.limit_in_bytes")
        }
        None => {
            let path = path("0::").map_or("/", |(_, path)| path);
            (format!("/sys/fs/cgroup{path}").into(), "memory.max")
        }
    }
}

#[test]
fn the_memory_of_a_group_ends_where_the_doctor_says() {
    let Some(group) = MemoryGroup::new(48 << 20) else {
        return;
    };
    let enter = group.enter();
    let wrapper = ["sh", "-c", enter.as_str()];
    let report = report(&mut super::wrapped(
        &wrapper,
        &[
            "doctor",
            "--role",
            "clients",
            "--sources",
            "4",
            "--connections",
            "19000",
        ],
    ));
    let findings = report["findings"].as_array().unwrap();
    let found = findings
        .iter()
        .find(|finding| finding["check"] == "memory-group");
    let predicted = found.unwrap()["limit"].as_u64().unwrap();
    assert_eq!(report["first_limit"]["check"], "memory-group", "{report:#}");
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &[]);
    let before = door.metric("myriad_client_connections_total");
    let port = door.tcp().port().to_string();
    let mut load = super::wrapped(
        &wrapper,
        &[
            "load",
            "run",
            "--port",
            &port,
            "--user",
            "app",
            "--password",
            "secret",
            "--database",
            "shop",
            "--workload",
            "idle",
            "--connections",
            "19000",
            "--threads",
            "1",
            "--duration",
            "1s",
        ],
    );
    let output = run(&mut load, "");
    assert_eq!(output.code, None, "it was not killed: {output:?}");
    let met = door.metric("myriad_client_connections_total") - before;
    assert_agree(predicted, met, predicted / 4);
}
