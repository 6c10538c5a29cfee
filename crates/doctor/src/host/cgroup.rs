//! The control groups of a process: version 2, or a hierarchy of version 1 per controller. The limits
//! of all groups above hold, too.

use super::{Host, Unknown, number};

/// What a group bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Controller {
    Memory,
    Pids,
}

/// A bound and what is used of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bound {
    pub(crate) max: u64,
    pub(crate) current: u64,
}

impl Bound {
    /// What is left.
    pub(crate) fn left(self) -> u64 {
        self.max.saturating_sub(self.current)
    }
}

/// Version 1 writes a number of pages that nobody has for "no bound".
const NO_BOUND: u64 = 1 << 60;

/// The files of a controller: its name in version 1, then bound and use in version 2 and in 1.
struct Files {
    name: &'static str,
    v2: [&'static str; 2],
    v1: [&'static str; 2],
}

impl Controller {
    fn files(self) -> Files {
        match self {
            Self::Memory => Files {
                name: "memory",
                v2: ["memory.max", "memory.current"],
                v1: ["memory.limit_in_bytes", "memory.usage_in_bytes"],
            },
            Self::Pids => Files {
                name: "pids",
                v2: ["pids.max", "pids.current"],
                v1: ["pids.max", "pids.current"],
            },
        }
    }
}

impl Host {
    /// The tightest bound of a controller on the process; `None` if there is none.
    pub(crate) fn cgroup(&self, controller: Controller) -> Result<Option<Bound>, Unknown> {
        let files = controller.files();
        let (folders, [max, current]) = match self.groups(files.name)? {
            (2, folders) => (folders, files.v2),
            (_, folders) => (folders, files.v1),
        };
        let mut tightest: Option<Bound> = None;
        for folder in folders {
            // The topmost group has no such files.
            let Ok(text) = self.text(&format!("{folder}/{max}")) else {
                continue;
            };
            if text == "max" || number(max, &text)? >= NO_BOUND {
                continue;
            }
            let bound = Bound {
                max: number(max, &text)?,
                current: number(current, &self.text(&format!("{folder}/{current}"))?)?,
            };
            if tightest.is_none_or(|tightest| bound.left() < tightest.left()) {
                tightest = Some(bound);
            }
        }
        Ok(tightest)
    }

    /// How many processors' worth of time the group gives the process; `None` if all there is.
    pub(crate) fn cpu_quota(&self) -> Result<Option<f64>, Unknown> {
        let (version, folders) = self.groups("cpu")?;
        let quotas = folders.iter().filter_map(|folder| match version {
            2 => {
                let text = self.text(&format!("{folder}/cpu.max")).ok()?;
                let (quota, period) = text.split_once(' ')?;
                quotient(quota, period)
            }
            _ => quotient(
                &self.text(&format!("{folder}/cpu.cfs_quota_us")).ok()?,
                &self.text(&format!("{folder}/cpu.cfs_period_us")).ok()?,
            ),
        });
        Ok(quotas.reduce(f64::min))
    }

    /// The folders of the process's group and all above it, and the version of cgroups.
    fn groups(&self, controller: &str) -> Result<(u8, Vec<String>), Unknown> {
        let text = self.text(&self.of("cgroup"))?;
        let lines = text.lines().filter_map(|line| {
            let (_, rest) = line.split_once(':')?;
            rest.split_once(':')
        });
        let lines: Vec<(&str, &str)> = lines.collect();
        let of_v1 = |names: &str| names.split(',').any(|name| name == controller);
        if let Some((_, path)) = lines.iter().find(|(names, _)| of_v1(names)) {
            return Ok((1, ancestors(&format!("/sys/fs/cgroup/{controller}"), path)));
        }
        let path = lines.iter().find(|(names, _)| names.is_empty());
        let path = path.map_or("/", |(_, path)| path);
        Ok((2, ancestors("/sys/fs/cgroup", path)))
    }
}

/// `base/a/b`, `base/a`, `base`. In a container the path is one that cannot be seen from inside, but
/// `base` is the container's own group.
fn ancestors(base: &str, path: &str) -> Vec<String> {
    let mut folders = Vec::new();
    let mut path = path.trim_matches('/');
    while !path.is_empty() {
        folders.push(format!("{base}/{path}"));
        path = path.rsplit_once('/').map_or("", |(above, _)| above);
    }
    folders.push(base.to_owned());
    folders
}

fn quotient(quota: &str, period: &str) -> Option<f64> {
    let (quota, period): (f64, f64) = (quota.trim().parse().ok()?, period.trim().parse().ok()?);
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}
