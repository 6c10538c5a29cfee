//! Programs of other people: found, run to their end, their output kept.

use std::fs::File;
use std::io::{Seek, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use localdb::Family;

use super::{Address, Server, Tool, wait::within};

/// The longest that a test waits for the end of a program. Some are compiled, or start a Java machine, beside all others.
const LONGEST: Duration = Duration::from_secs(300);

/// What a program said, and its exit code.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Output {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// True if a program of this name can be run.
pub(crate) fn installed(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

/// A program of the server's family as `app`, aimed at `address`, reading no settings of this machine.
pub(crate) fn program(tool: Tool, address: &Address) -> Command {
    let server = Server::chosen();
    let name = tool.name(server.family());
    let mut command = localdb::client_command(server.installation(), name).unwrap();
    command.arg("--user=app").env("MYSQL_PWD", "secret");
    if server.family() == Family::MariaDb {
        // From 11.4 on it would else say that it does not, since it is told no password on its command line.
        command.arg("--ssl-verify-server-cert=0");
    }
    match address {
        Address::Unix(path) => {
            command
                .arg("--protocol=socket")
                .arg(format!("--socket={}", path.display()));
        }
        Address::Tcp(address) => {
            command
                .arg("--protocol=tcp")
                .arg(format!("--host={}", address.ip()));
            command.arg(format!("--port={}", address.port()));
        }
    }
    command
}

/// Runs a program to its end with `input` as its standard input.
pub(crate) fn run(command: &mut Command, input: &str) -> Output {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(input.as_bytes()).unwrap();
    file.rewind().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = |name| folder.path().join(name);
    let child = command
        .stdin(Stdio::from(file))
        .stdout(File::create(path("stdout")).unwrap())
        .stderr(File::create(path("stderr")).unwrap())
        .spawn()
        .unwrap();
    let code = finish(child);
    Output {
        code,
        stdout: text(&path("stdout")),
        stderr: text(&path("stderr")),
    }
}

/// Waits for the end of a program and returns its exit code. One that takes too long is ended.
pub(crate) fn finish(child: Child) -> Option<i32> {
    let mut running = Running(child);
    let status = within(LONGEST, || running.0.try_wait().unwrap());
    status.expect("the program ends").code()
}

/// A program that does not outlive the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // Ended already, unless the test failed.
        let _ended = self.0.kill();
        let _status = self.0.wait();
    }
}

fn text(path: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned()
}
