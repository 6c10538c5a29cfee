//! The project's own tasks: `cargo xtask tidy` turns the rules of style into a test.
//! Each rule lives in a file of its own; this one only reads arguments and prints.

mod architecture;
mod arrows;
mod files;
mod finding;
mod header;
mod mask;
mod structure;
mod trust;
mod whitespace;
mod words;

use std::path::PathBuf;
use std::process::ExitCode;

use files::TextFile;
use finding::Finding;

const USAGE: &str = "usage: cargo xtask tidy";

fn main() -> anyhow::Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments != ["tidy"] {
        eprintln!("{USAGE}");
        return Ok(ExitCode::from(2));
    }
    let files = files::read_all(&root())?;
    let findings = tidy(&files);
    for finding in &findings {
        println!("{finding}");
    }
    println!("tidy: {} files, {} findings", files.len(), findings.len());
    Ok(if findings.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Cargo tells where this crate is; the workspace is around it.
fn root() -> PathBuf {
    std::env::var_os("CARGO_MANIFEST_DIR")
        .and_then(|manifest| PathBuf::from(manifest).parent().map(PathBuf::from))
        .unwrap_or_else(|| PathBuf::from("."))
}

fn tidy(files: &[TextFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files {
        findings.extend(words::check(file));
        findings.extend(whitespace::check(file));
        findings.extend(trust::check(file));
        findings.extend(header::check(file));
    }
    findings.extend(arrows::check(files));
    findings.extend(architecture::check(files));
    findings.extend(structure::check(files));
    findings.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    findings
}
