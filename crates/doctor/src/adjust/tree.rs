//! Where settings stand: files below `/proc/sys` and `/sys`, or below another root in tests.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

/// The files of settings.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    root: PathBuf,
}

impl Tree {
    /// Those of this machine.
    pub(super) fn whole() -> Self {
        Self { root: "/".into() }
    }

    #[cfg(test)]
    pub(super) fn below(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// What a setting is: numbers parted by one blank, of several words the chosen one.
    pub(super) fn read(&self, name: &str) -> io::Result<String> {
        let text = fs::read_to_string(self.path(name))?;
        let chosen = text
            .split_once('[')
            .and_then(|(_, rest)| rest.split_once(']'));
        let text = chosen.map_or(text.as_str(), |(chosen, _)| chosen);
        Ok(text.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    /// Changes it.
    pub(super) fn write(&self, name: &str, value: &str) -> io::Result<()> {
        let mut options = fs::OpenOptions::new();
        let mut file = options.write(true).truncate(true).open(self.path(name))?;
        // With a line feed: of an empty value nothing would be written otherwise.
        file.write_all(format!("{value}\n").as_bytes())
    }

    /// What tells one life of the machine from the next.
    pub(super) fn boot(&self) -> String {
        let id = fs::read_to_string(self.root.join("proc/sys/kernel/random/boot_id"));
        id.unwrap_or_default().trim().to_owned()
    }

    fn path(&self, name: &str) -> PathBuf {
        match name.strip_prefix('/') {
            Some(path) => self.root.join(path),
            None => self.root.join("proc/sys").join(name.replace('.', "/")),
        }
    }
}
