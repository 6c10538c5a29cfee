//! The folder into which `scripts/setup mysql` unpacks MySQL with all its libraries.
//!
//! Its programs are run by its own loader, so that they neither need nor see this machine's libraries,
//! and whoever may read the folder may run them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::LocalDbError;

/// Written last: a folder without it is not complete.
const COMPLETE: &str = ".complete";

/// A complete folder.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    pub(crate) root: PathBuf,
    /// The dynamic loader.
    pub(crate) loader: PathBuf,
    /// Where it finds the libraries.
    pub(crate) libraries: PathBuf,
}

impl Tree {
    /// Looks where `scripts/setup` puts it.
    pub(crate) fn find() -> Result<Self, LocalDbError> {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        Self::open(cache(variable("XDG_CACHE_HOME"), variable("HOME")).join("myriad/mysql-sid"))
    }

    fn open(root: PathBuf) -> Result<Self, LocalDbError> {
        if !root.join(COMPLETE).is_file() {
            return Err(LocalDbError::MySqlMissing(root));
        }
        let Some((libraries, loader)) = find_loader(&root.join("usr/lib")) else {
            return Err(LocalDbError::MySqlMissing(root));
        };
        Ok(Self {
            root,
            loader,
            libraries,
        })
    }
}

fn cache(cache_home: Option<OsString>, home: Option<OsString>) -> PathBuf {
    match cache_home {
        Some(cache) => PathBuf::from(cache),
        None => Path::new(&home.unwrap_or_default()).join(".cache"),
    }
}

/// The libraries lie beside the loader, in a directory named after the architecture.
fn find_loader(lib: &Path) -> Option<(PathBuf, PathBuf)> {
    let directories = std::fs::read_dir(lib).ok()?.flatten();
    directories.map(|entry| entry.path()).find_map(|libraries| {
        let files = std::fs::read_dir(&libraries).ok()?.flatten();
        let loader = files
            .map(|entry| entry.file_name())
            .find(|name| name.to_str().is_some_and(is_loader))?;
        Some((libraries.clone(), libraries.join(loader)))
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
        let root = || folder.path().to_path_buf();
        let libraries = root().join("usr/lib/x86_64-linux-gnu");
        std::fs::create_dir_all(&libraries).unwrap();
        std::fs::write(libraries.join("libc.so.6"), "").unwrap();
        std::fs::write(libraries.join("ld-linux-x86-64.so.2"), "").unwrap();
        let missing = Tree::open(root()).unwrap_err();
        assert!(missing.to_string().contains("scripts/setup mysql"));
        std::fs::write(root().join(COMPLETE), "").unwrap();
        let tree = Tree::open(root()).unwrap();
        assert_eq!(tree.libraries, libraries);
        assert_eq!(tree.loader, libraries.join("ld-linux-x86-64.so.2"));
    }
}
