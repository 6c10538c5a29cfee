//! How many threads there may be: one per connection for a database without a thread pool.

use super::Check;
use crate::finding::{Group, Observation};
use crate::host::{Controller, Host, Unknown, number};
use crate::need::{Need, Serving};
use crate::numbers::count;
use crate::remedy::Remedy;

pub(super) const CHECK: Check = Check {
    name: "threads",
    group: Group::Threads,
    run,
};

/// Threads of a process besides those that work.
const OWN: u64 = 4;
/// Threads of a database besides those of connections.
const DATABASE_OWN: u64 = 40;

/// One of the bounds, and how many threads may still be started under it.
struct Bound {
    name: &'static str,
    text: String,
    left: u64,
}

fn run(host: &Host, need: &Need) -> Result<Observation, Unknown> {
    let bounds = bounds(host)?;
    let texts: Vec<&str> = bounds.iter().map(|bound| bound.text.as_str()).collect();
    let tightest = bounds.iter().min_by_key(|bound| bound.left);
    let left = tightest.map_or(u64::MAX, |bound| bound.left);
    let observation = Observation::new(
        format!("{} more threads", count(left)),
        format!(
            "{} more threads may be started: {}",
            count(left),
            texts.join(", ")
        ),
    );
    let remedies = remedies(
        tightest.map(|bound| bound.name),
        need.connections + DATABASE_OWN,
    );
    if need.serving == Serving::ThreadPerConnection && need.serves() {
        return Ok(observation
            .needs(format!(
                "a thread for each of {} connections + {DATABASE_OWN} of the database's own = {}",
                count(need.connections),
                count(need.connections + DATABASE_OWN)
            ))
            .why("beyond it the database says: Can't create a new thread (errno 11) (error 1135)")
            .limited(
                left.saturating_sub(DATABASE_OWN),
                need.connections,
                remedies,
            ));
    }
    let wanted = need.workers * need.ends() + OWN;
    Ok(observation
        .needs(format!(
            "{wanted}, whatever the number of connections (a database with a thread for each would need {})",
            count(need.connections)
        ))
        .why("a worker cannot start without its thread")
        .judged(left < wanted, crate::Severity::Fatal, remedies))
}

fn bounds(host: &Host) -> Result<Vec<Bound>, Unknown> {
    let running = running(host)?;
    let mut bounds: Vec<Bound> = ["kernel.pid_max", "kernel.threads-max"]
        .into_iter()
        .map(|name| {
            let most = host.sysctl_number(name)?;
            let (text, left) = (
                format!("{name} {}", count(most)),
                most.saturating_sub(running),
            );
            Ok(Bound { name, text, left })
        })
        .collect::<Result<_, Unknown>>()?;
    let user = host.limit("Max processes")?;
    // Root is exempt.
    if user.soft != u64::MAX && host.uid()? != 0 {
        bounds.push(Bound {
            name: "ulimit",
            text: format!("ulimit -u {}", count(user.soft)),
            left: user.soft.saturating_sub(running),
        });
    }
    if let Some(group) = host.cgroup(Controller::Pids)? {
        bounds.push(Bound {
            name: "pids.max",
            text: format!("pids.max {}", count(group.max)),
            left: group.left(),
        });
    }
    Ok(bounds)
}

/// All threads of the machine now.
fn running(host: &Host) -> Result<u64, Unknown> {
    let load = host.text("/proc/loadavg")?;
    let threads = load
        .split_whitespace()
        .nth(3)
        .and_then(|part| part.split_once('/'));
    number(
        "the number of threads in /proc/loadavg",
        threads.map_or("", |(_, all)| all),
    )
}

fn remedies(bound: Option<&'static str>, wanted: u64) -> Vec<Remedy> {
    let wanted = wanted + 10_000;
    let first = match bound {
        Some(key @ ("kernel.pid_max" | "kernel.threads-max")) => Remedy::sysctl(key, wanted),
        _ => Remedy::Threads(wanted),
    };
    let pool = "or use no thread for each connection: thread_handling = pool-of-threads, or Myriad";
    vec![first, Remedy::advice(pool)]
}

#[cfg(test)]
mod tests {
    use crate::finding::Severity;
    use crate::need::{Need, Serving};
    use crate::tree::Tree;

    fn direct() -> Need {
        Need {
            serving: Serving::ThreadPerConnection,
            ..Need::new(100_000)
        }
    }

    #[test]
    fn a_thread_for_each_connection_meets_the_tightest_bound() {
        let tree = Tree::healthy();
        assert_eq!(tree.check("threads", &direct()).severity(), Severity::Fine);
        let finding = tree
            .sysctl("kernel.pid_max", "32768")
            .check("threads", &direct())
            .observation;
        assert_eq!(finding.severity, Severity::Fatal);
        assert_eq!(finding.limit, Some(32_768 - 400 - 40));
        assert!(finding.needs.ends_with("= 100,040"), "{}", finding.needs);
        assert_eq!(finding.remedies[0].now(), "sysctl -w kernel.pid_max=110040");
    }

    #[test]
    fn a_group_bounds_threads_too() {
        let group = "sys/fs/cgroup/system.slice/myriad.service";
        let tree = Tree::healthy()
            .with(&format!("{group}/pids.max"), "5000\n")
            .with(&format!("{group}/pids.current"), "60\n");
        let finding = tree.check("threads", &direct()).observation;
        assert_eq!(finding.limit, Some(5_000 - 60 - 40));
        assert_eq!(finding.remedies[0].now(), "ulimit -u 110040");
    }

    #[test]
    fn myriad_needs_a_few_threads_only() {
        let need = Need {
            workers: 8,
            ..Need::new(100_000)
        };
        let tree = Tree::healthy().sysctl("kernel.pid_max", "32768");
        let finding = tree.check("threads", &need).observation;
        assert_eq!((finding.severity, finding.limit), (Severity::Fine, None));
        assert!(finding.needs.starts_with("20,"), "{}", finding.needs);
        let full = tree.sysctl("kernel.threads-max", "410");
        assert_eq!(full.check("threads", &need).severity(), Severity::Fatal);
    }
}
