//! The front door of a run: its configuration, and its process.

use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::child::Child;
use crate::database::{Database, OTHER_USER, PASSWORD, USER, free_port};
use crate::error::ChallengeError;
use crate::{Case, Course, Plan, Stop, Workload};

const READY_LIMIT: Duration = Duration::from_secs(20);
const READY_LOOK: Duration = Duration::from_millis(10);
/// Clients besides those of the run.
const SPARE_CONNECTIONS: u32 = 1_000;

/// A front door that accepts clients.
pub(crate) struct Door {
    child: Child,
    port: u16,
}

/// The configuration of a front door on `port`.
pub(crate) fn configuration(plan: &Plan, course: &Course, port: u16, socket: &str) -> String {
    let (workers, backends) = (plan.threads(), course.backends());
    let most = course.connections_max().saturating_add(SPARE_CONNECTIONS);
    let account = |user| format!("[[account]]\nuser = \"{user}\"\npassword = \"{PASSWORD}\"\n\n");
    let accounts = match course.workload {
        Workload::Beside => account(USER) + &account(OTHER_USER),
        _ => account(USER),
    };
    let quotas = course.case.map_or_else(String::new, Case::quotas);
    format!(
        "[server]\nlisten = [\"127.0.0.1:{port}\"]\nworkers = {workers}\nmax_connections = {most}\n\
         # All may log in at once.\nmax_logins = {most}\n\n\
         [backend]\naddress = \"unix:{socket}\"\nmax_connections = {backends}\n\
         # At very many connections a statement rightly waits longer than the usual 30 s.\n\
         queue_timeout = \"10m\"\n\n\
         {accounts}[log]\nlevel = \"warn\"\n{quotas}"
    )
}

impl Door {
    /// Starts one before the database, and waits until it listens.
    pub(crate) fn start(
        plan: &Plan,
        database: &Database,
        course: &Course,
        stop: &Stop,
    ) -> Result<Self, ChallengeError> {
        let port = free_port()?;
        let file = plan.out.join("myriad.toml");
        let text = configuration(plan, course, port, &database.socket());
        private(&file, &text)?;
        let arguments = ["serve".to_owned(), format!("--config={}", file.display())];
        let log = plan.out.join("myriad.log");
        let child = Child::start("myriad serve", &plan.program, &arguments, &log)?;
        let mut door = Self { child, port };
        door.await_ready(stop)?;
        Ok(door)
    }

    /// Its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.pid()
    }

    /// Where it listens on 127.0.0.1.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    fn await_ready(&mut self, stop: &Stop) -> Result<(), ChallengeError> {
        let address = SocketAddr::from(([127, 0, 0, 1], self.port));
        let deadline = Instant::now() + READY_LIMIT;
        while Instant::now() < deadline {
            stop.check()?;
            if let Some(status) = self.child.ended()? {
                return Err(self.child.error(format!("ended with {status}")));
            }
            if TcpStream::connect(address).is_ok() {
                return Ok(());
            }
            std::thread::sleep(READY_LOOK);
        }
        Err(self.child.error("does not listen"))
    }
}

/// Writes a file that only its owner may read: it holds a password.
fn private(file: &Path, text: &str) -> Result<(), ChallengeError> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;

    let mut options = std::fs::OpenOptions::new();
    let opened = options
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(file);
    let written = opened.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(ChallengeError::system("write", file))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Way;
    use crate::limits::tests::{course, plan};

    #[test]
    fn the_front_door_has_room_for_all_clients_at_any_moment() {
        let course = course(Way::Myriad, 1_000);
        let text = configuration(&plan("1000"), &course, 7_000, "/run/a.sock");
        for line in [
            "listen = [\"127.0.0.1:7000\"]",
            "max_connections = 2000",
            "max_logins = 2000",
            "address = \"unix:/run/a.sock\"",
            "max_connections = 32",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in {text}");
        }
        assert!(!text.contains("[[quota]]"), "{text}");
    }

    #[test]
    fn the_front_door_knows_both_accounts_and_their_limits() {
        let course = Course {
            workload: Workload::Beside,
            case: Some(Case::QueryLimit4),
            ..course(Way::Myriad, 128)
        };
        let text = configuration(&plan("1000"), &course, 7_000, "/run/a.sock");
        assert_eq!(text.matches("[[account]]").count(), 2, "{text}");
        assert_eq!(text.matches("[[quota]]").count(), 2, "{text}");
        assert!(text.contains("max_connections = 160"), "{text}");
    }
}
