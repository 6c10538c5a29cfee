//! The file where limits stand that statements have set, so that they outlive the process. It is
//! written by Myriad only, and read above the configuration.
//!
//! Owns the format and that the file is whole at every moment. Who may set a limit is decided
//! elsewhere.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use toml::de::DeTable;

use crate::limits::{Limits, OVERLOAD};
use crate::quota::{self, AccountName};
use crate::report::Report;
use crate::section::Section;
use crate::{ConfigErrors, LoadError};

const HEADER: &str = "# Limits that were set by statements (GRANT, CREATE USER, ALTER USER). Written by Myriad: \
                      what you change here is lost\n# unless Myriad is stopped.\n";

/// Reads the file; one that is not there says nothing.
///
/// # Errors
///
/// As [`crate::load`].
pub fn load(path: &Path) -> Result<BTreeMap<AccountName, Limits>, LoadError> {
    match read(path) {
        Ok(text) => Ok(parse(&text, &path.to_string_lossy())?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeMap::new()),
        Err(source) => Err(LoadError::Read {
            path: path.to_owned(),
            source,
        }),
    }
}

fn read(path: &Path) -> io::Result<String> {
    // Reading a pipe that nobody writes to would last for ever.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    fs::read_to_string(path)
}

/// Sees that all of this may stand in the file.
///
/// # Errors
///
/// What is out of range, in the words for a configuration.
pub fn check(set: &BTreeMap<AccountName, Limits>) -> Result<(), ConfigErrors> {
    parse(&show(set), "limits").map(drop)
}

/// Writes the file anew. When this returns, it is on disk; if it fails, or the machine does, the
/// file is as it was.
///
/// # Errors
///
/// What the system says.
pub fn save(path: &Path, set: &BTreeMap<AccountName, Limits>) -> io::Result<()> {
    output::replace(path, show(set).as_bytes(), 0o600)
}

fn parse(text: &str, origin: &str) -> Result<BTreeMap<AccountName, Limits>, ConfigErrors> {
    let mut report = Report::new(text);
    let mut set = BTreeMap::new();
    match DeTable::parse(text) {
        Ok(root) => {
            let mut root = Section::root(root.get_ref(), &mut report);
            let quotas = quota::read_all(&mut root).into_iter();
            set.extend(quotas.filter_map(|quota| Some((quota.account?, quota.limits))));
            root.finish();
        }
        Err(error) => report.blame_syntax(&error),
    }
    report.verdict(set, origin)
}

fn show(set: &BTreeMap<AccountName, Limits>) -> String {
    let mut text = HEADER.to_owned();
    for (account, limits) in set {
        // Writing to a text does not fail.
        let _ = writeln!(
            text,
            "\n[[quota]]\naccount = {}",
            quoted(&account.to_string())
        );
        for (key, value) in shown(limits) {
            let _ = writeln!(text, "{key} = {value}");
        }
    }
    text
}

fn shown(limits: &Limits) -> impl Iterator<Item = (&'static str, String)> {
    let number = |value: Option<u32>| value.map(|value| value.to_string());
    let duration =
        |value: Option<Duration>| value.map(|value| format!("\"{}ms\"", value.as_millis()));
    let overload = limits.overload.and_then(|overload| {
        let word = OVERLOAD.iter().find(|(_, meaning)| *meaning == overload);
        word.map(|(word, _)| quoted(word))
    });
    let all = [
        ("max_connections", number(limits.max_connections)),
        (
            "max_concurrent_queries",
            number(limits.max_concurrent_queries),
        ),
        (
            "max_concurrent_transactions",
            number(limits.max_concurrent_transactions),
        ),
        ("max_queued", number(limits.max_queued)),
        ("queue_timeout", duration(limits.queue_timeout)),
        ("max_statement_time", duration(limits.max_statement_time)),
        (
            "max_connects_per_second",
            number(limits.max_connects_per_second),
        ),
        ("weight", number(limits.weight)),
        ("overload", overload),
        ("overload_target", duration(limits.overload_target)),
    ];
    all.into_iter()
        .filter_map(|(key, value)| Some((key, value?)))
}

/// As a basic string of TOML.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Overload;

    fn name(user: &str, host: &str) -> AccountName {
        AccountName {
            user: user.to_owned(),
            host: host.to_owned(),
        }
    }

    fn some() -> BTreeMap<AccountName, Limits> {
        let all = Limits {
            max_connections: Some(1),
            max_concurrent_queries: Some(2),
            max_concurrent_transactions: Some(3),
            max_queued: Some(0),
            queue_timeout: Some(Duration::ZERO),
            max_statement_time: Some(Duration::from_millis(1_500)),
            max_connects_per_second: Some(6),
            weight: Some(7),
            overload: Some(Overload::Codel),
            overload_target: Some(Duration::from_secs(9)),
        };
        BTreeMap::from([
            (name("o'n\"\\\n", "10.%"), all),
            (name("", ""), Limits::default()),
        ])
    }

    #[test]
    fn what_was_saved_is_loaded() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("myriad-auto.toml");
        assert!(load(&path).unwrap().is_empty());
        save(&path, &some()).unwrap();
        assert_eq!(load(&path).unwrap(), some());
        save(&path, &BTreeMap::new()).unwrap();
        assert!(load(&path).unwrap().is_empty());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_is_not_a_file_is_neither_read_nor_waited_for() {
        for path in ["/dev/null", "/"] {
            let text = load(Path::new(path)).unwrap_err().to_string();
            assert!(text.contains("not a file"), "{path}: {text}");
        }
    }

    #[test]
    fn a_file_that_somebody_spoilt_is_refused() {
        let errors = parse("[[quota]]\naccount = \"a\"\nmax_queue = 1\n[server]\n", "f");
        let text = errors.unwrap_err().to_string();
        assert!(
            text.contains("f:3:1: quota.max_queue: unknown key; did you mean max_queued?"),
            "{text}"
        );
        assert!(text.contains("f:4:2: server: unknown key"), "{text}");
    }
}
