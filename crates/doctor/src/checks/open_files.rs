//! How many files a process may have open: over epoll each connection is one.

use super::{Check, model};
use crate::finding::{Group, Observation, Severity};
use crate::host::{CAP_SYS_RESOURCE, Host, Limit, Unknown};
use crate::need::{Need, Serving};
use crate::numbers::count;
use crate::remedy::Remedy;

pub(super) const CHECK: Check = Check {
    name: "open-files",
    group: Group::Files,
    run,
};

/// Files of Myriad besides connections: output, the log, signals, a spare, the admin's HTTP.
const MYRIAD_OWN: u64 = 12;
/// Files of each of its workers, and of each address that it listens on.
const MYRIAD_EACH: [u64; 2] = [2, 1];
/// Files of the load generator besides connections, and of each of its workers.
const GENERATOR_OWN: [u64; 2] = [3, 3];
/// Files of each ring: itself and what wakes the worker for it.
const PER_RING: u64 = 2;

fn run(host: &Host, need: &Need) -> Result<Observation, Unknown> {
    let limit = host.limit("Max open files")?;
    if need.serving == Serving::Myriad && model::uring(host, need) {
        return Ok(over_uring(limit, need));
    }
    let own = own(need);
    let (others, parts) = match need.serving {
        _ if !need.serves() => (own, format!("{} of its own", count(own))),
        Serving::Myriad => (
            own + need.backends,
            format!("{} backends + {} of its own", need.backends, count(own)),
        ),
        Serving::ThreadPerConnection | Serving::ThreadPool => (
            DATABASE_OWN,
            format!("{DATABASE_OWN} of the database's own"),
        ),
    };
    let wanted = need.connections + others;
    let observation = Observation::new(
        format!("{} open files", show(limit.soft)),
        format!("a process may have {} files open{}", show(limit.soft), raisable(host, limit)),
    )
    .needs(format!(
        "{} connections + {parts} = {}",
        count(need.connections),
        count(wanted)
    ))
    .why(
        "each connection is an open file; beyond the limit accepting and connecting fail with errno 24 \
         (EMFILE), which clients call error 2004 or simply see no answer to",
    );
    let mut remedies = vec![Remedy::OpenFiles(wanted.next_multiple_of(1_024))];
    if need.serving == Serving::Myriad {
        remedies.push(Remedy::advice(
            "or allow io_uring (see the check io-uring): connections are no open files there",
        ));
    }
    Ok(observation.limited(
        limit.soft.saturating_sub(others),
        need.connections,
        remedies,
    ))
}

/// Files of a database besides connections, with a few tables open.
const DATABASE_OWN: u64 = 40;

/// Files besides connections of the process that needs most of them.
fn own(need: &Need) -> u64 {
    let [least, each] = GENERATOR_OWN;
    if !need.serves() {
        return least + each * need.workers;
    }
    let [worker, address] = MYRIAD_EACH;
    MYRIAD_OWN + worker * need.workers + address * need.targets
}

/// The limit bounds a ring's table, of which there can be many.
fn over_uring(limit: Limit, need: &Need) -> Observation {
    let slots = limit.soft.clamp(1, model::RING_SLOTS);
    let own = own(need);
    let rings = (need.connections + need.backends)
        .div_ceil(slots)
        .max(need.workers);
    let wanted = own + PER_RING * rings;
    let rings_max = (limit.soft.saturating_sub(own) / PER_RING).min(model::RINGS * need.workers);
    let most = (rings_max * slots).saturating_sub(need.backends);
    Observation::new(
        format!("{} open files", show(limit.soft)),
        format!(
            "a process may have {} files open, and io_uring works, over which connections are no open files",
            show(limit.soft)
        ),
    )
    .needs(format!(
        "{} connections + {} backends in {rings} rings of {}: {wanted} open files",
        count(need.connections),
        need.backends,
        count(slots),
    ))
    .why("a ring's table has at most as many places as the limit of open files says; there can be many rings")
    .limited(most, need.connections, [Remedy::OpenFiles(65_536)])
    .judged(
        limit.soft < wanted + need.workers,
        Severity::Fatal,
        [Remedy::OpenFiles(65_536)],
    )
}

fn raisable(host: &Host, limit: Limit) -> String {
    if limit.hard > limit.soft {
        return format!("; it may raise that to {} itself", show(limit.hard));
    }
    match host.capable(CAP_SYS_RESOURCE) {
        Ok(true) => "; root may raise that".into(),
        Ok(false) => "; only root may raise that".into(),
        Err(_) => String::new(),
    }
}

fn show(limit: u64) -> String {
    if limit == u64::MAX {
        "unlimited".into()
    } else {
        count(limit)
    }
}

#[cfg(test)]
mod tests {
    use crate::finding::Severity;
    use crate::need::{Need, Role, Serving};
    use crate::tree::Tree;

    fn need() -> Need {
        Need {
            workers: 2,
            ..Need::new(100_000)
        }
    }

    #[test]
    fn over_epoll_each_connection_is_a_file() {
        let tree = Tree::healthy().without_uring();
        let finding = tree.check("open-files", &need()).observation;
        assert_eq!(finding.severity, Severity::Fine);
        assert_eq!(
            finding.needs,
            "100,000 connections + 32 backends + 17 of its own = 100,049"
        );
        let finding = tree.open_files(20_000, 20_000).check("open-files", &need());
        assert_eq!(finding.observation.severity, Severity::Fatal);
        assert_eq!(finding.observation.limit, Some(20_000 - 32 - 17));
        let now = finding.observation.remedies[0].now();
        assert_eq!(now, "ulimit -n 100352");
    }

    #[test]
    fn over_io_uring_the_limit_bounds_only_a_ring() {
        let tree = Tree::healthy().open_files(20_000, 20_000);
        let finding = tree.check("open-files", &need()).observation;
        assert_eq!(finding.severity, Severity::Fine);
        assert_eq!(
            finding.needs,
            "100,000 connections + 32 backends in 6 rings of 20,000: 29 open files"
        );
        assert!(finding.limit.unwrap() > 1_000_000);
        let finding = Tree::healthy()
            .open_files(24, 24)
            .check("open-files", &need());
        assert_eq!(finding.severity(), Severity::Fatal);
    }

    #[test]
    fn a_database_alone_needs_a_file_for_each_connection_whatever_the_kernel_offers() {
        let need = Need {
            serving: Serving::ThreadPool,
            ..need()
        };
        let finding = Tree::healthy()
            .open_files(20_000, 20_000)
            .check("open-files", &need);
        assert_eq!(finding.observation.limit, Some(19_960));
    }

    #[test]
    fn whether_the_limit_can_be_raised_is_said() {
        let tree = Tree::healthy().without_uring().open_files(1_024, 524_288);
        let found = tree.check("open-files", &need()).observation.found;
        assert!(
            found.ends_with("it may raise that to 524,288 itself"),
            "{found}"
        );
        let clients = Need {
            role: Role::Clients,
            ..need()
        };
        let needs = tree.check("open-files", &clients).observation.needs;
        assert_eq!(needs, "100,000 connections + 9 of its own = 100,009");
    }
}
