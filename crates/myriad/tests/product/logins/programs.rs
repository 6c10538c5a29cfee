//! Other people's clients that are told line by line where to log in, and say what came of it.
//!
//! What the lines are is said in `tests/drivers`, in each program that is called `logins`.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};

use localdb::Family;

use super::cells::{Cell, Way};
use crate::drivers::{build, installed, source};
use crate::support::{LIMIT, Server, Tool, run};

/// Where logins go to.
#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    pub(super) tcp: SocketAddr,
    pub(super) socket: &'a Path,
}

/// A client that logs in as it is told.
pub(super) struct Program {
    pub(super) name: &'static str,
    /// Connectors for Java know no unix sockets without more libraries.
    pub(super) knows_unix: bool,
    way: Asked,
}

enum Asked {
    /// It runs until all was asked.
    Once(Driver),
    /// It runs once for each login.
    Each(fn(&Cell, Target<'_>) -> Command),
}

struct Driver {
    child: Child,
    lines: Receiver<String>,
}

impl Program {
    /// What comes of each login, in a line.
    pub(super) fn log_in(&mut self, cells: &[Cell], target: Target<'_>) -> Vec<String> {
        match &mut self.way {
            Asked::Once(driver) => cells
                .iter()
                .map(|cell| driver.ask(&line(cell, target)))
                .collect(),
            Asked::Each(command) => cells
                .iter()
                .map(|cell| {
                    let output = run(&mut command(cell, target), "SELECT CURRENT_USER();");
                    let said = output.stdout + &output.stderr;
                    said.trim().to_owned()
                })
                .collect(),
        }
    }

    fn driver(name: &'static str, command: &mut Command) -> Self {
        Self {
            name,
            knows_unix: !name.ends_with(" in Java"),
            way: Asked::Once(Driver::start(command)),
        }
    }

    fn command_line(name: &'static str, command: fn(&Cell, Target<'_>) -> Command) -> Self {
        Self {
            name,
            knows_unix: true,
            way: Asked::Each(command),
        }
    }
}

impl Driver {
    fn start(command: &mut Command) -> Self {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::inherit()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (found, lines) = mpsc::channel();
        std::thread::spawn(move || {
            // Nobody listens any more once the test is over.
            let mut lines = output.lines().map_while(Result::ok);
            lines.all(|line| found.send(line).is_ok())
        });
        Self { child, lines }
    }

    fn ask(&mut self, line: &str) -> String {
        let input = self.child.stdin.as_mut().unwrap();
        writeln!(input, "{line}").unwrap();
        let told = self.lines.recv_timeout(LIMIT);
        told.unwrap_or_else(|error| panic!("{line}: nothing is said: {error}"))
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // It ends when its input does; one that hangs must not outlive the test.
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }
}

fn line(cell: &Cell, target: Target<'_>) -> String {
    let (way, address) = match cell.way {
        Way::Unix => ("unix", target.socket.display().to_string()),
        Way::Tcp | Way::TcpOverTls => {
            let address = format!("{} {}", target.tcp.ip(), target.tcp.port());
            ("tcp", address)
        }
    };
    let tls = if cell.way == Way::TcpOverTls {
        "required"
    } else {
        "off"
    };
    [way, &address, &cell.user, cell.password, tls].join("\t")
}

/// All of them.
pub(super) fn all(scratch: &Path) -> Vec<Program> {
    let mut all = vec![
        Program::command_line("mariadb", |cell, target| {
            let tls = match cell.way {
                Way::TcpOverTls => &["--ssl", "--ssl-verify-server-cert=0"][..],
                _ => &["--skip-ssl"],
            };
            command_line(Family::MariaDb, (cell, target), tls)
        }),
        Program::driver("PyMySQL", &mut python("pymysql", &[])),
        Program::driver(
            "Connector/Python",
            &mut python("connector-python", &["pure"]),
        ),
        Program::driver(
            "Connector/Python in C",
            &mut python("connector-python", &["c"]),
        ),
        Program::driver("mysql2", &mut node("mysql2")),
        Program::driver("MariaDB's for Node.js", &mut node("mariadb-node")),
        Program::driver("go-sql-driver", &mut go(scratch)),
    ];
    // Clients of MySQL 9 know mysql_native_password no more.
    if !Server::is_mariadb() {
        all.push(Program::command_line("mysql", |cell, target| {
            let tls = match cell.way {
                Way::TcpOverTls => &["--ssl-mode=REQUIRED"][..],
                _ => &["--ssl-mode=DISABLED", "--get-server-public-key"],
            };
            command_line(Family::MySql, (cell, target), tls)
        }));
    }
    let classes = java(scratch);
    for (name, connector) in [
        ("MySQL's in Java", "mysql"),
        ("MariaDB's in Java", "mariadb"),
    ] {
        let mut command = Command::new("java");
        command.args(["-XX:TieredStopAtLevel=1", "-Dstdout.encoding=UTF-8", "-cp"]);
        command.args([&classes, "Logins", connector]);
        all.push(Program::driver(name, &mut command));
    }
    all
}

fn command_line(family: Family, (cell, target): (&Cell, Target<'_>), tls: &[&str]) -> Command {
    let name = Tool::Client.name(family);
    let mut command = localdb::client_command(Server::with_clients_of(family), name).unwrap();
    command.args(["--batch", "--skip-column-names", "--skip-reconnect"]);
    command.arg(format!("--user={}", cell.user));
    command.arg(format!("--password={}", cell.password));
    match cell.way {
        Way::Unix => command.args([
            "--protocol=socket".to_owned(),
            format!("--socket={}", target.socket.display()),
        ]),
        Way::Tcp | Way::TcpOverTls => command.args([
            "--protocol=tcp".to_owned(),
            format!("--host={}", target.tcp.ip()),
            format!("--port={}", target.tcp.port()),
        ]),
    };
    command.args(tls);
    command
}

fn python(driver: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(installed(driver).join("bin/python"));
    command.args(["-B", "-W", "ignore"]);
    command
        .arg(source(driver).join("logins.py"))
        .args(arguments);
    command
}

fn node(driver: &str) -> Command {
    let mut command = Command::new("node");
    command.current_dir(installed(driver));
    command.arg(source(driver).join("logins.js"));
    command
}

fn go(scratch: &Path) -> Command {
    installed("go");
    let program = scratch.join("logins");
    let mut compiler = Command::new("go");
    compiler.current_dir(source("go"));
    compiler.env("GOTOOLCHAIN", "local").env("GOPROXY", "off");
    build(compiler.args(["build", "-o"]).arg(&program).arg("./logins"));
    Command::new(program)
}

/// The class path with the program.
fn java(scratch: &Path) -> String {
    let jars = installed("java-orm").join("*");
    let mut compiler = Command::new("javac");
    compiler.args(["-encoding", "UTF-8", "-d"]).arg(scratch);
    build(compiler.arg(source("java-orm").join("Logins.java")));
    format!("{}:{}", scratch.display(), jars.display())
}
