//! The machine that everything ran on.

use serde::{Deserialize, Serialize};

use crate::kernel::number_behind;

/// What is known of it. As JSON its keys are the names of these fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor, as it calls itself.
    pub cpu: String,
    /// How many cores this process may use.
    pub cores: u32,
    /// All memory.
    pub memory_bytes: u64,
    /// The kernel's release.
    pub kernel: String,
    /// The distribution.
    pub system: String,
    /// What the database says it is.
    pub database: String,
    /// The version of Myriad.
    pub myriad: String,
}

impl Machine {
    /// This one; `database` is what the database says it is.
    pub(crate) fn this(database: String) -> Self {
        let read = |path| std::fs::read_to_string(path).unwrap_or_default();
        let memory = number_behind(&read("/proc/meminfo"), "MemTotal:");
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let uname = rustix::system::uname();
        Self {
            cpu: named(&read("/proc/cpuinfo"), "model name", ':'),
            cores: u32::try_from(cores).unwrap_or(u32::MAX),
            memory_bytes: memory.map_or(0, |kib| kib * 1_024),
            kernel: uname.release().to_string_lossy().into_owned(),
            system: named(&read("/etc/os-release"), "PRETTY_NAME", '='),
            database,
            myriad: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

/// The value of the first line that begins with `name`, without quotes; "unknown" if there is none.
fn named(text: &str, name: &str, separator: char) -> String {
    let mut lines = text.lines().filter(|line| line.starts_with(name));
    let value = lines.next().and_then(|line| line.split_once(separator));
    let value = value.map(|(_, value)| value.trim().trim_matches('"'));
    value.unwrap_or("unknown").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_or_unknown() {
        let text = "processor\t: 0\nmodel name\t: AMD EPYC: 7401P\nmodel name\t: other\n";
        assert_eq!(named(text, "model name", ':'), "AMD EPYC: 7401P");
        assert_eq!(
            named("PRETTY_NAME=\"Debian 12\"", "PRETTY_NAME", '='),
            "Debian 12"
        );
        assert_eq!(named("", "model name", ':'), "unknown");
        let machine = Machine::this("x".into());
        assert!(machine.cores > 0 && machine.memory_bytes > 0 && !machine.kernel.is_empty());
    }
}
