//! A network namespace of the test's own, with a front door in it.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use super::wrapped;
use crate::support::{Address, eventually, run};

/// Where the front door in a namespace listens; nobody else is there.
pub(super) const PORT: &str = "6033";

/// A namespace with loopback only. It ends with the processes in it.
pub(super) struct Namespace {
    holder: Child,
    path: String,
}

impl Namespace {
    /// A new one; `None`, with the reason printed, where this user may make none.
    pub(super) fn new() -> Option<Self> {
        // It ends by itself, should nobody end it.
        let spawned = Command::new("unshare")
            .args(["--net", "sleep", "300"])
            .stderr(Stdio::null())
            .spawn();
        let Ok(holder) = spawned else {
            println!("SKIPPED: unshare (util-linux) is not there to make a network namespace");
            return None;
        };
        let path = format!("/proc/{}/ns/net", holder.id());
        let mut namespace = Self { holder, path };
        let ours = std::fs::read_link("/proc/self/ns/net").unwrap();
        let made = eventually("a network namespace", || {
            if namespace.holder.try_wait().unwrap().is_some() {
                return Some(false);
            }
            let theirs = std::fs::read_link(&namespace.path).ok()?;
            (theirs != ours).then_some(true)
        });
        if !made {
            println!("SKIPPED: this user may make no network namespace; try as root");
            return None;
        }
        namespace.shell("ip link set lo up").then_some(namespace)
    }

    /// Runs a line of shell in it; prints why the test is left out if that fails.
    pub(super) fn shell(&self, line: &str) -> bool {
        let mut command = Command::new("nsenter");
        command
            .arg(format!("--net={}", self.path))
            .args(["sh", "-c", line]);
        let output = run(&mut command, "");
        if output.code != Some(0) {
            println!(
                "SKIPPED: `{line}` failed in the namespace: {}",
                output.stderr
            );
        }
        output.code == Some(0)
    }

    /// The product in it.
    pub(super) fn myriad(&self, arguments: &[&str]) -> Command {
        wrapped(&["nsenter", &format!("--net={}", self.path)], arguments)
    }

    /// A front door in it, listening on [`PORT`].
    pub(super) fn serve(&self, backend: &Address) -> Served {
        let Address::Unix(socket) = backend else {
            panic!("a namespace has no way to {backend:?}");
        };
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("myriad.toml");
        let text = format!(
            "[server]\nlisten = [\"127.0.0.1:{PORT}\"]\nmax_logins = 100000\n\
             [backend]\naddress = \"unix:{}\"\n\
             [[account]]\nuser = \"app\"\npassword = \"secret\"\n",
            socket.display()
        );
        std::fs::write(&config, text).unwrap();
        let log = folder.path().join("log");
        let child = self
            .myriad(&["serve", "--config", config.to_str().unwrap()])
            .stdout(Stdio::null())
            .stderr(File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let served = Served {
            child,
            log,
            _folder: folder,
        };
        eventually("a front door in the namespace", || {
            served.log().contains("listening").then_some(())
        });
        served
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        end(&mut self.holder);
    }
}

/// A front door in a namespace. It ends with this.
pub(super) struct Served {
    child: Child,
    log: PathBuf,
    _folder: TempDir,
}

impl Served {
    fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("its log:\n{}", self.log());
        }
        end(&mut self.child);
    }
}

/// Ends a child that this test has started. One that has ended by itself is fine, too.
fn end(child: &mut Child) {
    let _ended = child.kill();
    let _status = child.wait();
}
