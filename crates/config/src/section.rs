//! One table of the configuration as it was written, and how its keys are taken out.
//!
//! A section names each of its keys exactly once, by reading it; whatever is left is unknown. What
//! a value must look like is the matter of the caller and of `value`.

use toml::de::{DeTable, DeValue};

use crate::error::Wrong;
use crate::report::Report;
use crate::value;

/// A table while it is read. The root of the file has no name.
pub(crate) struct Section<'a, 't> {
    name: &'static str,
    table: Option<&'a DeTable<'a>>,
    at: usize,
    report: &'a mut Report<'t>,
}

/// A value as written, and where.
#[derive(Clone, Copy)]
pub(crate) struct Written<'a> {
    pub(crate) at: usize,
    pub(crate) value: &'a DeValue<'a>,
}

impl<'a, 't> Section<'a, 't> {
    pub(crate) fn root(table: &'a DeTable<'a>, report: &'a mut Report<'t>) -> Self {
        Self {
            name: "",
            table: Some(table),
            at: 0,
            report,
        }
    }

    /// Reads the table `[name]`, also if it is not written.
    pub(crate) fn section<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&mut Section<'_, 't>) -> T,
    ) -> T {
        let written = self.take(name);
        let table = written.and_then(|written| match written.value {
            DeValue::Table(table) => Some(table),
            other => {
                let fix = format!("write [{name}] once, and its keys below it");
                self.blame(name, written.at, Wrong::new(value::found(other), fix));
                None
            }
        });
        let at = written.map_or(0, |written| written.at);
        self.child(name, table, at, read)
    }

    /// Reads all the tables `[[name]]`.
    pub(crate) fn sections<T>(
        &mut self,
        name: &'static str,
        read: impl FnMut(&mut Section<'_, 't>) -> T,
    ) -> Vec<T> {
        self.sections_named(name, name, read)
    }

    /// The same where another section has this name, too: `path` is what tells them apart.
    pub(crate) fn sections_named<T>(
        &mut self,
        name: &'static str,
        path: &'static str,
        mut read: impl FnMut(&mut Section<'_, 't>) -> T,
    ) -> Vec<T> {
        let (mut all, fix) = (Vec::new(), format!("write [[{path}]]"));
        for written in self.list(name, &fix).unwrap_or_default() {
            let DeValue::Table(table) = written.value else {
                let wrong = Wrong::new(value::found(written.value), &fix);
                self.blame(name, written.at, wrong);
                continue;
            };
            all.push(self.child(path, Some(table), written.at, &mut read));
        }
        all
    }

    /// Whether it is in the file.
    pub(crate) fn is_written(&self) -> bool {
        self.table.is_some()
    }

    /// The elements of the array at `key`; `None` if it is not written or no array.
    pub(crate) fn list(&mut self, key: &'static str, fix: &str) -> Option<Vec<Written<'a>>> {
        let written = self.take(key)?;
        let DeValue::Array(elements) = written.value else {
            self.blame(
                key,
                written.at,
                Wrong::new(value::found(written.value), fix),
            );
            return None;
        };
        let element = elements.iter();
        Some(
            element
                .map(|e| Written {
                    at: e.span().start,
                    value: e.get_ref(),
                })
                .collect(),
        )
    }

    /// The checked value of `key`, or `default` if it is not written or wrong.
    pub(crate) fn read<T>(
        &mut self,
        key: &'static str,
        default: T,
        check: impl FnOnce(&DeValue<'_>) -> Result<T, Wrong>,
    ) -> T {
        let Some(written) = self.take(key) else {
            return default;
        };
        match check(written.value) {
            Ok(value) => value,
            Err(wrong) => {
                self.blame(key, written.at, wrong);
                default
            }
        }
    }

    /// The value of `key` as written, if it is.
    pub(crate) fn take(&mut self, key: &'static str) -> Option<Written<'a>> {
        self.report.note_known(self.name, key);
        let (_, value) = self.table?.iter().find(|(k, _)| k.get_ref() == key)?;
        let at = value.span().start;
        self.report.note_written(self.name, key, at);
        Some(Written {
            at,
            value: value.get_ref(),
        })
    }

    /// Notes that what is written at `at` for `key` is wrong.
    pub(crate) fn blame(&mut self, key: &str, at: usize, wrong: Wrong) {
        self.report.blame(self.name, key, at, wrong);
    }

    /// Notes that `key` should be written and is not.
    pub(crate) fn blame_missing(&mut self, key: &str, fix: &str) {
        self.report
            .blame(self.name, key, self.at, Wrong::new("is missing", fix));
    }

    /// Where the first written of these keys is, if all of them are sound, so that they may be
    /// judged together.
    pub(crate) fn place_if_sound(&self, keys: &[&str]) -> Option<usize> {
        if !self.is_sound(keys) {
            return None;
        }
        keys.iter()
            .find_map(|key| self.report.place(&format!("{}.{key}", self.name)))
    }

    /// Whether nothing was found wrong with these keys.
    pub(crate) fn is_sound(&self, keys: &[&str]) -> bool {
        keys.iter().all(|key| self.report.is_sound(self.name, key))
    }

    /// Where the section begins.
    pub(crate) fn place(&self) -> usize {
        self.at
    }

    /// The line of a place, from 1.
    pub(crate) fn line(&self, at: usize) -> usize {
        self.report.line(at)
    }

    /// Notes the keys that nobody asked for.
    pub(crate) fn finish(&mut self) {
        for (key, _) in self.table.iter().flat_map(|table| table.iter()) {
            if !self.report.knows(self.name, key.get_ref()) {
                self.report
                    .note_unknown(self.name, key.get_ref(), key.span().start);
            }
        }
    }

    fn child<T>(
        &mut self,
        name: &'static str,
        table: Option<&DeTable<'_>>,
        at: usize,
        read: impl FnOnce(&mut Section<'_, 't>) -> T,
    ) -> T {
        let mut child = Section {
            name,
            table,
            at,
            report: self.report,
        };
        let value = read(&mut child);
        child.finish();
        value
    }
}
