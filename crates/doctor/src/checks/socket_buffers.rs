//! How large the buffers of one connection are at least, and may grow.

use super::Check;
use crate::finding::{Group, Observation, Severity};
use crate::host::{Host, Unknown};
use crate::need::Need;
use crate::numbers::{bytes, count};
use crate::remedy::Remedy;

pub(super) const CHECK: Check = Check {
    name: "socket-buffers",
    group: Group::Memory,
    run,
};

/// Each socket may keep so much whatever the pressure; a page is usual.
const LEAST_MAX: u64 = 16 * 1_024;

fn run(host: &Host, need: &Need) -> Result<Observation, Unknown> {
    let [read_least, _, read_most] = host.sysctl_numbers::<3>("net.ipv4.tcp_rmem")?;
    let [write_least, _, write_most] = host.sysctl_numbers::<3>("net.ipv4.tcp_wmem")?;
    let least = read_least + write_least;
    let ends = need.connections * need.ends();
    let mut remedies = Vec::new();
    for (key, least, most) in [
        ("net.ipv4.tcp_rmem", read_least, read_most),
        ("net.ipv4.tcp_wmem", write_least, write_most),
    ] {
        if least > LEAST_MAX {
            let value = format!("4096 {} {most}", 131_072.min(most));
            remedies.push(Remedy::sysctl_of(key, value));
        }
    }
    Ok(Observation::new(
        format!("buffers up to {}", bytes(read_most + write_most)),
        format!(
            "a connection's buffers may grow to {} for reading and {} for writing",
            bytes(read_most),
            bytes(write_most)
        ),
    )
    .needs(format!(
        "{} ends × {} that each may keep under pressure = {}",
        count(ends),
        bytes(least),
        bytes(ends * least)
    ))
    .why("buffers are taken only while something is in them, but up to the least size also when memory is short")
    .judged(!remedies.is_empty(), Severity::Warning, remedies.clone()))
}

#[cfg(test)]
mod tests {
    use crate::finding::Severity;
    use crate::need::Need;
    use crate::tree::Tree;

    #[test]
    fn a_large_least_size_is_told() {
        let need = Need::new(100_000);
        let tree = Tree::healthy();
        assert_eq!(
            tree.check("socket-buffers", &need).severity(),
            Severity::Fine
        );
        let tree = tree.sysctl("net.ipv4.tcp_wmem", "65536 65536 4194304");
        let finding = tree.check("socket-buffers", &need).observation;
        assert_eq!(finding.severity, Severity::Warning);
        assert!(
            finding.needs.starts_with("200,000 ends × 68 KiB"),
            "{}",
            finding.needs
        );
        assert_eq!(finding.remedies.len(), 1);
        assert_eq!(
            finding.remedies[0].now(),
            "sysctl -w net.ipv4.tcp_wmem='4096 131072 4194304'"
        );
    }
}
