//! Whether the kernel uses pages of 2 MiB where nobody has asked for them.

use super::Check;
use crate::finding::{Group, Observation, Severity};
use crate::host::{Host, Unknown};
use crate::need::Need;
use crate::remedy::Remedy;

pub(super) const CHECK: Check = Check {
    name: "transparent-huge-pages",
    group: Group::Memory,
    run,
};

const PATH: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

fn run(host: &Host, _need: &Need) -> Result<Observation, Unknown> {
    if !host.has("/sys/kernel/mm/transparent_hugepage") && host.has("/sys/kernel/mm") {
        let found = "the kernel has no transparent huge pages";
        return Ok(Observation::new("no huge pages", found).needs("nothing"));
    }
    let text = host.text(PATH)?;
    let chosen = text
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'));
    let (mode, _) = chosen.ok_or_else(|| Unknown(format!("{PATH} has no choice")))?;
    Ok(Observation::new(
        format!("huge pages {mode}"),
        format!("transparent huge pages: {mode}"),
    )
    .needs("madvise or never")
    .why(
        "with always, memory that many threads use a little of grows to whole pages of 2 MiB, and the \
         kernel halts processes for moments to make them",
    )
    .judged(
        mode == "always",
        Severity::Warning,
        [Remedy::Write {
            path: PATH,
            value: "madvise",
        }],
    ))
}

#[cfg(test)]
mod tests {
    use super::PATH;
    use crate::finding::Severity;
    use crate::need::Need;
    use crate::tree::Tree;

    #[test]
    fn always_is_told_and_can_be_set() {
        let need = Need::new(100_000);
        let (name, tree) = ("transparent-huge-pages", Tree::healthy());
        assert_eq!(tree.check(name, &need).severity(), Severity::Fine);
        let tree = tree.with(&PATH[1..], "[always] madvise never\n");
        let finding = tree.check(name, &need);
        assert_eq!(finding.severity(), Severity::Warning);
        let setting = finding.observation.remedies[0].setting().unwrap();
        assert_eq!(
            (setting.name.as_str(), setting.value.as_str()),
            (PATH, "madvise")
        );
    }

    #[test]
    fn what_cannot_be_read_is_unknown() {
        let tree = Tree::healthy().with(&PATH[1..], "\n");
        let finding = tree.check("transparent-huge-pages", &Need::new(1));
        assert_eq!(finding.severity(), Severity::Unknown);
    }
}
