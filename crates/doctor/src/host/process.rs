//! What a process may do: its limits, its capabilities, its processors.

use super::{Host, Unknown, number};

/// The bits of `CapEff`. Source: `capability.h`.
pub(crate) const CAP_SYS_ADMIN: u32 = 21;
/// May raise limits of resources.
pub(crate) const CAP_SYS_RESOURCE: u32 = 24;

/// A limit of a resource; `u64::MAX` is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limit {
    /// What holds now.
    pub(crate) soft: u64,
    /// How far the process may raise it itself.
    pub(crate) hard: u64,
}

impl Host {
    /// A line of `/proc/<pid>/limits`, such as `Max open files`.
    pub(crate) fn limit(&self, name: &str) -> Result<Limit, Unknown> {
        let path = self.of("limits");
        let text = self.text(&path)?;
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let line = line.ok_or_else(|| Unknown(format!("{path} has no {name}")))?;
        let mut parts = line.split_whitespace().map(|part| match part {
            "unlimited" => Ok(u64::MAX),
            part => number(name, part),
        });
        let mut next = || {
            parts
                .next()
                .unwrap_or_else(|| Err(Unknown(format!("{path} is cut off"))))
        };
        Ok(Limit {
            soft: next()?,
            hard: next()?,
        })
    }

    /// Whether the process has a capability.
    pub(crate) fn capable(&self, bit: u32) -> Result<bool, Unknown> {
        let set = self.status("CapEff")?;
        let set = u64::from_str_radix(&set, 16);
        let set = set.map_err(|_| Unknown("CapEff is no set of capabilities".into()))?;
        Ok(set >> bit & 1 == 1)
    }

    /// The user whom the process runs as.
    pub(crate) fn uid(&self) -> Result<u64, Unknown> {
        let ids = self.status("Uid")?;
        number("Uid", ids.split_whitespace().next().unwrap_or_default())
    }

    /// On how many processors the process may run.
    pub(crate) fn cpus(&self) -> Result<u64, Unknown> {
        let list = self.status("Cpus_allowed_list")?;
        let counts = list.split(',').map(|part| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (
                number("Cpus_allowed_list", first)?,
                number("Cpus_allowed_list", last)?,
            );
            Ok(last.saturating_sub(first) + 1)
        });
        counts.sum()
    }

    fn status(&self, key: &str) -> Result<String, Unknown> {
        let path = self.of("status");
        let text = self.text(&path)?;
        let mut lines = text.lines().filter_map(|line| line.split_once(':'));
        let found = lines.find(|(name, _)| *name == key);
        let (_, value) = found.ok_or_else(|| Unknown(format!("{path} has no {key}")))?;
        Ok(value.trim().to_owned())
    }
}
