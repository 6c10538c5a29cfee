//! Checks of a single value: its type, its range, its words.

use std::num::NonZero;
use std::ops::RangeInclusive;
use std::time::Duration;

use toml::de::{DeInteger, DeValue};

use crate::error::Wrong;
use crate::units;

/// A text; `fix` says what to write instead of another type. The message never shows the value.
pub(crate) fn text<'v>(value: &'v DeValue<'_>, fix: &str) -> Result<&'v str, Wrong> {
    value.as_str().ok_or_else(|| Wrong::new(found(value), fix))
}

/// A whole number within `range`.
pub(crate) fn number(value: &DeValue<'_>, range: RangeInclusive<u32>) -> Result<u32, Wrong> {
    let fix = format!(
        "write a whole number from {} to {}",
        range.start(),
        range.end()
    );
    let DeValue::Integer(written) = value else {
        return Err(Wrong::new(found(value), fix));
    };
    let number = integer(written).and_then(|n| u32::try_from(n).ok());
    let number = number.filter(|n| range.contains(n));
    number.ok_or_else(|| Wrong::new(format!("{written} is out of range"), fix))
}

/// A whole number up to `max`; 0 is `None`.
pub(crate) fn number_unless_zero(
    value: &DeValue<'_>,
    max: u32,
) -> Result<Option<NonZero<u32>>, Wrong> {
    number(value, 0..=max).map(NonZero::new)
}

/// A size in bytes within `range`.
pub(crate) fn size(value: &DeValue<'_>, range: RangeInclusive<usize>) -> Result<usize, Wrong> {
    let [from, to] = [range.start(), range.end()].map(|bytes| units::show_size(*bytes));
    let fix = format!("write a size from {from} to {to}");
    let (bytes, written) = match value {
        DeValue::Integer(written) => (
            integer(written).and_then(|n| usize::try_from(n).ok()),
            written.to_string(),
        ),
        DeValue::String(written) => (Some(units::size(written)?), format!("{written:?}")),
        other => return Err(Wrong::new(found(other), fix)),
    };
    let bytes = bytes.filter(|bytes| range.contains(bytes));
    bytes.ok_or_else(|| Wrong::new(format!("{written} is out of range"), fix))
}

/// A size in bytes up to `max`, of which 0 is `None`.
pub(crate) fn size_unless_zero(
    value: &DeValue<'_>,
    max: usize,
) -> Result<Option<NonZero<usize>>, Wrong> {
    size(value, 0..=max).map(NonZero::new)
}

/// A duration of which 0 is `None`.
pub(crate) fn duration_unless_zero(value: &DeValue<'_>) -> Result<Option<Duration>, Wrong> {
    Ok(Some(duration(value)?).filter(|duration| !duration.is_zero()))
}

/// A duration that is not 0, since 0 `would` do harm.
pub(crate) fn duration_above_zero(value: &DeValue<'_>, would: &str) -> Result<Duration, Wrong> {
    let duration = duration(value)?;
    if duration.is_zero() {
        let fix = "write a duration above zero, such as \"10s\"";
        return Err(Wrong::new(format!("zero would {would}"), fix));
    }
    Ok(duration)
}

/// One of a few words.
pub(crate) fn choice<T: Copy>(value: &DeValue<'_>, words: &[(&str, T)]) -> Result<T, Wrong> {
    let quoted: Vec<String> = words
        .iter()
        .map(|(word, _)| format!("\"{word}\""))
        .collect();
    let fix = format!("write {}", quoted.join(" or "));
    let written = text(value, &fix)?;
    let found = words.iter().find(|(word, _)| *word == written);
    let unknown = || Wrong::new(format!("{written:?} is not known here"), fix);
    found.map(|(_, meaning)| *meaning).ok_or_else(unknown)
}

/// "found a string" and the like.
pub(crate) fn found(value: &DeValue<'_>) -> String {
    let name = match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    };
    format!("found {name}")
}

fn duration(value: &DeValue<'_>) -> Result<Duration, Wrong> {
    match value {
        DeValue::Integer(written) => {
            let is_plain = written.as_str().bytes().all(|b| b.is_ascii_digit());
            let number = if is_plain { written.as_str() } else { "10" };
            let what = format!("{written} has no unit");
            Err(Wrong::new(what, format!("write \"{number}s\"")))
        }
        other => units::duration(text(other, "write a duration such as \"10s\"")?),
    }
}

fn integer(written: &DeInteger<'_>) -> Option<i64> {
    i64::from_str_radix(written.as_str(), written.radix()).ok()
}
