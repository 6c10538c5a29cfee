//! Where an account's password comes from: the text itself, a file, an environment variable, or a credential that
//! systemd hands over.
//!
//! No message shows a password, and a file that others than its owner may use is refused.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use toml::de::DeValue;
use zeroize::Zeroizing;

use crate::error::Wrong;
use crate::secret::Secret;
use crate::section::Section;
use crate::value;

/// The longest first line of a password file, in bytes.
const LINE_BYTES_MAX: usize = 4096;

type Source = fn(&DeValue<'_>, &Surroundings) -> Result<Secret, Wrong>;

const SOURCES: [(&str, Source); 4] = [
    ("password", from_text),
    ("password_file", from_file),
    ("password_env", from_variable),
    ("password_credential", from_credential),
];

/// The keys that say it.
pub(crate) const KEYS: [&str; 4] = [SOURCES[0].0, SOURCES[1].0, SOURCES[2].0, SOURCES[3].0];

/// What a configuration may refer to outside itself.
pub(crate) struct Surroundings {
    /// Where relative paths begin.
    pub(crate) directory: PathBuf,
    /// Looks up an environment variable.
    pub(crate) variable: fn(&str) -> Option<OsString>,
}

impl Surroundings {
    /// The process's own, for a configuration read from the path `origin`.
    pub(crate) fn of_process(origin: &str) -> Self {
        let directory = Path::new(origin).parent().unwrap_or(Path::new(""));
        Self {
            directory: directory.to_owned(),
            variable: |name| env::var_os(name),
        }
    }
}

/// Reads the password of an account, empty if none is given.
pub(crate) fn read(section: &mut Section<'_, '_>, surroundings: &Surroundings) -> Secret {
    let given = SOURCES.map(|(key, source)| Some((section.take(key)?.at, key, source)));
    let mut given: Vec<_> = given.into_iter().flatten().collect();
    given.sort_unstable_by_key(|(at, ..)| *at);
    let Some(((first_at, first, source), others)) = given.split_first() else {
        return Secret::default();
    };
    for (at, key, _) in others {
        let what = format!(
            "{first} is already given at line {}",
            section.line(*first_at)
        );
        let fix = format!("keep only one of {}", KEYS.join(", "));
        section.blame(key, *at, Wrong::new(what, fix));
    }
    if !others.is_empty() {
        return Secret::default();
    }
    section.read(first, Secret::default(), |written| {
        source(written, surroundings)
    })
}

fn from_text(written: &DeValue<'_>, _: &Surroundings) -> Result<Secret, Wrong> {
    let text = value::text(written, "write the password in quotes")?;
    Ok(Secret::new(text.to_owned()))
}

fn from_file(written: &DeValue<'_>, surroundings: &Surroundings) -> Result<Secret, Wrong> {
    let path = value::text(written, "write the path of a file in quotes")?;
    first_line(&surroundings.directory.join(path), 0o077)
}

fn from_variable(written: &DeValue<'_>, surroundings: &Surroundings) -> Result<Secret, Wrong> {
    let name = value::text(written, "write the name of a variable in quotes")?;
    variable(name, surroundings)
}

/// systemd hands credentials over in a folder that only the service can look into.
fn from_credential(written: &DeValue<'_>, surroundings: &Surroundings) -> Result<Secret, Wrong> {
    let name = value::text(written, "write the name of a credential in quotes")?;
    if name.is_empty() || name.contains('/') || name.starts_with('.') {
        let fix = "write the name that LoadCredential= has";
        return Err(Wrong::new(format!("{name:?} is no credential"), fix));
    }
    let Some(folder) = (surroundings.variable)("CREDENTIALS_DIRECTORY") else {
        let fix = "have systemd start this process, with LoadCredential=";
        return Err(Wrong::new("systemd has handed no credentials over", fix));
    };
    first_line(&Path::new(&folder).join(name), 0o007)
}

fn variable(name: &str, surroundings: &Surroundings) -> Result<Secret, Wrong> {
    let Some(value) = (surroundings.variable)(name) else {
        let fix = "set it where this process is started, or name another";
        return Err(Wrong::new(
            format!("the environment variable {name:?} is not set"),
            fix,
        ));
    };
    let text = value.into_string().map_err(|_| {
        Wrong::new(
            format!("the environment variable {name:?} is not utf-8"),
            "set it to text",
        )
    })?;
    if text.is_empty() {
        let fix = "set it, or leave out password_env for an empty password";
        return Err(Wrong::new(
            format!("the environment variable {name:?} is empty"),
            fix,
        ));
    }
    Ok(Secret::new(text))
}

/// `others`: who may not use the file, as bits of its mode.
fn first_line(path: &Path, others: u32) -> Result<Secret, Wrong> {
    let mut line = read_private(path, others)?;
    let end = line.iter().position(|b| *b == b'\n').unwrap_or(line.len());
    line.truncate(end);
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    let refuse = |why: &str, fix: &str| {
        Err(Wrong::new(
            format!("the first line of {path:?} is {why}"),
            fix,
        ))
    };
    if line.is_empty() {
        let fix = "write the password there, or leave out password_file for an empty password";
        return refuse("empty", fix);
    }
    if line.len() > LINE_BYTES_MAX {
        return refuse("longer than 4096 bytes", "write the password alone there");
    }
    match std::str::from_utf8(&line) {
        Ok(text) => Ok(Secret::new(text.to_owned())),
        Err(_) => refuse("not utf-8", "write the password as text there"),
    }
}

/// The beginning of a file that only its owner may use.
fn read_private(path: &Path, others: u32) -> Result<Zeroizing<Vec<u8>>, Wrong> {
    let cannot = |error: io::Error| {
        let fix = "check that it is there and that this user may read it";
        Wrong::new(format!("cannot read {path:?}: {error}"), fix)
    };
    // Looked at before it is opened, since opening a pipe would wait for its writer.
    if !fs::metadata(path).map_err(cannot)?.is_file() {
        return Err(Wrong::new(
            format!("{path:?} is not a file"),
            "write the path of a file",
        ));
    }
    let file = File::open(path).map_err(cannot)?;
    let mode = file.metadata().map_err(cannot)?.permissions().mode() & 0o777;
    if mode & others != 0 {
        let what = format!("others than the owner of {path:?} may use it (its mode is {mode:03o})");
        return Err(Wrong::new(what, format!("run `chmod 600 {path:?}`")));
    }
    // Room for all of it, so that no copy is left behind by growing.
    let mut content = Zeroizing::new(Vec::with_capacity(2 * LINE_BYTES_MAX));
    file.take(LINE_BYTES_MAX as u64 + 1)
        .read_to_end(&mut content)
        .map_err(cannot)?;
    Ok(content)
}
