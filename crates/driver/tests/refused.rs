//! Where io_uring is refused. What refuses it lasts as long as a process, so each case runs in one
//! of its own: this binary again, with one test that does nothing otherwise.

#[cfg(test)]
#[allow(dead_code, reason = "each test binary uses some of it")]
#[path = "loopback/puppet.rs"]
mod puppet;
#[cfg(test)]
#[allow(dead_code, reason = "each test binary uses some of it")]
#[path = "loopback/stage.rs"]
mod stage;

/// What a stage runs over unless told otherwise.
#[cfg(test)]
fn driver() -> driver::Driver {
    driver::Driver::Epoll
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::process::Command;

    use driver::{Driver, Wanted};
    use rustix::process::{Resource, Rlimit, Uid, geteuid, setrlimit};
    use rustix::thread::set_thread_uid;
    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};

    use crate::puppet::Habit;
    use crate::stage::Setup;

    const CASE: &str = "DRIVER_TEST_REFUSED_BY";
    const WANTED: &str = "DRIVER_TEST_WANTED";
    /// The same number on every architecture.
    const IO_URING_SETUP: i64 = 425;
    const NOBODY: u32 = 65_534;

    /// What a process said in which io_uring was refused by `case`.
    fn told(case: &str, wanted: &str) -> String {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "tests::in_the_other_process", "--ignored"])
            .args(["--nocapture", "--test-threads", "1"])
            .env(CASE, case)
            .env(WANTED, wanted)
            .output()
            .unwrap();
        let both = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&both).into_owned();
        assert!(output.status.success(), "{text}");
        text
    }

    /// Of what was said, what was logged.
    fn logged(text: &str) -> &str {
        let mut lines = text.lines().filter(|line| line.contains("io_uring is"));
        let line = lines.next().expect(text);
        assert_eq!(lines.next(), None, "{text}");
        line
    }

    #[test]
    fn a_seccomp_filter_makes_auto_epoll() {
        let text = told("seccomp", "auto");
        assert!(text.contains("chosen: epoll, and it works"), "{text}");
        let line = logged(&text);
        for part in [
            "WARN",
            "Operation not permitted",
            "seccomp profile",
            "connections_max=936",
        ] {
            assert!(line.contains(part), "{line}");
        }
    }

    #[test]
    fn too_little_locked_memory_makes_auto_epoll() {
        if let Err(error) = Driver::IoUring.probe() {
            println!("this is not tested, io_uring is refused anyway: {error}");
            return;
        }
        let text = told("memlock", "auto");
        assert!(text.contains("chosen: epoll, and it works"), "{text}");
        let line = logged(&text);
        for part in [
            "WARN",
            "Cannot allocate memory",
            "ulimit -l",
            "connections_max=936",
        ] {
            assert!(line.contains(part), "{line}");
        }
    }

    #[test]
    fn io_uring_that_is_demanded_and_refused_is_an_error() {
        let text = told("seccomp", "io_uring");
        let error = "refused: io_uring is refused: Operation not permitted (os error 1); allow \
                     io_uring (seccomp profile of the container, sysctl \
                     kernel.io_uring_disabled), or choose another driver";
        assert!(text.contains(error), "{text}");
        assert!(!text.contains("WARN"), "{text}");
    }

    #[test]
    #[ignore = "it is what the others do in another process"]
    fn in_the_other_process() {
        let Ok(case) = std::env::var(CASE) else {
            return;
        };
        let (current, maximum) = (Some(1_000), Some(1_000));
        setrlimit(Resource::Nofile, Rlimit { current, maximum }).unwrap();
        match case.as_str() {
            "seccomp" => forbid_io_uring(),
            "memlock" => lock_no_memory(),
            other => panic!("no such case: {other}"),
        }
        tracing_subscriber::fmt()
            .with_writer(std::io::stderr)
            .with_ansi(false)
            .init();
        let wanted = match std::env::var(WANTED).as_deref() {
            Ok("auto") => Wanted::Auto,
            _ => Wanted::IoUring,
        };
        match Driver::choose(wanted) {
            Ok(driver) => {
                echo(driver);
                println!("chosen: {driver}, and it works");
            }
            Err(error) => println!("refused: {error}"),
        }
    }

    fn forbid_io_uring() {
        let calls = BTreeMap::from([(IO_URING_SETUP, Vec::new())]);
        let refuse = SeccompAction::Errno(rustix::io::Errno::PERM.raw_os_error() as u32);
        let architecture = std::env::consts::ARCH.try_into().unwrap();
        let filter = SeccompFilter::new(calls, SeccompAction::Allow, refuse, architecture).unwrap();
        apply_filter(&BpfProgram::try_from(filter).unwrap()).unwrap();
    }

    /// The limit binds only those who are not root.
    fn lock_no_memory() {
        let (current, maximum) = (Some(0), Some(0));
        setrlimit(Resource::Memlock, Rlimit { current, maximum }).unwrap();
        if geteuid().is_root() {
            set_thread_uid(Uid::from_raw(NOBODY)).unwrap();
        }
    }

    fn echo(driver: Driver) {
        let stage = Setup {
            habit: Habit::Echo,
            driver,
            ..Setup::default()
        }
        .start();
        let mut client = TcpStream::connect(stage.tcp()).unwrap();
        client.write_all(b"hello").unwrap();
        let mut heard = [0; 5];
        client.read_exact(&mut heard).unwrap();
        assert_eq!(&heard, b"hello");
        stage.end();
    }
}
