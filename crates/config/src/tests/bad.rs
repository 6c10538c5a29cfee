//! Bad configurations and exactly what is said about them.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::{LoadError, load, parse};

fn message(text: &str) -> String {
    match parse(text, "f") {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(errors) => errors.to_string(),
    }
}

#[test]
fn every_mistake_is_told() {
    // Blocks with an empty line between them; what is expected begins with "> ".
    for block in include_str!("bad.txt").trim_end().split("\n\n") {
        let (text, expected) = block.split_once("\n> ").unwrap();
        assert_eq!(message(text), expected.replace("\n> ", "\n"));
    }
}

#[test]
fn what_is_too_long_is_counted() {
    let label = format!("{}.example", "x".repeat(246));
    let table = [
        (
            format!("[server]\nlisten = [\"unix:/{}\"]", "x".repeat(107)),
            "f:2:11: server.listen: the path has 108 bytes; write one of at most 107",
        ),
        (
            format!("[backend]\naddress = \"unix:/{}\"", "ü".repeat(54)),
            "f:2:11: backend.address: the path has 109 bytes; write one of at most 107",
        ),
        (
            format!("[backend]\nserver_version = \"{}\"", "8".repeat(65)),
            "f:2:18: backend.server_version: the version has 65 bytes; \
             write at most 64 printable ascii characters",
        ),
        (
            format!("[[account]]\nuser = \"{}\"", "u".repeat(129)),
            "f:2:8: account.user: the name has 129 bytes; write a name of 1 to 128 bytes",
        ),
        (
            format!("[backend]\naddress = \"{label}:1\""),
            &format!(
                "f:2:11: backend.address: \"{label}:1\" is no address; write a host and a port, \
                 such as \"127.0.0.1:3306\", \"db.example:3306\" or \"[::1]:3306\", \
                 or \"unix:/path\""
            ),
        ),
    ];
    for (text, expected) in table {
        assert_eq!(message(&text), expected);
    }
}

#[test]
fn places_are_right_whatever_the_line_ends() {
    assert_eq!(
        message("\u{feff}# ü\r\n[log]\r\nlevel = 1\r\n"),
        "f:3:9: log.level: found a whole number; \
         write \"error\" or \"warn\" or \"info\" or \"debug\" or \"trace\""
    );
}

#[test]
fn problems_can_be_taken_apart() {
    let errors = parse("[server]\nworkers = 1025\n", "f").unwrap_err();
    let [problem] = errors.problems() else {
        panic!("{errors}")
    };
    assert_eq!(
        (problem.line, problem.column, &*problem.key),
        (2, 11, "server.workers")
    );
    assert_eq!(
        problem.message,
        "1025 is out of range; write a whole number from 0 to 1024"
    );
}

#[test]
fn a_file_that_cannot_be_read_is_told() {
    let error = load(Path::new("/nowhere/myriad.toml")).unwrap_err();
    assert!(matches!(error, LoadError::Read { .. }));
    assert_eq!(
        error.to_string(),
        "cannot read \"/nowhere/myriad.toml\": No such file or directory (os error 2); \
         check that it is there and that this user may read it"
    );
}

#[test]
fn a_bad_file_is_told_by_its_path() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("myriad.toml");
    fs::write(&path, "[servr]\n").unwrap();
    let error = load(&path).unwrap_err();
    assert!(matches!(error, LoadError::Invalid(_)));
    let expected = "1:2: servr: unknown key; did you mean [server]?";
    assert_eq!(error.to_string(), format!("{}:{expected}", path.display()));
}
