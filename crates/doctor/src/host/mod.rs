//! The machine as `/proc` and `/sys` show it. Reads only; what cannot be read is [`Unknown`], never a
//! failure of the whole.

mod cgroup;
mod process;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub(crate) use cgroup::Controller;
pub(crate) use process::{CAP_SYS_ADMIN, CAP_SYS_RESOURCE, Limit};

/// A fact that cannot be had, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unknown(pub(crate) String);

/// Whether io_uring can be used, asked of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Uring {
    /// All that the driver needs.
    Works,
    /// It does not, with the reason.
    Refused(String),
}

/// A machine.
#[derive(Clone, Debug)]
pub struct Host {
    root: PathBuf,
    /// `self`, or the number of another process.
    process: String,
    uring: Uring,
    page_bytes: u64,
}

impl Host {
    /// This machine, as this process may use it.
    pub fn here(uring: Uring) -> Self {
        Self::at("/", uring)
    }

    /// The machine whose `/proc` and `/sys` are below another folder.
    pub fn at(root: impl Into<PathBuf>, uring: Uring) -> Self {
        Self {
            root: root.into(),
            process: "self".to_owned(),
            uring,
            page_bytes: rustix::param::page_size() as u64,
        }
    }

    /// As another process may use it: its limits, its cgroup.
    #[must_use]
    pub fn of_process(mut self, pid: u32) -> Self {
        self.process = pid.to_string();
        self
    }

    /// Whether io_uring can be used.
    pub(crate) fn uring(&self) -> &Uring {
        &self.uring
    }

    /// The size of a page in bytes.
    pub(crate) fn page_bytes(&self) -> u64 {
        self.page_bytes
    }

    /// Whether there is such a file; a path from the root.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// A file's text without the white space at its ends; a path from the root.
    pub(crate) fn text(&self, path: &str) -> Result<String, Unknown> {
        let text = fs::read_to_string(self.path(path));
        let text = text.map_err(|error| cannot_read(Path::new(path), &error))?;
        Ok(text.trim().to_owned())
    }

    /// A setting of the kernel, by its name.
    pub(crate) fn sysctl(&self, name: &str) -> Result<String, Unknown> {
        self.text(&format!("/proc/sys/{}", name.replace('.', "/")))
    }

    /// Whether the kernel has a setting.
    pub(crate) fn has_sysctl(&self, name: &str) -> bool {
        self.has(&format!("/proc/sys/{}", name.replace('.', "/")))
    }

    /// A setting that is one number.
    pub(crate) fn sysctl_number(&self, name: &str) -> Result<u64, Unknown> {
        number(name, &self.sysctl(name)?)
    }

    /// A setting that is several numbers.
    pub(crate) fn sysctl_numbers<const N: usize>(&self, name: &str) -> Result<[u64; N], Unknown> {
        let text = self.sysctl(name)?;
        let numbers: Result<Vec<u64>, Unknown> = text
            .split_whitespace()
            .map(|part| number(name, part))
            .collect();
        let wrong = |_| Unknown(format!("{name} is not {N} numbers but {text:?}"));
        numbers?.try_into().map_err(wrong)
    }

    /// A line of `/proc/meminfo`, in bytes.
    pub(crate) fn meminfo(&self, key: &str) -> Result<u64, Unknown> {
        let text = self.text("/proc/meminfo")?;
        let found = text.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            (name == key).then_some(value)
        });
        let value = found.ok_or_else(|| Unknown(format!("/proc/meminfo has no {key}")))?;
        Ok(number(key, value.trim().trim_end_matches(" kB"))? * 1_024)
    }

    /// A figure of a line of `/proc/net/sockstat`, such as `TCP` and `mem`.
    pub(crate) fn sockstat(&self, line: &str, key: &str) -> Result<u64, Unknown> {
        let text = self.text("/proc/net/sockstat")?;
        let mut lines = text.lines().filter_map(|text| text.split_once(':'));
        let found = lines.find(|(name, _)| *name == line).and_then(|(_, rest)| {
            let mut words = rest.split_whitespace();
            words.find(|word| *word == key)?;
            words.next()
        });
        let value = found.ok_or_else(|| Unknown(format!("/proc/net/sockstat has no {key}")))?;
        number(key, value)
    }

    /// How much memory the machine has, if that can be told.
    pub fn memory_bytes(&self) -> Option<u64> {
        self.meminfo("MemTotal").ok()
    }

    /// How much of it the process may use: its control groups may allow less than all.
    pub fn memory_limit(&self) -> Option<u64> {
        let group = self.cgroup(Controller::Memory).ok().flatten();
        let limits = [self.memory_bytes(), group.map(|group| group.max)];
        limits.into_iter().flatten().min()
    }

    /// Whether this is a container, as far as can be told.
    pub fn in_container(&self) -> bool {
        let marks = ["/.dockerenv", "/run/.containerenv"];
        marks.iter().any(|mark| self.has(mark))
            || self.has("/var/run/secrets/kubernetes.io/serviceaccount")
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    fn of(&self, name: &str) -> String {
        format!("/proc/{}/{name}", self.process)
    }
}

/// What a number that cannot be read as one becomes.
pub(crate) fn number(name: &str, text: &str) -> Result<u64, Unknown> {
    let parsed = text.trim().parse();
    parsed.map_err(|_| Unknown(format!("{name} is no number but {text:?}")))
}

fn cannot_read(path: &Path, error: &io::Error) -> Unknown {
    let path = path.display();
    Unknown(match error.kind() {
        io::ErrorKind::NotFound => format!("{path} is not there"),
        io::ErrorKind::PermissionDenied => format!("{path} may not be read; try as root"),
        _ => format!("{path} cannot be read: {error}"),
    })
}
