//! Challenges that end early: no process is left, settings are put back, what was measured is kept.

use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::{Challenge, is_for_this_server, processes_in};
use crate::support::eventually;

/// More than anybody waits for.
const LONG: [&str; 2] = ["ladder", "--steps=50,60,70,80,90,100,110,120"];

/// What the challenge wants to be larger, and what it is in a [`Net`].
const QUEUE: &str = "net.core.somaxconn";
const SHORT: &str = "16";

fn signal(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), signal).unwrap();
}

/// A network of its own, with settings of its own. `None` if this machine does not let us have one.
struct Net(Child);

impl Net {
    fn make() -> Option<Self> {
        let script = format!(
            "ip link set lo up && sysctl -q {QUEUE}={SHORT} && echo ready && exec sleep 600"
        );
        let mut child = Command::new("unshare")
            .args(["--net", "sh", "-c", &script])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let mut line = String::new();
        let output = child.stdout.take()?;
        std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut line).ok()?;
        let net = Self(child);
        (line == "ready\n").then_some(net)
    }

    fn path(&self) -> String {
        format!("--net=/proc/{}/ns/net", self.0.id())
    }

    fn queue(&self) -> String {
        let mut command = Command::new("nsenter");
        let output = command
            .args([&self.path(), "sysctl", "-n", QUEUE])
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        // It has no use without us, and ends by itself if this fails.
        let _ended = self.0.kill();
        let _status = self.0.wait();
    }
}

/// A network, or a line that says why the test shows nothing here.
fn net() -> Option<Net> {
    let net = Net::make();
    if net.is_none() {
        println!(
            "skipped: no network namespace can be made here (that takes root, unshare, ip and sysctl)"
        );
    }
    net
}

#[test]
fn ctrl_c_ends_all_processes_and_keeps_what_was_measured() {
    if !is_for_this_server() {
        return;
    }
    let mut challenge = Challenge::start(&[], &[LONG[0], LONG[1], "--keep-settings"]);
    challenge.await_line("per second");
    eventually("others than itself", || {
        (processes_in(challenge.folder.path()).len() > 1).then_some(())
    });
    signal(challenge.pid(), Signal::INT);
    let (code, said) = challenge.finish();
    assert_eq!(code, Some(1), "{said:#?}");
    assert!(said.concat().contains("ended early"), "{said:#?}");
    challenge.await_no_process();
    let json = challenge.json();
    assert_eq!(json["interrupted"], true);
    let rows = json["chapters"][0]["rows"].as_array().unwrap();
    assert!((1..24).contains(&rows.len()), "{}", rows.len());
    assert!(challenge.read("out/challenge.html").contains("Ended early"));
}

#[test]
fn settings_are_put_back_after_ctrl_c() {
    let Some(net) = net().filter(|_| is_for_this_server()) else {
        return;
    };
    let mut challenge = Challenge::start(&["nsenter", &net.path()], &LONG);
    let line = challenge.await_line("changed net.core.somaxconn");
    assert!(line.contains("16 → 4096"), "{line}");
    assert_eq!(net.queue(), "4096");
    challenge.await_line("starting what is needed");
    signal(challenge.pid(), Signal::INT);
    let (_, said) = challenge.finish();
    assert!(
        said.iter()
            .any(|line| line.contains("put back net.core.somaxconn")),
        "{said:#?}"
    );
    assert_eq!(net.queue(), SHORT);
    assert!(!challenge.file("state.json").exists());
    challenge.await_no_process();
}

#[test]
fn what_a_killed_challenge_left_is_gone_at_once_or_put_back_by_the_next() {
    let Some(net) = net().filter(|_| is_for_this_server()) else {
        return;
    };
    let mut challenge = Challenge::start(&["nsenter", &net.path()], &LONG);
    challenge.await_line("per second");
    eventually("a front door or a generator", || {
        let mut running = processes_in(challenge.folder.path()).into_iter();
        running.find(|line| line.contains("--end-with"))
    });
    signal(challenge.pid(), Signal::KILL);
    eventually("its end", || challenge.child.try_wait().unwrap());
    challenge.await_no_process();
    assert_eq!(net.queue(), "4096", "nobody could put it back yet");
    let path = net.path();
    let before = ["nsenter", path.as_str()];
    let folder = std::mem::replace(&mut challenge.folder, tempfile::tempdir().unwrap());
    let mut next = Challenge::start_in(folder, &before, &[LONG[0], LONG[1], "--keep-settings"]);
    next.await_line("put back, as a challenge was killed: net.core.somaxconn");
    assert_eq!(net.queue(), SHORT);
    signal(next.pid(), Signal::TERM);
    assert_eq!(next.finish().0, Some(1));
    next.await_no_process();
}
