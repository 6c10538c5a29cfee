//! `myriad serve` as a process of its own: configured, started, watched, stopped.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::{Address, LIMIT, eventually, in_time};

const ACCOUNTS: &str = r#"
[[account]]
user = "app"
password = "secret"
[[account]]
user = "admin"
password = "all"
[[account]]
user = "load"
password = "much"
"#;

/// The configuration for addresses, and the folder that it will be in.
type Text<'a> = dyn Fn((SocketAddr, SocketAddr, SocketAddr), &TempDir) -> String + 'a;

/// Where a front door writes what it says.
pub(crate) struct Streams {
    /// Standard output.
    pub(crate) out: OwnedFd,
    /// Standard error: the log.
    pub(crate) err: OwnedFd,
    /// The largest file that it may write, in blocks of 1,024 bytes (`ulimit -f`).
    pub(crate) file_blocks: Option<u32>,
}

/// How often other ports are tried when somebody else was faster.
const ATTEMPTS: usize = 5;

/// A running front door. When a test ends well, dropping it asks it to end and checks that it does,
/// with status 0 and nothing alarming in its log; when a test failed, its log is shown.
pub(crate) struct FrontDoor {
    child: Child,
    folder: TempDir,
    tcp: SocketAddr,
    http: SocketAddr,
    sql: SocketAddr,
    ended: bool,
}

impl FrontDoor {
    /// Starts one before the database at `backend`; `settings` are lines such as
    /// `backend.max_connections = 1`.
    pub(crate) fn start(backend: &Address, settings: &[&str]) -> Self {
        Self::start_at(Ipv4Addr::LOCALHOST.into(), backend, settings)
    }

    /// The same, listening on another IP address of this machine.
    pub(crate) fn start_at(ip: IpAddr, backend: &Address, settings: &[&str]) -> Self {
        Self::start_as(ip, &|addresses, folder| {
            configuration(folder, addresses, backend, settings)
        })
    }

    /// The same with a configuration that was changed throughout.
    pub(crate) fn start_with(
        backend: &Address,
        settings: &[&str],
        change: impl Fn(String) -> String,
    ) -> Self {
        let ip = Ipv4Addr::LOCALHOST.into();
        Self::start_as(ip, &|addresses, folder| {
            change(configuration(folder, addresses, backend, settings))
        })
    }

    /// The same with streams that may be full, closed or read by nobody. Its log is empty unless it is among them.
    pub(crate) fn start_saying(backend: &Address, settings: &[&str], streams: &Streams) -> Self {
        let text = |addresses: (_, _, _), folder: &TempDir| {
            configuration(folder, addresses, backend, settings)
        };
        (0..ATTEMPTS)
            .find_map(|_| Self::attempt(Ipv4Addr::LOCALHOST.into(), &text, Some(streams)))
            .expect("no free port was found")
    }

    fn start_as(ip: IpAddr, text: &Text<'_>) -> Self {
        (0..ATTEMPTS)
            .find_map(|_| Self::attempt(ip, text, None))
            .expect("no free port was found")
    }

    /// `None` if a port was taken meanwhile.
    fn attempt(ip: IpAddr, text: &Text<'_>, streams: Option<&Streams>) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let (tcp, http, sql) = free_addresses(ip);
        let config = folder.path().join("myriad.toml");
        let text = text((tcp, http, sql), &folder);
        std::fs::write(&config, text).unwrap();
        let log = File::create(folder.path().join("log")).unwrap();
        let fd = |fd: &OwnedFd| Stdio::from(fd.try_clone().unwrap());
        let (out, err) = match streams {
            Some(streams) => (fd(&streams.out), fd(&streams.err)),
            None => (Stdio::null(), Stdio::from(log)),
        };
        let program = env!("CARGO_BIN_EXE_myriad");
        let mut command = match streams.and_then(|streams| streams.file_blocks) {
            Some(blocks) => {
                let mut command = Command::new("bash");
                let script = format!("ulimit -f {blocks} && exec \"$0\" \"$@\"");
                command.args(["-c", &script, program]);
                command
            }
            None => Command::new(program),
        };
        let child = command
            .arg("serve")
            .arg("--config")
            .arg(config)
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(err)
            .spawn()
            .unwrap();
        let mut door = Self {
            child,
            folder,
            tcp,
            http,
            sql,
            ended: false,
        };
        door.await_answer().then_some(door)
    }

    fn await_answer(&mut self) -> bool {
        let up = eventually("an answer of the front door", || {
            if self.child.try_wait().unwrap().is_some() {
                assert!(
                    self.log().contains("in use"),
                    "it ended early:\n{}",
                    self.log()
                );
                return Some(false);
            }
            let mut stream = UnixStream::connect(self.socket()).ok()?;
            stream.set_read_timeout(Some(LIMIT)).unwrap();
            stream.read_exact(&mut [0; 5]).ok()?;
            TcpStream::connect(self.http).ok()?;
            TcpStream::connect(self.sql).ok().map(|_| true)
        });
        self.ended = !up;
        up
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its unix socket.
    pub(crate) fn address(&self) -> Address {
        Address::Unix(self.socket())
    }

    /// Its TCP address.
    pub(crate) fn tcp(&self) -> SocketAddr {
        self.tcp
    }

    /// Where `/metrics` and the like are.
    pub(crate) fn admin_http(&self) -> SocketAddr {
        self.http
    }

    /// Where statements of the administrator `root` with the password `hush` are answered.
    pub(crate) fn sql(&self) -> SocketAddr {
        self.sql
    }

    /// Its unix socket's path.
    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join("myriad.sock")
    }

    /// Where its configuration is, and what it keeps.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// What it has logged.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap()
    }

    /// Waits until the log has these words: a thread of its own writes it.
    pub(crate) fn await_log(&self, words: &str) {
        self.await_line(&[words]);
    }

    /// The same of a line with all of these words.
    pub(crate) fn await_line(&self, words: &[&str]) {
        let is_it = |line: &str| words.iter().all(|word| line.contains(word));
        let found = in_time(|| self.log().lines().any(is_it).then_some(()));
        assert!(found.is_some(), "no line with {words:?}: {}", self.log());
    }

    /// A line of `/proc/<pid>/status` that is in kB, in bytes: `VmRSS`, `VmHWM`.
    pub(crate) fn memory(&self, line: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status
            .lines()
            .find_map(|found| found.strip_prefix(line))
            .unwrap();
        let kilobytes = line.trim_matches([':', '\t', ' ', 'k', 'B']);
        kilobytes.parse::<u64>().unwrap() * 1024
    }

    /// The body of an answer of the admin HTTP to GET.
    pub(crate) fn http(&self, path: &str) -> String {
        let answer = self.try_http(path).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").expect(path);
        assert!(head.starts_with("HTTP/1.1 200"), "{path}: {head}");
        body.to_owned()
    }

    /// What `/health` answers: status and body.
    pub(crate) fn health(&self) -> (u16, String) {
        let answer = self.try_http("/health").unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, body.to_owned())
    }

    /// The whole answer, if there is one.
    pub(crate) fn try_http(&self, path: &str) -> io::Result<String> {
        let mut stream = TcpStream::connect(self.http)?;
        stream.set_read_timeout(Some(LIMIT))?;
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Basic cm9vdDpodXNo\r\n\
             Connection: close\r\n\r\n"
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }

    /// A sample of `/metrics`, by its name with labels.
    pub(crate) fn metric(&self, name: &str) -> u64 {
        let metrics = self.http("/metrics");
        let mut samples = metrics.lines().filter_map(|line| line.rsplit_once(' '));
        let sample = samples.find(|(found, _)| *found == name);
        let (_, value) = sample.unwrap_or_else(|| panic!("no {name} in:\n{metrics}"));
        value.parse::<f64>().unwrap() as u64
    }

    /// What is in the file of limits that statements have set.
    pub(crate) fn limits_set(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("myriad-auto.toml")).unwrap_or_default()
    }

    /// Writes something else into its configuration and has that read again.
    pub(crate) fn reconfigure(&self, from: &str, to: &str) {
        let path = self.folder.path().join("myriad.toml");
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{text}");
        std::fs::write(path, text.replace(from, to)).unwrap();
        let pid = Pid::from_raw(self.child.id().cast_signed()).unwrap();
        kill_process(pid, Signal::HUP).unwrap();
    }

    /// SIGTERM.
    pub(crate) fn terminate(&self) {
        let pid = Pid::from_raw(self.child.id().cast_signed()).unwrap();
        kill_process(pid, Signal::TERM).unwrap();
    }

    /// Waits for its end.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        let status = eventually("the end of the front door", || {
            self.child.try_wait().unwrap()
        });
        self.ended = true;
        status
    }

    /// What must be true of every front door that has ended.
    fn assert_ended_well(&mut self) {
        if !self.ended {
            self.terminate();
            let status = self.ended();
            assert_eq!(status.code(), Some(0), "{status}; its log:\n{}", self.log());
        }
        for alarming in ["panicked", "does not follow the protocol"] {
            assert!(!self.log().contains(alarming), "{}", self.log());
        }
    }
}

impl Drop for FrontDoor {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let metrics = self
                .try_http("/metrics")
                .unwrap_or_else(|error| error.to_string());
            let interesting = ["myriad_clients{", "myriad_backend", "myriad_pinned"];
            for line in metrics.lines().filter(|line| {
                interesting.iter().any(|i| line.starts_with(i)) && !line.ends_with(" 0")
            }) {
                eprintln!("{line}");
            }
            // It may have ended by itself; then there is nothing to kill.
            let _gone = self.child.kill();
            let _status = self.child.wait();
            eprintln!("the front door's log:\n{}", self.log());
        } else {
            self.assert_ended_well();
        }
    }
}

/// Addresses that were free a moment ago: one of `ip`, and those for HTTP and for administrators.
fn free_addresses(ip: IpAddr) -> (SocketAddr, SocketAddr, SocketAddr) {
    let listener = |ip| TcpListener::bind((ip, 0)).unwrap();
    let local = Ipv4Addr::LOCALHOST.into();
    let (a, b, c) = (listener(ip), listener(local), listener(local));
    let address = |listener: TcpListener| listener.local_addr().unwrap();
    (address(a), address(b), address(c))
}

fn configuration(
    folder: &TempDir,
    (tcp, http, sql): (SocketAddr, SocketAddr, SocketAddr),
    backend: &Address,
    settings: &[&str],
) -> String {
    let unix = |path: &Path| format!("unix:{}", path.display());
    let socket = unix(&folder.path().join("myriad.sock"));
    let backend = match backend {
        Address::Unix(path) => unix(path),
        Address::Tcp(address) => address.to_string(),
    };
    let settings = settings.join("\n");
    // The whole suite may be run over either driver, but for tests that are about one.
    let is_about_one = settings.contains("server.driver");
    let driver = std::env::var("MYRIAD_TEST_DRIVER").unwrap_or_else(|_| "auto".into());
    let driver = if is_about_one {
        String::new()
    } else {
        format!("server.driver = {driver:?}\n")
    };
    format!(
        "server.listen = [{tcp_text:?}, {socket:?}]\nbackend.address = {backend:?}\n\
         {driver}admin.http = {http_text:?}\nadmin.sql = {sql_text:?}\n\
         admin.account = [{{ user = \"root\", password = \"hush\" }}]\n{settings}\n{ACCOUNTS}",
        tcp_text = tcp.to_string(),
        http_text = http.to_string(),
        sql_text = sql.to_string(),
    )
}
