//! Every plugin, way, source and password, with every client: each login comes out as it does directly.

use super::cells::{self, Cell, When};
use super::programs::{self, Program, Target};
use super::server::Reachable;
use crate::from_server::{MONITOR, admin, grants_of_monitor, run};
use crate::support::FrontDoor;

/// Where the front door knows accounts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Configured,
    Server,
}

#[test]
fn every_login_comes_out_as_on_the_server() {
    let server = Reachable::start();
    server.execute(
        "CREATE USER 'admin'@'localhost' IDENTIFIED BY 'all';
         GRANT ALL ON *.* TO 'admin'@'localhost' WITH GRANT OPTION",
    );
    server.execute(&grants_of_monitor());
    let scratch = tempfile::tempdir().unwrap();
    let mut differences = Vec::new();
    for mut program in programs::all(scratch.path()) {
        let direct = directly(&server, &mut program);
        for source in [Source::Configured, Source::Server] {
            let through = through(&server, &mut program, source);
            for ((when, cell, direct), (_, _, through)) in direct.iter().zip(&through) {
                let same = whoever(source, direct) == whoever(source, through);
                if !same && !is_on_purpose(source, direct, through) {
                    differences.push(format!(
                        "{}, {source:?}, {when:?}, {} {:?} {:?}:\n  directly {direct}\n  through  {through}",
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

fn outcomes(program: &mut Program, when: When, target: Target<'_>) -> Vec<Outcome> {
    let mut cells = cells::cells(when);
    cells.retain(|cell| program.knows_unix || cell.way != cells::Way::Unix);
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
    let mut all = outcomes(program, When::Before, target);
    server.execute(&cells::changes().join(";\n"));
    all.extend(outcomes(program, When::After, target));
    all
}

/// docs/DIFFERENCES.md: MariaDB lets those with an expired password in, and has them change it before anything else.
fn is_on_purpose(source: Source, direct: &str, through: &str) -> bool {
    let expired = direct.contains("You must SET PASSWORD before") && !through.starts_with("ok ");
    match source {
        // Connectors that ask for something first say of the same refusal that they could not begin.
        Source::Configured => expired,
        Source::Server => expired && through.contains("Your password has expired."),
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
    let door = door(server, source, When::Before);
    let mut all = through_door(&door, program, When::Before);
    let mut admin = admin(&door);
    for sql in cells::changes() {
        run(&mut admin, &sql);
    }
    // Changes of accounts in the configuration hold from the next start on.
    let door = match source {
        Source::Configured => self::door(server, source, When::After),
        Source::Server => door,
    };
    all.extend(through_door(&door, program, When::After));
    all
}

fn door(server: &Reachable, source: Source, when: When) -> FrontDoor {
    let settings = match source {
        Source::Configured => &cells::configured(when),
        Source::Server => MONITOR,
    };
    FrontDoor::start(&server.address(), &[settings])
}

fn through_door(door: &FrontDoor, program: &mut Program, when: When) -> Vec<Outcome> {
    let socket = door.socket();
    let target = Target {
        tcp: door.tcp(),
        socket: &socket,
    };
    outcomes(program, when, target)
}
