//! Whether the kernel offers io_uring, over which connections are no open files.

use super::Check;
use crate::finding::{Group, Observation, Severity};
use crate::host::{Host, Unknown, Uring};
use crate::need::{Driver, Need, Serving};
use crate::remedy::Remedy;

pub(super) const CHECK: Check = Check {
    name: "io-uring",
    group: Group::Kernel,
    run,
};

const DISABLED: &str = "kernel.io_uring_disabled";
/// The first kernels whose io_uring has all that is used.
const KERNEL: &str = "6.8";

fn run(host: &Host, need: &Need) -> Result<Observation, Unknown> {
    let kernel = host.sysctl("kernel.osrelease")?;
    let Uring::Refused(reason) = host.uring() else {
        let found = format!("io_uring works (kernel {kernel})");
        return Ok(Observation::new("io_uring", found).needs(
            "io_uring: connections are then no open files, so their limit does not matter",
        ));
    };
    let disabled = host.sysctl_number(DISABLED).unwrap_or(0);
    let mut remedies = Vec::new();
    if disabled > 0 {
        remedies.push(Remedy::sysctl(DISABLED, 0));
    }
    if host.in_container() {
        remedies.push(Remedy::advice(
            "allow the container io_uring_setup, io_uring_enter and io_uring_register: a seccomp profile \
             of your own (docker run --security-opt seccomp=FILE; Kubernetes securityContext.seccompProfile)",
        ));
    }
    if remedies.is_empty() {
        remedies.push(Remedy::advice(format!("use a kernel of {KERNEL} or newer")));
    }
    let wanted = need.driver != Driver::Epoll && need.serving == Serving::Myriad;
    Ok(Observation::new(
        "no io_uring",
        format!("io_uring is refused: {reason} (kernel {kernel}, {DISABLED} {disabled})"),
    )
    .needs("io_uring for more connections than open files; epoll runs otherwise")
    .why("over epoll each connection is an open file of the process")
    .judged(wanted, Severity::Warning, remedies))
}

#[cfg(test)]
mod tests {
    use super::DISABLED;
    use crate::finding::Severity;
    use crate::need::{Driver, Need};
    use crate::tree::Tree;

    #[test]
    fn a_refusal_is_told_with_its_likely_cause() {
        let need = Need::new(100_000);
        assert_eq!(
            Tree::healthy().check("io-uring", &need).severity(),
            Severity::Fine
        );
        let tree = Tree::healthy().without_uring();
        let old = tree.check("io-uring", &need).observation;
        assert_eq!(old.severity, Severity::Warning);
        assert_eq!(old.remedies[0].now(), "use a kernel of 6.8 or newer");
        let boxed = tree
            .with(".dockerenv", "")
            .check("io-uring", &need)
            .observation;
        assert!(boxed.remedies[0].now().contains("seccomp"));
        let forbidden = Tree::healthy().without_uring().sysctl(DISABLED, "2");
        let remedy = forbidden.check("io-uring", &need).observation.remedies[0].now();
        assert_eq!(remedy, "sysctl -w kernel.io_uring_disabled=0");
    }

    #[test]
    fn who_wants_epoll_does_not_miss_it() {
        let need = Need {
            driver: Driver::Epoll,
            ..Need::new(100_000)
        };
        let finding = Tree::healthy().without_uring().check("io-uring", &need);
        assert_eq!(finding.severity(), Severity::Fine);
    }
}
