//! Files that are replaced whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Replaces a file, or makes one that has `mode`. When this returns, the file is on disk; if this fails, or the machine does,
/// it is as it was. A path that names no file, such as `/dev/stdout` or a named pipe, is written to as it is.
///
/// Whoever writes to one path from two threads at a time must prevent that.
///
/// # Errors
///
/// What the system says.
pub fn replace(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(found) if !found.is_file() => return fs::write(path, content),
        // A link stays one; what it names is replaced.
        Ok(_) => return replace_file(&fs::canonicalize(path)?, content, mode),
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Err(_) => {}
    }
    replace_file(path, content, mode)
}

fn replace_file(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    let beside = beside(path);
    let written = write_new(&beside, content, mode).and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        // It may never have come to be; the error is told either way.
        let _gone = fs::remove_file(&beside);
        return written;
    }
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

/// Where the content is written before it takes the place of the file.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}", std::process::id()))
}

fn write_new(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    // A process that ended in the middle may have left one, which is then written to by nobody.
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(content)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect()
    }

    #[test]
    fn a_file_is_replaced_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.toml");
        for content in ["first, and longer", "second"] {
            replace(&path, content.as_bytes(), 0o600).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
        }
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(names(folder.path()), ["a.toml"]);
    }

    #[test]
    fn what_cannot_be_written_leaves_all_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::create_dir_all(path.join("inside")).unwrap();
        assert!(replace(&path, b"x", 0o600).is_err());
        assert!(path.join("inside").exists());
        assert_eq!(names(folder.path()), ["a"]);
        // What stands in the way of the new file is no file of ours.
        let other = folder.path().join("b");
        fs::write(&other, "old").unwrap();
        fs::create_dir(beside(&other)).unwrap();
        assert!(replace(&other, b"new", 0o600).is_err());
        assert_eq!(fs::read_to_string(&other).unwrap(), "old");
    }

    #[test]
    fn what_a_crash_has_left_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(beside(&path), "half of").unwrap();
        replace(&path, b"all", 0o644).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "all");
        assert_eq!(names(folder.path()), ["a"]);
    }

    #[test]
    fn a_link_stays_a_link_and_a_device_a_device() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "old").unwrap();
        symlink(&file, &link).unwrap();
        replace(&link, b"new", 0o644).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        let device = folder.path().join("null");
        symlink("/dev/null", &device).unwrap();
        replace(&device, b"gone", 0o644).unwrap();
        assert_eq!(fs::read_to_string(&device).unwrap(), "");
    }
}
