//! What the kernel reads the time from: cheap, or a device that takes a microsecond.

use super::Check;
use crate::finding::{Group, Observation, Severity};
use crate::host::{Host, Unknown};
use crate::need::Need;
use crate::remedy::Remedy;

pub(super) const CHECK: Check = Check {
    name: "clock-source",
    group: Group::Kernel,
    run,
};

const FOLDER: &str = "/sys/devices/system/clocksource/clocksource0";
/// Read without asking the kernel.
const CHEAP: [&str; 5] = [
    "tsc",
    "kvm-clock",
    "arch_sys_counter",
    "hyperv_clocksource_tsc_page",
    "riscv_clocksource",
];

fn run(host: &Host, _need: &Need) -> Result<Observation, Unknown> {
    let name = host.text(&format!("{FOLDER}/current_clocksource"))?;
    let others = host
        .text(&format!("{FOLDER}/available_clocksource"))
        .unwrap_or_default();
    let better = others
        .split_whitespace()
        .find(|other| CHEAP.contains(other));
    let remedy = match better {
        Some(better) => format!(
            "echo {better} > {FOLDER}/current_clocksource, and clocksource={better} on the kernel's command line"
        ),
        None => "use another type of machine; the kernel's log says why it gave tsc up".to_owned(),
    };
    Ok(Observation::new(format!("clock {name}"), format!("the clock source is {name}"))
        .needs("one that is read without a system call, such as tsc")
        .why("the time is read several times for each statement; hpet, acpi_pm and xen take about 1 µs each time")
        .judged(
            !CHEAP.contains(&name.as_str()),
            Severity::Warning,
            [Remedy::advice(remedy)],
        ))
}

#[cfg(test)]
mod tests {
    use super::FOLDER;
    use crate::finding::Severity;
    use crate::need::Need;
    use crate::tree::Tree;

    #[test]
    fn a_slow_clock_is_told_with_a_better_one() {
        let need = Need::new(1);
        assert_eq!(
            Tree::healthy().check("clock-source", &need).severity(),
            Severity::Fine
        );
        let file = |name: &str| format!("{}/{name}", &FOLDER[1..]);
        let tree = Tree::healthy()
            .with(&file("current_clocksource"), "hpet\n")
            .with(&file("available_clocksource"), "hpet tsc acpi_pm\n");
        let finding = tree.check("clock-source", &need).observation;
        assert_eq!(finding.severity, Severity::Warning);
        assert!(finding.remedies[0].now().starts_with("echo tsc > "));
    }
}
