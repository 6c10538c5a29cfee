//! Settings of the kernel that are changed for a while and then put back, also after a crash: what
//! they were is written to a file before anything is changed.
//!
//! Which settings are worth changing is not known here.

mod record;
mod tree;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use record::Record;
use serde::{Deserialize, Serialize};
use tree::Tree;

/// A setting and what it should be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// The name of a sysctl, or the path of a file below `/sys`.
    pub name: String,
    /// What it should be; numbers are parted by one blank.
    pub value: String,
}

/// A setting that was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The name of a sysctl, or the path of a file below `/sys`.
    pub name: String,
    /// What it was.
    pub old: String,
    /// What it was set to.
    pub new: String,
}

/// A setting that could not be changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// What was asked for.
    pub setting: Setting,
    /// Why not.
    pub cause: String,
}

/// Why settings cannot be changed or put back.
#[derive(Debug, thiserror::Error)]
pub enum AdjustError {
    /// Another run has changed settings and is not done.
    #[error("another run has changed settings and not put them back yet; wait for it ({path})")]
    InUse {
        /// The file that it holds.
        path: PathBuf,
    },
    /// The file in which the old values stand.
    #[error("cannot use {path}, where the old values of settings are kept: {source}")]
    State {
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// A setting could not be put back.
    #[error("cannot put {name} back to {old}: {source}; do it by hand")]
    Restore {
        /// Its name.
        name: String,
        /// What it was.
        old: String,
        /// What the operating system says.
        source: io::Error,
    },
}

/// Settings as long as this lives. Dropping it puts them back; [`Adjusted::restore`] does so and tells
/// what was done. When the process is killed, [`Adjusted::restore_leftover`] of the next one does it.
#[derive(Debug)]
pub struct Adjusted {
    tree: Tree,
    /// `None` once everything is put back.
    record: Option<Record>,
    changes: Vec<Change>,
    refusals: Vec<Refusal>,
}

impl Setting {
    /// A sysctl.
    pub fn sysctl(name: &str, value: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            value: value.into(),
        }
    }

    /// A file below `/sys`.
    pub fn file(path: &str, value: impl Into<String>) -> Self {
        Self::sysctl(path, value)
    }
}

impl Adjusted {
    /// Changes the settings. What was left by a run that was killed is put back before. The old values
    /// are kept in the file `state` until they are restored. Settings that are as wanted already are
    /// left alone; those that cannot be changed are among [`Adjusted::refusals`], and no error.
    ///
    /// # Errors
    /// The file cannot be written, another run holds it, or what it left cannot be put back. Nothing
    /// is changed then.
    pub fn apply(settings: &[Setting], state: &Path) -> Result<Self, AdjustError> {
        Self::apply_below(Tree::whole(), settings, state)
    }

    /// Puts back what a run that was killed has left changed, and tells what it was. Settings
    /// that somebody has changed since are left alone; so is everything after a reboot.
    ///
    /// # Errors
    /// As for [`Adjusted::restore`]; also if the run that has changed them is not done.
    pub fn restore_leftover(state: &Path) -> Result<Vec<Change>, AdjustError> {
        restore_leftover_below(&Tree::whole(), state)
    }

    /// What was changed.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// What could not be changed.
    pub fn refusals(&self) -> &[Refusal] {
        &self.refusals
    }

    /// Puts everything back and tells what that was.
    ///
    /// # Errors
    /// The first setting that could not be put back; the others are nevertheless.
    pub fn restore(mut self) -> Result<Vec<Change>, AdjustError> {
        self.put_back()
    }

    fn apply_below(tree: Tree, settings: &[Setting], state: &Path) -> Result<Self, AdjustError> {
        restore_leftover_below(&tree, state)?;
        let (changes, refusals) = plan(&tree, settings);
        let mut adjusted = Self {
            record: Some(Record::write(state, &tree.boot(), &changes)?),
            tree,
            changes: Vec::new(),
            refusals,
        };
        let (changes, refusals) = make(&adjusted.tree, changes);
        adjusted.changes = changes;
        adjusted.refusals.extend(refusals);
        Ok(adjusted)
    }

    fn put_back(&mut self) -> Result<Vec<Change>, AdjustError> {
        let Some(record) = self.record.take() else {
            return Ok(Vec::new());
        };
        let restored = put_back(&self.tree, &self.changes)?;
        record.remove()?;
        Ok(restored)
    }
}

impl Drop for Adjusted {
    fn drop(&mut self) {
        if let Err(error) = self.put_back() {
            tracing::warn!(%error, "settings of the kernel are not as they were");
        }
    }
}

impl Refusal {
    fn new(setting: &Setting, cause: &io::Error) -> Self {
        Self {
            setting: setting.clone(),
            cause: cause.to_string(),
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} → {}", self.name, self.old, self.new)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Setting { name, value } = &self.setting;
        write!(f, "{name} could not be set to {value}: {}", self.cause)
    }
}

/// Changes settings for good, or until the machine is restarted: nothing puts them back.
pub fn set(settings: &[Setting]) -> (Vec<Change>, Vec<Refusal>) {
    set_below(&Tree::whole(), settings)
}

fn set_below(tree: &Tree, settings: &[Setting]) -> (Vec<Change>, Vec<Refusal>) {
    let (changes, mut refusals) = plan(tree, settings);
    let (changes, refused) = make(tree, changes);
    refusals.extend(refused);
    (changes, refusals)
}

/// What is to be changed, and what cannot even be read.
fn plan(tree: &Tree, settings: &[Setting]) -> (Vec<Change>, Vec<Refusal>) {
    let (mut changes, mut refusals) = (Vec::new(), Vec::new());
    for setting in settings {
        match tree.read(&setting.name) {
            Ok(old) if old == setting.value => {}
            Ok(old) => changes.push(Change {
                name: setting.name.clone(),
                old,
                new: setting.value.clone(),
            }),
            Err(error) => refusals.push(Refusal::new(setting, &error)),
        }
    }
    (changes, refusals)
}

/// Makes the changes; those that are made, and those that are not.
fn make(tree: &Tree, planned: Vec<Change>) -> (Vec<Change>, Vec<Refusal>) {
    let (mut changes, mut refusals) = (Vec::new(), Vec::new());
    for change in planned {
        match tree.write(&change.name, &change.new) {
            Ok(()) => changes.push(change),
            Err(error) => {
                let setting = Setting::sysctl(&change.name, change.new);
                refusals.push(Refusal::new(&setting, &error));
            }
        }
    }
    (changes, refusals)
}

fn restore_leftover_below(tree: &Tree, state: &Path) -> Result<Vec<Change>, AdjustError> {
    let Some((record, boot, changes)) = Record::leftover(state)? else {
        return Ok(Vec::new());
    };
    let restored = if boot == tree.boot() {
        put_back(tree, &changes)?
    } else {
        Vec::new()
    };
    record.remove()?;
    Ok(restored)
}

/// The last change first. What is not as we set it is somebody else's by now.
fn put_back(tree: &Tree, changes: &[Change]) -> Result<Vec<Change>, AdjustError> {
    let (mut restored, mut failure) = (Vec::new(), None);
    for change in changes.iter().rev() {
        let now = tree.read(&change.name);
        let done = match now {
            Ok(now) if now != change.new => continue,
            Ok(_) => tree.write(&change.name, &change.old),
            Err(error) => Err(error),
        };
        match done {
            Ok(()) => restored.push(Change {
                name: change.name.clone(),
                old: change.new.clone(),
                new: change.old.clone(),
            }),
            Err(source) => {
                let (name, old) = (change.name.clone(), change.old.clone());
                failure.get_or_insert(AdjustError::Restore { name, old, source });
            }
        }
    }
    failure.map_or(Ok(restored), Err)
}

#[cfg(test)]
mod tests;
