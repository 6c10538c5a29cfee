//! Very many sessions that work while something happens to logins: the load generator, as a process.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::support::{FrontDoor, eventually};

/// How many sessions, unless the environment names another number.
const USUALLY: usize = 1_000;

/// How many sessions there are in the tests about many.
pub(super) fn how_many(usually: usize) -> usize {
    let named = std::env::var("MYRIAD_TEST_SESSIONS").ok();
    named.map_or(usually, |number| {
        number.parse().expect("MYRIAD_TEST_SESSIONS")
    })
}

/// Running sessions. Ended when dropped.
pub(super) struct Crowd {
    child: Child,
    said: std::path::PathBuf,
}

impl Crowd {
    /// Sessions of one account that select numbers without pause, all of them logged in.
    pub(super) fn selecting(
        door: &FrontDoor,
        (user, password): (&str, &str),
        folder: &Path,
    ) -> Self {
        let script = folder.join("crowd.sql");
        std::fs::write(
            &script,
            "-- value: not null\nSELECT {uniform:1..1000000};\n",
        )
        .unwrap();
        let sessions = how_many(USUALLY);
        let logins = door.metric("myriad_logins_total");
        let mut crowd = Self::start(
            door,
            &[
                &format!("--user={user}"),
                &format!("--password={password}"),
                "--database=",
                &format!("--script={}", script.display()),
                &format!("--connections={sessions}"),
                &format!("--think-time={}ms", sessions / 10),
                "--duration=12s",
            ],
            folder,
        );
        eventually("all sessions", || {
            crowd.must_run();
            (door.metric("myriad_logins_total") - logins >= sessions as u64).then_some(())
        });
        crowd
    }

    /// Connections over TLS that agree on keys anew, log in, select and go, again and again.
    pub(super) fn reconnecting(door: &FrontDoor, folder: &Path) -> Self {
        Self::start(
            door,
            &[
                "--user=load",
                "--password=much",
                "--database=sbtest",
                "--workload=reconnect",
                "--tls=full",
                "--tables=1",
                "--table-size=100",
                &format!("--connections={}", how_many(USUALLY)),
                "--duration=10s",
            ],
            folder,
        )
    }

    fn start(door: &FrontDoor, arguments: &[&str], folder: &Path) -> Self {
        let said = folder.join("crowd.log");
        let output = std::fs::File::create(&said).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_myriad"))
            .args(["load", "run", "--warmup=0s", "--threads=1"])
            .arg(format!("--port={}", door.tcp().port()))
            .args(arguments)
            .stdin(Stdio::null())
            .stderr(Stdio::from(output.try_clone().unwrap()))
            .stdout(Stdio::from(output))
            .spawn()
            .unwrap();
        Self { child, said }
    }

    /// Whether it still works.
    pub(super) fn runs(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    fn must_run(&mut self) {
        assert!(self.runs(), "it ended early:\n{}", self.said());
    }

    /// What it has said.
    pub(super) fn said(&self) -> String {
        std::fs::read_to_string(&self.said).unwrap()
    }

    /// Awaits its end: every statement was answered rightly, no connection was lost, no login failed.
    pub(super) fn assert_undisturbed(mut self) {
        let status = eventually("the end of the crowd", || self.child.try_wait().unwrap());
        assert_eq!(status.code(), Some(0), "{}", self.said());
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        // Ended already, unless the test failed.
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }
}
