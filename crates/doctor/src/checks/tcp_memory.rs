//! The memory that all TCP buffers of the machine may use together.

use super::Check;
use crate::finding::{Group, Observation, Severity};
use crate::host::{Host, Unknown};
use crate::need::Need;
use crate::numbers::{bytes, count};
use crate::remedy::Remedy;

pub(super) const CHECK: Check = Check {
    name: "tcp-memory",
    group: Group::Memory,
    run,
};

fn run(host: &Host, need: &Need) -> Result<Observation, Unknown> {
    let [low, pressure, most] = host.sysctl_numbers::<3>("net.ipv4.tcp_mem")?;
    let used = host.sockstat("TCP", "mem")?;
    let page = host.page_bytes();
    let wanted = need.connections * need.ends() + used;
    let value = format!(
        "{} {} {}",
        low.max(wanted / 2),
        pressure.max(wanted),
        most.max(wanted * 2)
    );
    Ok(Observation::new(
        format!("tcp_mem {}", bytes(most * page)),
        format!(
            "net.ipv4.tcp_mem lets buffers grow to {} and slows them from {} on; {} are in use",
            bytes(most * page),
            bytes(pressure * page),
            bytes(used * page)
        ),
    )
    .needs(format!(
        "a page for each of {} ends with something in flight + {} in use = {} pages = {}",
        count(need.connections * need.ends()),
        count(used),
        count(wanted),
        bytes(wanted * page)
    ))
    .why(
        "beyond the first bound windows shrink, beyond the second packets are dropped \
         (TCP: out of memory in the kernel's log)",
    )
    .judged(
        wanted > pressure,
        Severity::Warning,
        [Remedy::sysctl_of("net.ipv4.tcp_mem", value)],
    ))
}

#[cfg(test)]
mod tests {
    use crate::finding::Severity;
    use crate::need::Need;
    use crate::tree::Tree;

    #[test]
    fn a_page_for_each_busy_end_must_fit_below_the_pressure() {
        let tree = Tree::healthy();
        assert_eq!(
            tree.check("tcp-memory", &Need::new(100_000)).severity(),
            Severity::Fine
        );
        let tree = tree.sysctl("net.ipv4.tcp_mem", "50576 64768 98152");
        let finding = tree.check("tcp-memory", &Need::new(100_000)).observation;
        assert_eq!(finding.severity, Severity::Warning);
        assert_eq!(
            finding.needs,
            "a page for each of 200,000 ends with something in flight + 10 in use = 200,010 pages = 781 MiB"
        );
        assert_eq!(
            finding.remedies[0].now(),
            "sysctl -w net.ipv4.tcp_mem='100005 200010 400020'"
        );
    }
}
