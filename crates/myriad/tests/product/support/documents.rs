//! What the documents say of differences.

/// The documents that tell how a session through the front door differs from one on the server, as one text: each
/// difference that a test excuses stands in one of them.
pub(crate) fn differences() -> String {
    let read = |name: &&str| {
        let path = format!("{}/../../docs/{name}.md", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(path).unwrap()
    };
    ["DIFFERENCES", "CORNERS", "PINS"]
        .iter()
        .map(read)
        .collect()
}
