//! Every plugin, way, source and password, with every client: each login comes out as it does directly.

use super::cells::{self, Cell, When};
use super::programs::{self, Program, Target};
use super::server::Reachable;
use crate::from_server::{MONITOR, admin, grants_of_monitor, run};
use crate::support::{FrontDoor, Server, eventually};

/// Where the front door knows accounts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Configured,
    Server,
}

impl Source {
    fn has(self, cell: &Cell) -> bool {
        self == Self::Server || cell.is_configurable()
    }
}

#[test]
fn every_login_comes_out_as_on_the_server() {
    let server = Reachable::start();
    server.execute(
        "CREATE USER 'admin'@'localhost' IDENTIFIED BY 'all';
         GRANT ALL ON *.* TO 'admin'@'localhost' WITH GRANT OPTION",
    );
    server.execute(&grants_of_monitor());
    server.execute(cells::installed());
    let scratch = tempfile::tempdir().unwrap();
    let mut differences = Vec::new();
    for mut program in programs::all(scratch.path()) {
        let direct = directly(&server, &mut program);
        for source in [Source::Configured, Source::Server] {
            let through = through(&server, &mut program, source);
            let direct_too = direct.iter().filter(|(_, cell, _)| source.has(cell));
            for (outcome, (when, cell, through)) in direct_too.zip(&through) {
                let expected = expected(&program, source, (outcome, &direct));
                if !is_as_expected(source, cell, (&expected, through)) {
                    differences.push(format!(
                        "{}, {source:?}, {when:?}, {} {:?} {:?}:\n  directly {expected}\n  through  {through}",
                        program.name, cell.user, cell.password, cell.way
                    ));
                }
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// When, what, and what came of it.
type Outcome = (When, Cell, String);

fn outcomes(
    program: &mut Program,
    (source, when): (Source, When),
    target: Target<'_>,
) -> Vec<Outcome> {
    let mut cells = cells::cells(when);
    cells.retain(|cell| program.knows_unix || cell.way != cells::Way::Unix);
    cells.retain(|cell| source.has(cell));
    let told = program.log_in(&cells, target);
    let all = cells.into_iter().zip(told);
    all.map(|(cell, told)| (when, cell, told)).collect()
}

fn directly(server: &Reachable, program: &mut Program) -> Vec<Outcome> {
    server.execute(&cells::made());
    let target = Target {
        tcp: server.tcp(),
        socket: server.socket(),
    };
    let mut all = outcomes(program, (Source::Server, When::Before), target);
    server.execute(&cells::changes().join(";\n"));
    all.extend(outcomes(program, (Source::Server, When::After), target));
    all
}

/// What the server says. With passwords of the configuration the fast path of caching_sha2_password is always enough: what a
/// client cannot do or get without TLS because of the full exchange is as over TLS.
fn expected(program: &Program, source: Source, (outcome, all): (&Outcome, &[Outcome])) -> String {
    let (when, cell, told) = outcome;
    let lets_anybody_in = cell.user == "m_empty" && told.starts_with("ok ");
    if lets_anybody_in && cell.password == "wrong" && program.name == "MariaDB's for Node.js" {
        // Over a unix socket MySQL takes its request for the key for an empty password.
        return format!("ERR 1045 {ACCESS_DENIED}");
    }
    let over_tls = all.iter().find(|(other_when, other, _)| {
        let same = (&other.user, other.password) == (&cell.user, cell.password);
        same && other_when == when && other.way == cells::Way::TcpOverTls
    });
    match (source, cell.way, over_tls) {
        (Source::Configured, cells::Way::Tcp, Some((_, _, secured))) => secured.clone(),
        _ => told.clone(),
    }
}

const ACCESS_DENIED: &str = "Access denied for user";

fn is_as_expected(source: Source, cell: &Cell, (expected, told): (&str, &str)) -> bool {
    if whoever(source, expected) == whoever(source, told) {
        return true;
    }
    let refused = !told.starts_with("ok ") && !expected.starts_with("ok ");
    if !Server::is_mariadb() && cell.user == "m_nobody" {
        // MySQL has those whom it does not know try some plugin or other.
        return refused;
    }
    let denied = |text: &str| text.contains(ACCESS_DENIED);
    if expected.starts_with("ERR 1045") {
        return denied(told);
    }
    // docs/CORNERS.md: with accounts of the configuration, where the database decides the login, and without the flag for it,
    // nobody is let in whose password has expired.
    let sandbox = "You must SET PASSWORD before";
    let login = "Your password has expired.";
    // That of the command-line client.
    let hint = "--connect-expired-password";
    let expired = [sandbox, login, hint]
        .iter()
        .any(|text| expected.contains(text));
    match source {
        // What the database refuses is told at the first statement, which some connectors do not show.
        Source::Configured => expired && refused,
        Source::Server => expired && told.contains(login),
    }
}

/// What is told, whatever a client is called that comes from a loopback address: with accounts of the configuration
/// alone it is not known what the server calls it.
fn whoever(source: Source, told: &str) -> String {
    match source {
        Source::Configured => told.replace("'127.0.0.1'", "'localhost'"),
        Source::Server => told.to_owned(),
    }
}

fn through(server: &Reachable, program: &mut Program, source: Source) -> Vec<Outcome> {
    server.execute(&cells::made());
    let configured = cells::configured(When::Before);
    let settings = match source {
        Source::Configured => &configured,
        Source::Server => MONITOR,
    };
    let door = FrontDoor::start(&server.address(), &[settings]);
    let mut all = through_door(&door, program, (source, When::Before));
    let mut admin = admin(&door);
    for sql in cells::changes() {
        run(&mut admin, &sql);
    }
    if source == Source::Configured {
        door.reconfigure(&configured, &cells::configured(When::After));
        eventually("the configuration read again", || {
            let read = door.log().contains("configuration read again");
            read.then_some(())
        });
    }
    all.extend(through_door(&door, program, (source, When::After)));
    all
}

fn through_door(door: &FrontDoor, program: &mut Program, when: (Source, When)) -> Vec<Outcome> {
    let socket = door.socket();
    let target = Target {
        tcp: door.tcp(),
        socket: &socket,
    };
    outcomes(program, when, target)
}
