//! Which files are looked at, and what kind each is. Rules are not known here.

use std::path::Path;
use std::process::Command;

use anyhow::Context;

/// Never the project's own text, where git cannot tell.
const SKIPPED_DIRECTORIES: [&str; 3] = [".git", "target", "var"];

/// Inputs that machines made; what they hold is nobody's text.
const CORPUS: &str = "fuzz/corpus/";

/// A text file of the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextFile {
    /// Relative to the workspace, with `/` between its parts.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl TextFile {
    /// Rust in the `src` folder of a crate (or of this task runner, or of the fuzz targets).
    pub(crate) fn is_source(&self) -> bool {
        self.path.ends_with(".rs") && self.crate_path().is_some_and(is_in_src)
    }

    /// Rust in the `src` folder of one of the crates.
    pub(crate) fn is_crate_source(&self) -> bool {
        self.is_source() && self.path.starts_with("crates/")
    }

    /// The crate's name and its manifest's text, if this is a manifest under `crates/`.
    pub(crate) fn manifest(&self) -> Option<(&str, &str)> {
        let name = self
            .path
            .strip_prefix("crates/")?
            .strip_suffix("/Cargo.toml")?;
        (!name.contains('/')).then_some((name, self.text.as_str()))
    }

    fn crate_path(&self) -> Option<&str> {
        let in_crates = self
            .path
            .strip_prefix("crates/")
            .and_then(|path| path.split_once('/'));
        in_crates
            .map(|(_, path)| path)
            .or_else(|| self.path.strip_prefix("xtask/"))
            .or_else(|| self.path.strip_prefix("fuzz/"))
    }
}

/// Reads every text file that git knows or would add; without git, every one that is not built.
pub(crate) fn read_all(root: &Path) -> anyhow::Result<Vec<TextFile>> {
    let mut paths = Vec::new();
    match listed_by_git(root) {
        Some(listed) => paths = listed,
        None => walk(root, "", &mut paths)?,
    }
    paths.retain(|path| !path.starts_with(CORPUS));
    paths.sort();
    let mut files = Vec::new();
    for path in paths {
        let on_disk = root.join(&path);
        // Deleted files and links to elsewhere are listed, too.
        if !on_disk
            .symlink_metadata()
            .is_ok_and(|found| found.is_file())
        {
            continue;
        }
        let bytes = std::fs::read(&on_disk).with_context(|| format!("cannot read {path}"))?;
        if let Some(text) = as_text(bytes) {
            files.push(TextFile { path, text });
        }
    }
    Ok(files)
}

fn is_in_src(path: &str) -> bool {
    path.starts_with("src/")
}

fn as_text(bytes: Vec<u8>) -> Option<String> {
    String::from_utf8(bytes)
        .ok()
        .filter(|text| !text.contains('\0'))
}

fn listed_by_git(root: &Path) -> Option<Vec<String>> {
    let mut git = Command::new("git");
    git.args([
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ]);
    let output = git
        .current_dir(root)
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    let listed = String::from_utf8(output.stdout).ok()?;
    Some(listed.split_terminator('\0').map(String::from).collect())
}

fn walk(root: &Path, below: &str, paths: &mut Vec<String>) -> anyhow::Result<()> {
    let directory = root.join(below);
    let entries = std::fs::read_dir(&directory);
    for entry in entries.with_context(|| format!("cannot list {}", directory.display()))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if below.is_empty() {
            name.clone()
        } else {
            format!("{below}/{name}")
        };
        if !entry.file_type()?.is_dir() {
            paths.push(path);
        } else if !SKIPPED_DIRECTORIES.contains(&name.as_str()) {
            walk(root, &path, paths)?;
        }
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn file(path: &str, text: &str) -> TextFile {
        TextFile {
            path: path.into(),
            text: text.into(),
        }
    }

    #[test]
    fn files_are_told_apart_by_their_paths() {
        assert!(file("crates/wire/src/a/b.rs", "").is_crate_source());
        assert!(file("xtask/src/main.rs", "").is_source());
        assert!(!file("xtask/src/main.rs", "").is_crate_source());
        assert!(!file("crates/wire/tests/a.rs", "").is_source());
        assert_eq!(
            file("crates/wire/Cargo.toml", "x").manifest(),
            Some(("wire", "x"))
        );
        assert_eq!(file("crates/wire/a/Cargo.toml", "x").manifest(), None);
    }

    #[test]
    fn binary_files_are_no_text() {
        assert_eq!(as_text(vec![0xff, 0xfe]), None);
        assert_eq!(as_text(b"a\0b".to_vec()), None);
        assert_eq!(as_text(b"ab".to_vec()), Some("ab".into()));
    }

    #[test]
    fn a_tree_without_git_is_walked() {
        let mut paths = Vec::new();
        walk(Path::new("."), "", &mut paths).unwrap();
        assert!(paths.contains(&"src/files.rs".to_string()), "{paths:?}");
    }
}
