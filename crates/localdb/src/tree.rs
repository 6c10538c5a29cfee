//! A folder into which `scripts/setup` has unpacked a server of another version than this machine has.
//!
//! Two kinds: the root of a Debian, whose programs are run by its own loader, so that they neither need nor
//! see this machine's libraries; and an unpacked archive, whose programs use this machine's.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::programs::first_in;

/// Written last: a folder without it is not complete.
const COMPLETE: &str = ".complete";
/// How deep below the folder an archive may have its own folders.
const DEPTH_MAX: usize = 5;

/// A complete folder.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    /// Has `bin`, `share` and others below it; the server calls it its base.
    pub(crate) base: PathBuf,
    /// `None` where programs run by this machine's own.
    pub(crate) loader: Option<Loader>,
}

/// The dynamic loader of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Loader {
    pub(crate) path: PathBuf,
    pub(crate) libraries: PathBuf,
}

impl Tree {
    /// Looks where `scripts/setup` puts folders of this name, and says where if there is none.
    pub(crate) fn find(folder: &str) -> Result<Self, PathBuf> {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let cache = cache(variable("XDG_CACHE_HOME"), variable("HOME"));
        let root = cache.join("myriad").join(folder);
        Self::open(&root).ok_or(root)
    }

    fn open(root: &Path) -> Option<Self> {
        root.join(COMPLETE).is_file().then_some(())?;
        let base = find_base(root)?;
        let loader = find_loader(&base.join("lib"));
        Some(Self { base, loader })
    }

    /// A program of this name.
    pub(crate) fn program(&self, name: &str) -> Option<PathBuf> {
        first_in(["sbin", "bin"].map(|below| self.base.join(below)), name)
    }

    /// Where MariaDB's messages lie, and what fills its system tables.
    pub(crate) fn share(&self) -> PathBuf {
        let folders = ["share/mariadb", "share/mysql", "share"].map(|below| self.base.join(below));
        let [_, _, last] = &folders;
        let messages = |folder: &&PathBuf| folder.join("english/errmsg.sys").is_file();
        folders.iter().find(messages).unwrap_or(last).clone()
    }

    /// Where plugins of the server lie.
    pub(crate) fn plugins(&self) -> PathBuf {
        self.base.join("lib/mysql/plugin")
    }

    /// Where plugins of MariaDB's client programs lie.
    pub(crate) fn client_plugins(&self) -> PathBuf {
        let libraries = self.loader.as_ref().map(|loader| &loader.libraries);
        libraries
            .unwrap_or(&self.base.join("lib"))
            .join("libmariadb3/plugin")
    }
}

/// The nearest folder that has what belongs to a server.
fn find_base(root: &Path) -> Option<PathBuf> {
    let mut level = vec![root.to_owned()];
    for _ in 0..=DEPTH_MAX {
        let is_base = |folder: &&PathBuf| {
            ["bin", "share"].map(|name| folder.join(name).is_dir()) == [true; 2]
        };
        if let Some(base) = level.iter().find(is_base) {
            return Some(base.clone());
        }
        let entries = level.iter().filter_map(|folder| folder.read_dir().ok());
        let folders = entries.flat_map(|entries| entries.flatten());
        level = folders
            .map(|entry| entry.path())
            .filter(|path| path.is_dir())
            .collect();
    }
    None
}

fn cache(cache_home: Option<OsString>, home: Option<OsString>) -> PathBuf {
    match cache_home {
        Some(cache) => PathBuf::from(cache),
        None => Path::new(&home.unwrap_or_default()).join(".cache"),
    }
}

/// The libraries lie beside the loader, in a directory named after the architecture.
fn find_loader(lib: &Path) -> Option<Loader> {
    let directories = std::fs::read_dir(lib).ok()?.flatten();
    directories.map(|entry| entry.path()).find_map(|libraries| {
        let files = std::fs::read_dir(&libraries).ok()?.flatten();
        let name = files
            .map(|entry| entry.file_name())
            .find(|name| name.to_str().is_some_and(is_loader))?;
        let path = libraries.join(name);
        Some(Loader { path, libraries })
    })
}

/// `ld-linux-x86-64.so.2`, `ld-linux-aarch64.so.1`, `ld64.so.2` and their like.
fn is_loader(name: &str) -> bool {
    name.starts_with("ld") && name.contains(".so.") && !name.starts_with("ldap")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_is_where_others_have_theirs() {
        let some = |text: &str| Some(OsString::from(text));
        assert_eq!(cache(some("/c"), some("/h")), Path::new("/c"));
        assert_eq!(cache(None, some("/h")), Path::new("/h/.cache"));
    }

    #[test]
    fn only_a_complete_folder_counts() {
        let folder = tempfile::tempdir().unwrap();
        for below in ["usr/bin", "usr/share/mysql"] {
            std::fs::create_dir_all(folder.path().join(below)).unwrap();
        }
        assert!(Tree::open(folder.path()).is_none());
        std::fs::write(folder.path().join(COMPLETE), "").unwrap();
        let tree = Tree::open(folder.path()).unwrap();
        assert_eq!(tree.base, folder.path().join("usr"));
        assert_eq!(tree.loader, None);
    }

    #[test]
    fn a_debian_brings_its_loader_and_its_libraries() {
        let folder = tempfile::tempdir().unwrap();
        let libraries = folder.path().join("x86_64-linux-gnu");
        std::fs::create_dir_all(&libraries).unwrap();
        std::fs::write(libraries.join("libc.so.6"), "").unwrap();
        assert_eq!(find_loader(folder.path()), None);
        let path = libraries.join("ld-linux-x86-64.so.2");
        std::fs::write(&path, "").unwrap();
        assert_eq!(find_loader(folder.path()), Some(Loader { path, libraries }));
    }

    #[test]
    fn an_archive_may_have_its_folders_deeper() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().join("org/packages/server-1.0/linux");
        for below in [
            base.join("bin"),
            base.join("share"),
            folder.path().join("bin"),
        ] {
            std::fs::create_dir_all(below).unwrap();
        }
        assert_eq!(find_base(folder.path()), Some(base));
    }
}
