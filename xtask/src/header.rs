//! How a source file begins: with `//!` lines that say what it owns.

use crate::files::TextFile;
use crate::finding::Finding;

/// A finding if the file says nothing of itself.
pub(crate) fn check(file: &TextFile) -> Option<Finding> {
    let is_missing = file.is_source() && !file.text.starts_with("//!");
    is_missing.then(|| {
        let fix = "say in `//!` lines what the file owns and what it does not";
        Finding::new(&file.path, 1, "the file does not say what it owns", fix)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::tests::file;

    #[test]
    fn a_source_file_begins_with_what_it_owns() {
        assert!(check(&file("crates/a/src/b.rs", "use x;\n")).is_some());
        assert!(check(&file("crates/a/src/b.rs", "//! Owns x.\n")).is_none());
        assert!(check(&file("crates/a/tests/b.rs", "use x;\n")).is_none());
    }
}
