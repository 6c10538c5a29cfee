//! How much memory a process may lock: Myriad keeps there what clients prove to know.

use super::Check;
use crate::finding::{Group, Observation, Severity};
use crate::host::{Host, Unknown};
use crate::need::{Need, Serving};
use crate::numbers::count;
use crate::remedy::Remedy;

pub(super) const CHECK: Check = Check {
    name: "locked-memory",
    group: Group::Memory,
    run,
};

/// Who has that capability (`CAP_IPC_LOCK`) is not bound.
const CAPABILITY: u32 = 14;
const PAGE_BYTES: u64 = 4_096;
/// Hashes, and passwords of up to 32 bytes.
const SECRETS_PER_PAGE: u64 = 128;
/// What older kernels and containers allow.
const WANTED_BYTES: u64 = 64 << 10;

fn run(host: &Host, need: &Need) -> Result<Observation, Unknown> {
    let bound = host.limit("Max locked memory")?.soft;
    let unbound = bound == u64::MAX || host.capable(CAPABILITY)?;
    let found = match unbound {
        true => "no limit of locked memory".to_owned(),
        false => format!("{} bytes of locked memory", count(bound)),
    };
    let told = match unbound {
        true => "any memory may be locked".to_owned(),
        false => format!("ulimit -l allows {} bytes to be locked", count(bound)),
    };
    let accounts = bound / PAGE_BYTES * SECRETS_PER_PAGE;
    let needs = match unbound {
        true => "a page of 4 KiB for the secrets of 128 accounts".to_owned(),
        false => format!(
            "a page of 4 KiB for the secrets of 128 accounts: {} accounts",
            count(accounts)
        ),
    };
    let short = !unbound && bound < WANTED_BYTES && need.serving == Serving::Myriad;
    Ok(Observation::new(found, told)
        .needs(needs)
        .why(
            "accounts of the database whose secrets have no room cannot log in (error 1041); \
             accounts of the configuration need none",
        )
        .judged(short, Severity::Warning, [Remedy::LockedMemory(8 << 20)]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;

    fn limited(limit: &str, capabilities: &str) -> Tree {
        let line = format!("Max locked memory         {limit}    {limit}    bytes\n");
        let status = format!("Uid:\t1\t1\t1\t1\nCapEff:\t{capabilities}\n");
        Tree::healthy()
            .with("proc/self/limits", &line)
            .with("proc/self/status", &status)
    }

    #[test]
    fn too_little_is_told_with_the_accounts_that_it_is_for() {
        let need = Need::new(1_000);
        let tree = limited("8192", "0000000000000000");
        let finding = tree.check("locked-memory", &need).observation;
        assert_eq!(finding.severity, Severity::Warning);
        assert!(finding.needs.ends_with(": 256 accounts"), "{finding:?}");
        assert_eq!(finding.remedies[0].now(), "ulimit -l 8192");
    }

    #[test]
    fn enough_or_the_right_to_more_is_fine() {
        let need = Need::new(1_000);
        for (limit, capabilities) in [
            ("65536", "0000000000000000"),
            ("unlimited", "0000000000000000"),
            ("0", "0000000000004000"),
        ] {
            let finding = limited(limit, capabilities).check("locked-memory", &need);
            assert_eq!(finding.severity(), Severity::Fine, "{limit}: {finding:?}");
        }
    }

    #[test]
    fn a_database_needs_none() {
        let need = Need {
            serving: Serving::ThreadPool,
            ..Need::new(1_000)
        };
        let finding = limited("0", "0000000000000000").check("locked-memory", &need);
        assert_eq!(finding.severity(), Severity::Fine);
    }
}
