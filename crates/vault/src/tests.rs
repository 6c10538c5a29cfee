//! That secrets are locked, share pages, and leave nothing behind. Who uses them is tested elsewhere.

use std::fs;
use std::process::Command;

use rustix::process::{Resource, Rlimit, geteuid, setrlimit};
use rustix::thread::set_thread_uid;

use super::*;

const CASE: &str = "VAULT_TEST_WITHOUT_LOCKED_MEMORY";
const NOBODY: u32 = 65_534;

/// The flags that the kernel shows for the mapping of an address.
fn flags(address: usize) -> Vec<String> {
    let maps = fs::read_to_string("/proc/self/smaps").unwrap();
    let mut inside = false;
    for line in maps.lines() {
        let range = line.split(' ').next().unwrap_or_default().split_once('-');
        let bounds = range.and_then(|(from, to)| {
            let number = |text| usize::from_str_radix(text, 16).ok();
            Some(number(from)?..number(to)?)
        });
        inside = bounds.map_or(inside, |bounds| bounds.contains(&address));
        if let Some(flags) = line.strip_prefix("VmFlags:").filter(|_| inside) {
            return flags.split_whitespace().map(str::to_owned).collect();
        }
    }
    panic!("nothing is mapped at {address:x}");
}

#[test]
fn secrets_are_locked_and_in_no_dump_or_fork() {
    let vault = Vault::default();
    let kept = vault.keep(b"secret").unwrap();
    let flags = flags(kept.show().as_ptr() as usize);
    for flag in ["lo", "dd", "dc"] {
        assert!(flags.iter().any(|set| set == flag), "{flag}: {flags:?}");
    }
}

#[test]
fn secrets_share_pages() {
    let vault = Vault::default();
    let secret = |number: usize| vec![number as u8; number % 300];
    let kept: Vec<Kept> = (0..400)
        .map(|number| vault.keep(&secret(number)).unwrap())
        .collect();
    for (number, kept) in kept.iter().enumerate() {
        assert_eq!(kept.show().to_vec(), secret(number));
    }
    let bytes: usize = (0..400).map(|number| secret(number).len()).sum();
    assert!(vault.pages() < bytes / PAGE_BYTES + 5, "{}", vault.pages());
    drop(kept);
    assert_eq!(vault.pages(), 0);
}

#[test]
fn what_is_dropped_is_overwritten_and_makes_room() {
    let vault = Vault::of(1);
    let neighbour = vault.keep(b"neighbour").unwrap();
    let kept = vault.keep(&[b'x'; 2_000]).unwrap();
    let (page, first_cell) = (kept.page.clone(), kept.first_cell);
    assert!(matches!(vault.keep(&[b'y'; 2_100]), Err(Refused::Full(1))));
    drop(kept);
    assert_eq!(page.open().bytes(first_cell, 2_000), [0; 2_000]);
    drop(page);
    let kept = vault.keep(&[b'y'; 2_100]).unwrap();
    assert_eq!(*kept.show(), [b'y'; 2_100]);
    assert_eq!(*neighbour.show(), *b"neighbour");
}

#[test]
fn a_whole_page_is_the_longest_secret() {
    let vault = Vault::of(1);
    let refused = vault.keep(&[1; PAGE_BYTES + 1]).unwrap_err();
    assert!(matches!(refused, Refused::Long(4_097)), "{refused}");
    let kept = vault.keep(&[1; PAGE_BYTES]).unwrap();
    assert_eq!(*kept.show(), [1; PAGE_BYTES]);
    assert!(vault.keep(b"").is_err());
    drop(kept);
    assert!(vault.keep(b"").unwrap().show().is_empty());
}

#[test]
fn what_cannot_be_locked_is_not_kept() {
    let program = std::env::current_exe().unwrap();
    let test = "tests::in_a_process_without_locked_memory";
    let run = Command::new(program)
        .args(["--exact", test, "--ignored", "--nocapture"])
        .env(CASE, "1")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&run.stdout).into_owned();
    assert!(run.status.success(), "{told}");
    assert!(told.contains("no more memory can be locked"), "{told}");
    assert!(told.contains("ulimit -l"), "{told}");
}

#[test]
#[ignore = "it is what the other does in another process"]
fn in_a_process_without_locked_memory() {
    if std::env::var(CASE).is_err() {
        return;
    }
    let (current, maximum) = (Some(0), Some(0));
    setrlimit(Resource::Memlock, Rlimit { current, maximum }).unwrap();
    // The limit binds only those who are not root.
    if geteuid().is_root() {
        set_thread_uid(rustix::process::Uid::from_raw(NOBODY)).unwrap();
    }
    let vault = Vault::default();
    println!("{}", vault.keep(b"secret").unwrap_err());
    assert_eq!(vault.pages(), 0);
}
