//! The map must show every crate: ARCHITECTURE.md, if there is one, names each folder in `crates/`.

use crate::files::TextFile;
use crate::finding::Finding;
use crate::mask::is_word;

const MAP: &str = "ARCHITECTURE.md";

/// Crates that the map leaves out.
pub(crate) fn check(files: &[TextFile]) -> Vec<Finding> {
    let Some(map) = files.iter().find(|file| file.path == MAP) else {
        return Vec::new();
    };
    let crates = files.iter().filter_map(TextFile::manifest);
    let missing = crates.filter(|(name, _)| !names(&map.text, name));
    missing
        .map(|(name, _)| {
            let what = format!("crates/{name} is not on the map");
            Finding::new(MAP, 1, what, "say what it owns")
        })
        .collect()
}

fn names(map: &str, name: &str) -> bool {
    let path = format!("crates/{name}");
    map.match_indices(&path)
        .any(|(at, _)| !map[at + path.len()..].starts_with(is_word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::tests::file;

    #[test]
    fn every_crate_is_on_the_map() {
        let mut files = vec![
            file("crates/wire/Cargo.toml", ""),
            file("crates/pool/Cargo.toml", ""),
        ];
        assert!(check(&files).is_empty());
        files.push(file(MAP, "`crates/wire` and crates/pools\n"));
        let findings = check(&files);
        assert_eq!(findings.len(), 1);
        assert!(
            findings[0].what.contains("crates/pool is not"),
            "{}",
            findings[0]
        );
    }
}
