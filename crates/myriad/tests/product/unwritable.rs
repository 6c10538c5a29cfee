//! Nothing that is only told may end the front door or hold up a session: standard output and error, the log, the file of
//! limits, metrics. Each of them fails, is full, and blocks, while a thousand sessions execute.

use std::fs::{File, OpenOptions};
use std::io::{PipeReader, PipeWriter, Read, Write, pipe};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use rustix::fs::{OFlags, fcntl_setfl};
use tempfile::TempDir;

use crate::support::{
    Address, Client, Database, FrontDoor, Login, Outcome, Streams, eventually, finish, folder,
};

const SESSIONS: &str = "--connections=1000";

/// Nobody waits for so long: the machine has two cores, and a thousand sessions share them.
const LATENCY_MAX_MS: f64 = 3_000.0;

const TABLES: [&str; 5] = [
    "--user=load",
    "--password=much",
    "--database=unwritable",
    "--tables=1",
    "--table-size=1000",
];

/// The shared database that has a table for the crowd.
static PREPARED: Mutex<Weak<Database>> = Mutex::new(Weak::new());

/// The shared database with a table for the crowd, which is made once: other tests' crowds read it at the same time.
fn prepared() -> Arc<Database> {
    let mut prepared = PREPARED.lock().unwrap_or_else(PoisonError::into_inner);
    let database = Database::shared();
    if prepared.ptr_eq(&Arc::downgrade(&database)) {
        return database;
    }
    let Address::Unix(socket) = database.address() else {
        unreachable!("the tests' database is reached over its socket")
    };
    database.execute("CREATE DATABASE unwritable; GRANT ALL ON unwritable.* TO 'load'@'localhost'");
    let mut command = Command::new(env!("CARGO_BIN_EXE_myriad"));
    command.args(["load", "prepare"]).args(TABLES);
    command.arg("--socket").arg(socket).stdout(Stdio::null());
    assert_eq!(finish(command.spawn().unwrap()), Some(0));
    *prepared = Arc::downgrade(&database);
    database
}

/// A thousand sessions that execute one statement after the other.
struct Crowd {
    child: Child,
    folder: TempDir,
}

impl Crowd {
    fn before(door: &FrontDoor) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let said = File::create(folder.path().join("said")).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_myriad"))
            .args(["load", "run", SESSIONS, "--threads=1", "--warmup=1s"])
            .args(["--workload=point-select", "--duration=5s"])
            .args(TABLES)
            .arg(format!("--port={}", door.tcp().port()))
            .arg("--json")
            .arg(folder.path().join("json"))
            .stderr(said.try_clone().unwrap())
            .stdout(said)
            .spawn()
            .unwrap();
        eventually("a thousand sessions", || {
            (door.metric("myriad_logins_total") >= 1_000).then_some(())
        });
        Self { child, folder }
    }

    /// None of them was cut off, was answered wrongly, or waited.
    fn assert_undisturbed(self) {
        let code = finish(self.child);
        let read = |name| std::fs::read_to_string(self.folder.path().join(name)).unwrap();
        assert_eq!(code, Some(0), "{}", read("said"));
        let json: serde_json::Value = serde_json::from_str(&read("json")).unwrap();
        assert_eq!(json["reconnects"], 0, "{json}");
        assert!(json["statements"].as_u64().unwrap() > 1_000, "{json}");
        let latency = json["latency_ms"]["max"].as_f64().unwrap();
        assert!(latency < LATENCY_MAX_MS, "{latency} ms: {json}");
    }
}

/// Says so much that no pipe holds it: with `log.level = "debug"` each connection is worth a line.
fn talk(door: &FrontDoor) {
    for _ in 0..100 {
        let mut stream = TcpStream::connect(door.tcp()).unwrap();
        stream.read_exact(&mut [0; 5]).unwrap();
    }
}

const TALKATIVE: &str = "log.level = \"debug\"";

fn full() -> OwnedFd {
    let file = OpenOptions::new().write(true).open("/dev/full").unwrap();
    file.into()
}

/// A pipe that is full, which nobody reads.
fn blocked() -> (PipeReader, PipeWriter) {
    let (reader, mut writer) = pipe().unwrap();
    fcntl_setfl(&writer, OFlags::NONBLOCK).unwrap();
    while writer.write(&[b'\n'; 4_096]).is_ok() {}
    // The front door is to meet the usual kind of pipe.
    fcntl_setfl(&writer, OFlags::empty()).unwrap();
    (reader, writer)
}

fn streams(out: impl Into<OwnedFd>, err: impl Into<OwnedFd>) -> Streams {
    Streams {
        out: out.into(),
        err: err.into(),
        file_blocks: None,
    }
}

/// Runs a crowd while lines are lost; ends well.
fn assert_serves(streams: &Streams) {
    let database = prepared();
    let mut door = FrontDoor::start_saying(database.address(), &[TALKATIVE], streams);
    let crowd = Crowd::before(&door);
    eventually("lines are lost", || {
        talk(&door);
        (door.metric("myriad_log_lines_lost_total") > 0).then_some(())
    });
    assert!(door.http("/health").contains("\"ok\""));
    crowd.assert_undisturbed();
    door.terminate();
    let status = door.ended();
    assert_eq!(status.code(), Some(0), "{status}");
}

#[test]
fn a_full_disk_costs_lines_of_the_log() {
    assert_serves(&streams(full(), full()));
}

#[test]
fn a_reader_that_has_gone_costs_lines_of_the_log() {
    let (reader, writer) = pipe().unwrap();
    drop(reader);
    assert_serves(&streams(writer.try_clone().unwrap(), writer));
}

#[test]
fn a_reader_that_does_not_read_costs_lines_of_the_log() {
    let (_reader, writer) = blocked();
    assert_serves(&streams(writer.try_clone().unwrap(), writer));
}

#[test]
fn a_log_file_that_may_not_grow_costs_its_lines() {
    let folder = folder();
    let log = File::create(folder.path().join("log")).unwrap();
    assert_serves(&Streams {
        out: full(),
        err: log.into(),
        // The certificate that is made for clients fits.
        file_blocks: Some(8),
    });
}

#[test]
fn whoever_reads_again_gets_whole_lines_and_how_many_were_lost() {
    let database = Database::shared();
    let (mut reader, writer) = pipe().unwrap();
    let streams = streams(full(), writer);
    let mut door = FrontDoor::start_saying(database.address(), &[TALKATIVE], &streams);
    drop(streams);
    eventually("lines are lost", || {
        talk(&door);
        (door.metric("myriad_log_lines_lost_total") > 0).then_some(())
    });
    let lines = std::thread::spawn(move || {
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        text
    });
    let before = door.metric("myriad_log_lines_lost_total");
    eventually("no more lines are lost", || {
        let lost = door.metric("myriad_log_lines_lost_total");
        talk(&door);
        (door.metric("myriad_log_lines_lost_total") == lost).then_some(())
    });
    door.terminate();
    assert_eq!(door.ended().code(), Some(0));
    let text = lines.join().unwrap();
    let told = text
        .lines()
        .filter(|line| line.contains("lines of the log were lost"));
    let number = |line: &str| {
        let (_, rest) = line.split_once("lines=").unwrap();
        rest.trim().parse::<u64>().unwrap()
    };
    let told: u64 = told.map(number).sum();
    assert!(
        told >= before,
        "{told} of {before} lines were told to be lost"
    );
    assert!(text.ends_with('\n'));
    let is_whole = |line: &str| line.starts_with("20") && line.split_whitespace().count() > 2;
    let broken: Vec<_> = text.lines().filter(|line| !is_whole(line)).collect();
    assert!(broken.is_empty(), "{broken:?}");
}

#[test]
fn metrics_that_nobody_reads_hold_nobody_up() {
    let database = prepared();
    let door = FrontDoor::start(database.address(), &[]);
    let crowd = Crowd::before(&door);
    let silent: Vec<TcpStream> = (0..200)
        .map(|_| {
            let mut stream = TcpStream::connect(door.admin_http()).unwrap();
            let asked =
                "GET /metrics HTTP/1.1\r\nHost: x\r\nAuthorization: Basic cm9vdDpodXNo\r\n\r\n";
            // One that had to give way hears of it here.
            let _gave_way = stream.write_all(asked.as_bytes());
            stream
        })
        .collect();
    // Until those who were there first have had their second, whoever comes is closed as it comes.
    eventually("an answer to somebody who reads", || {
        let answer = door.try_http("/health").ok()?;
        answer.contains("\"ok\"").then_some(())
    });
    crowd.assert_undisturbed();
    drop(silent);
}

/// Whoever may limit accounts.
fn admin(door: &FrontDoor) -> Client {
    let login = Login {
        user: "admin",
        password: "all",
        ..Login::default()
    };
    Client::login(&door.address(), &login).unwrap()
}

const LIMIT: &str = "ALTER USER app WITH MAX_CONCURRENT_QUERIES 900";

#[test]
fn a_file_of_limits_that_cannot_be_written_is_told_to_whoever_asked() {
    let database = prepared();
    let streams = Streams {
        out: full(),
        err: full(),
        file_blocks: Some(0),
    };
    let door = FrontDoor::start_saying(database.address(), &[], &streams);
    let crowd = Crowd::before(&door);
    let mut admin = admin(&door);
    let told = admin.run(LIMIT);
    assert!(
        matches!(&told[..], [Outcome::Err(_, text)] if text.contains("File too large")),
        "{told:?}"
    );
    crowd.assert_undisturbed();
    assert_eq!(door.limits_set(), "");
}

#[test]
fn a_file_of_limits_that_is_none_is_told_to_whoever_asked() {
    let database = prepared();
    let door = FrontDoor::start(database.address(), &[]);
    let crowd = Crowd::before(&door);
    let path = door.folder().join("myriad-auto.toml");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &path,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    let mut admin = admin(&door);
    let told = admin.run(LIMIT);
    assert!(
        matches!(&told[..], [Outcome::Err(_, text)] if text.contains("not a file")),
        "{told:?}"
    );
    crowd.assert_undisturbed();
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(&admin.run(LIMIT)[..], [Outcome::Ok(_)]));
    assert!(door.limits_set().contains("900"));
}

/// Runs `myriad` with these streams; its exit code.
fn tool(arguments: &[&str], out: OwnedFd, err: OwnedFd) -> Option<i32> {
    let child = Command::new(env!("CARGO_BIN_EXE_myriad"))
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(out)
        .stderr(err)
        .spawn()
        .unwrap();
    finish(child)
}

#[test]
fn commands_say_that_they_cannot_say_what_they_should_and_end_quietly_without_a_reader() {
    let database = prepared();
    let Address::Unix(socket) = database.address() else {
        unreachable!("the tests' database is reached over its socket")
    };
    let socket = ["--socket", socket.to_str().unwrap()];
    let work = ["load", "run", "--duration=60s", "--report-interval=100ms"];
    let work = [
        &work[..],
        &TABLES,
        &socket,
        &["--connections=2", "--warmup=0s"],
    ]
    .concat();
    let commands: [(&[&str], i32); 5] = [
        (&["config", "default"], 1),
        (&["doctor", "explain", "99"], 3),
        (&["--help"], 1),
        (&["load", "run", "--help"], 1),
        (&work, 1),
    ];
    let folder = folder();
    for (arguments, failed) in commands {
        let path = folder.path().join("err");
        let said = || std::fs::read_to_string(&path).unwrap();
        let err = || OwnedFd::from(File::create(&path).unwrap());
        assert_eq!(
            tool(arguments, full(), err()),
            Some(failed),
            "{arguments:?}"
        );
        let text = said();
        assert!(
            text.contains("cannot write to standard output") && text.contains("No space left"),
            "{arguments:?}: {text}"
        );
        assert!(!text.contains("panic"), "{arguments:?}: {text}");
        // Nor can it be said there.
        assert_eq!(
            tool(arguments, full(), full()),
            Some(failed),
            "{arguments:?}"
        );
        let (reader, writer) = pipe().unwrap();
        drop(reader);
        assert_eq!(
            tool(arguments, writer.into(), err()),
            Some(0),
            "{arguments:?}"
        );
        let said = said();
        let complaints: Vec<_> = said
            .lines()
            .filter(|line| !line.contains(" INFO "))
            .collect();
        assert!(complaints.is_empty(), "{arguments:?}: {complaints:?}");
    }
}
