//! How many files all processes together may have open. Sockets count, also those in a ring.

use super::Check;
use crate::finding::{Group, Observation};
use crate::host::{CAP_SYS_ADMIN, Host, Unknown, number};
use crate::need::Need;
use crate::numbers::count;
use crate::remedy::Remedy;

pub(super) const CHECK: Check = Check {
    name: "file-max",
    group: Group::Files,
    run,
};

/// What others may open meanwhile.
const SPARE: u64 = 10_000;

fn run(host: &Host, need: &Need) -> Result<Observation, Unknown> {
    let most = host.sysctl_number("fs.file-max")?;
    let used = host.sysctl("fs.file-nr")?;
    let used = number(
        "fs.file-nr",
        used.split_whitespace().next().unwrap_or_default(),
    )?;
    let (ends, wanted) = (need.ends(), need.connections * need.ends() + used);
    let observation = Observation::new(
        format!("file-max {}", if most > 1 << 40 { "unlimited".into() } else { count(most) }),
        format!("{} of fs.file-max {} files are open on this machine", count(used), count(most)),
    )
    .needs(format!(
        "{} connections × {ends} + {} open now = {}",
        count(need.connections),
        count(used),
        count(wanted)
    ))
    .why("each end of a connection is a file of the kernel, also over io_uring; beyond the limit opening fails with errno 23 (ENFILE)");
    if host.capable(CAP_SYS_ADMIN)? {
        return Ok(observation.why("root is exempt from it (CAP_SYS_ADMIN)"));
    }
    let limit = most.saturating_sub(used) / ends;
    let remedy = Remedy::sysctl("fs.file-max", wanted + SPARE);
    Ok(observation.limited(limit, need.connections, [remedy]))
}

#[cfg(test)]
mod tests {
    use crate::finding::Severity;
    use crate::need::Need;
    use crate::tree::Tree;

    const NOBODY: &str = "Uid:\t1000\t1000\nCapEff:\t0000000000000000\nCpus_allowed_list:\t0-7\n";

    #[test]
    fn both_ends_of_each_connection_count() {
        let tree = Tree::healthy()
            .with("proc/self/status", NOBODY)
            .sysctl("fs.file-max", "150000")
            .sysctl("fs.file-nr", "2000\t0\t150000");
        let finding = tree.check("file-max", &Need::new(100_000)).observation;
        assert_eq!(finding.severity, Severity::Fatal);
        assert_eq!(finding.limit, Some(74_000));
        assert_eq!(
            finding.needs,
            "100,000 connections × 2 + 2,000 open now = 202,000"
        );
        assert_eq!(finding.remedies[0].now(), "sysctl -w fs.file-max=212000");
        let finding = tree.check("file-max", &Need::new(74_000));
        assert_eq!(finding.severity(), Severity::Fine);
    }

    #[test]
    fn root_is_exempt() {
        let tree = Tree::healthy().sysctl("fs.file-max", "10");
        let finding = tree.check("file-max", &Need::new(100_000));
        assert_eq!(finding.severity(), Severity::Fine);
        assert_eq!(finding.observation.limit, None);
    }
}
