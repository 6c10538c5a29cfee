//! Settings in a made-up tree: changed, put back, left and found again.

use std::fs;
use std::path::PathBuf;

use super::*;

struct Machine {
    folder: tempfile::TempDir,
}

const RANGE: &str = "net.ipv4.ip_local_port_range";
const QUEUE: &str = "net.core.somaxconn";
const PAGES: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

impl Machine {
    fn new() -> Self {
        let machine = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        machine.put("proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n");
        machine.put("proc/sys/net/core/somaxconn", "128\n");
        machine.put("proc/sys/kernel/random/boot_id", "first\n");
        machine.put(&PAGES[1..], "[always] madvise never\n");
        machine
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn tree(&self) -> Tree {
        Tree::below(self.folder.path())
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("var/state/settings.json")
    }

    fn apply(&self) -> Adjusted {
        let settings = [
            Setting::sysctl(RANGE, "4000 65000"),
            Setting::sysctl(QUEUE, "4096"),
            Setting::file(PAGES, "madvise"),
        ];
        Adjusted::apply_below(self.tree(), &settings, &self.state()).unwrap()
    }

    fn now(&self) -> [String; 3] {
        [RANGE, QUEUE, PAGES].map(|name| self.tree().read(name).unwrap())
    }
}

const BEFORE: [&str; 3] = ["32768 60999", "128", "always"];
const AFTER: [&str; 3] = ["4000 65000", "4096", "madvise"];

#[test]
fn settings_hold_until_they_are_dropped() {
    let machine = Machine::new();
    let adjusted = machine.apply();
    assert_eq!(machine.now(), AFTER);
    assert_eq!(
        adjusted.changes()[0].to_string(),
        "net.ipv4.ip_local_port_range: 32768 60999 → 4000 65000"
    );
    assert!(machine.state().exists());
    drop(adjusted);
    assert_eq!(machine.now(), BEFORE);
    assert!(!machine.state().exists());
}

#[test]
fn restoring_tells_what_was_put_back() {
    let machine = Machine::new();
    let restored = machine.apply().restore().unwrap();
    let texts: Vec<String> = restored.iter().map(ToString::to_string).collect();
    assert_eq!(texts.len(), 3);
    assert_eq!(texts[1], "net.core.somaxconn: 4096 → 128");
    assert_eq!(machine.now(), BEFORE);
}

#[test]
fn what_is_as_wanted_or_cannot_be_set_is_no_change() {
    let machine = Machine::new();
    let settings = [
        Setting::sysctl(QUEUE, "128"),
        Setting::sysctl("net.netfilter.nf_conntrack_max", "7"),
    ];
    let adjusted = Adjusted::apply_below(machine.tree(), &settings, &machine.state()).unwrap();
    assert_eq!(adjusted.changes(), []);
    let refusals = adjusted.refusals();
    assert_eq!(refusals.len(), 1);
    assert!(
        refusals[0]
            .to_string()
            .starts_with("net.netfilter.nf_conntrack_max could not be set to 7: "),
        "{}",
        refusals[0]
    );
}

#[test]
fn a_killed_run_is_undone_by_the_next() {
    let machine = Machine::new();
    let adjusted = machine.apply();
    let left = fs::read(machine.state()).unwrap();
    // As after a kill: the lock is gone, nothing was put back, the file is there.
    drop(adjusted);
    machine.put("proc/sys/net/ipv4/ip_local_port_range", "4000\t65000\n");
    machine.put("proc/sys/net/core/somaxconn", "4096\n");
    machine.put(&PAGES[1..], "always [madvise] never\n");
    fs::write(machine.state(), left).unwrap();
    let restored = restore_leftover_below(&machine.tree(), &machine.state()).unwrap();
    assert_eq!(restored.len(), 3);
    assert_eq!(machine.now(), BEFORE);
    assert!(!machine.state().exists());
    assert_eq!(
        restore_leftover_below(&machine.tree(), &machine.state()).unwrap(),
        []
    );
}

#[test]
fn what_somebody_else_has_changed_since_is_left_alone() {
    let machine = Machine::new();
    let adjusted = machine.apply();
    machine.put("proc/sys/net/core/somaxconn", "9999\n");
    let restored = adjusted.restore().unwrap();
    assert_eq!(restored.len(), 2);
    assert_eq!(machine.now(), [BEFORE[0], "9999", BEFORE[2]]);
}

#[test]
fn after_a_reboot_nothing_is_left_to_be_undone() {
    let machine = Machine::new();
    let left = {
        let _adjusted = machine.apply();
        fs::read(machine.state()).unwrap()
    };
    fs::write(machine.state(), left).unwrap();
    machine.put("proc/sys/net/core/somaxconn", "4096\n");
    machine.put("proc/sys/kernel/random/boot_id", "second\n");
    let restored = restore_leftover_below(&machine.tree(), &machine.state()).unwrap();
    assert_eq!(restored, []);
    assert_eq!(machine.now()[1], "4096");
    assert!(!machine.state().exists());
}

#[test]
fn two_runs_at_once_are_refused() {
    let machine = Machine::new();
    let adjusted = machine.apply();
    let settings = [Setting::sysctl(QUEUE, "1")];
    let second = Adjusted::apply_below(machine.tree(), &settings, &machine.state());
    assert!(
        matches!(second, Err(AdjustError::InUse { .. })),
        "{second:?}"
    );
    assert_eq!(machine.now(), AFTER);
    drop(adjusted);
    assert_eq!(machine.now(), BEFORE);
}

#[test]
fn what_is_set_for_good_is_not_put_back() {
    let machine = Machine::new();
    let settings = [
        Setting::sysctl(QUEUE, "4096"),
        Setting::sysctl("no.such", "1"),
    ];
    let (changes, refusals) = set_below(&machine.tree(), &settings);
    assert_eq!((changes.len(), refusals.len()), (1, 1));
    assert_eq!(machine.now(), [BEFORE[0], "4096", BEFORE[2]]);
}

#[test]
fn a_link_in_place_of_the_state_is_not_followed() {
    let machine = Machine::new();
    let victim = machine.folder.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    fs::create_dir_all(machine.state().parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(&victim, machine.state()).unwrap();
    let settings = [Setting::sysctl(QUEUE, "1")];
    let refused = Adjusted::apply_below(machine.tree(), &settings, &machine.state());
    assert!(
        matches!(refused, Err(AdjustError::State { .. })),
        "{refused:?}"
    );
    assert_eq!(fs::read_to_string(victim).unwrap(), "precious");
    assert_eq!(machine.now(), BEFORE);
}
