//! Each check has its page, and each page its check.

use std::collections::BTreeSet;
use std::path::Path;

#[test]
fn checks_and_pages_belong_together() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/doctor");
    let files = std::fs::read_dir(folder).expect("docs/doctor is there");
    let mut pages = BTreeSet::new();
    for file in files {
        let path = file.expect("it can be read").path();
        let name = path.file_stem().expect("it has a name");
        let name = name.to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).expect("it can be read");
        for part in [
            &format!("# {name}\n"),
            "\n## What it is\n",
            "\n## What one sees\n",
            "\n## What is asked\n",
            "\n## The fix\n",
        ] {
            assert!(text.contains(part), "{name} lacks {part:?}");
        }
        pages.insert(name);
    }
    let checks: BTreeSet<String> = doctor::names().map(str::to_owned).collect();
    assert_eq!(pages, checks);
}
