//! Durations and sizes: how they are written, and how a near miss should have been.

use std::time::Duration;

use crate::error::Wrong;

/// Bytes in 1 KiB.
pub(crate) const KIB: usize = 1 << 10;
/// Bytes in 1 MiB.
pub(crate) const MIB: usize = 1 << 20;
/// Bytes in 1 GiB.
pub(crate) const GIB: usize = 1 << 30;

/// A year: longer than any process should wait, and far from every overflow.
const DURATION_MAX: Duration = Duration::from_secs(365 * 86_400);

const DURATION_FIX: &str = "write a whole number and ms, s, m, h or d, such as \"10s\"";
const SIZE_FIX: &str = "write a whole number and KiB, MiB or GiB, such as \"64KiB\"";

struct Unit {
    name: &'static str,
    /// Milliseconds or bytes.
    factor: u64,
    /// What people write instead, in lower case.
    slips: &'static [&'static str],
}

const DURATION_UNITS: [Unit; 5] = [
    Unit {
        name: "ms",
        factor: 1,
        slips: &["msec", "millis", "millisecond", "milliseconds"],
    },
    Unit {
        name: "s",
        factor: 1_000,
        slips: &["", "s", "sec", "secs", "second", "seconds"],
    },
    Unit {
        name: "m",
        factor: 60_000,
        slips: &["min", "mins", "minute", "minutes"],
    },
    Unit {
        name: "h",
        factor: 3_600_000,
        slips: &["h", "hr", "hrs", "hour", "hours"],
    },
    Unit {
        name: "d",
        factor: 86_400_000,
        slips: &["d", "day", "days"],
    },
];

const SIZE_UNITS: [Unit; 3] = [
    Unit {
        name: "KiB",
        factor: KIB as u64,
        slips: &["k", "kb", "kib"],
    },
    Unit {
        name: "MiB",
        factor: MIB as u64,
        slips: &["m", "mb", "mib"],
    },
    Unit {
        name: "GiB",
        factor: GIB as u64,
        slips: &["g", "gb", "gib"],
    },
];

/// Reads `250ms`, `10s`, `5m`, `8h`, `1d` or `0`, up to a year.
pub(crate) fn duration(written: &str) -> Result<Duration, Wrong> {
    if written == "0" {
        return Ok(Duration::ZERO);
    }
    let not_one = |fix: String| Wrong::new(format!("{written:?} is not a duration"), fix);
    let ms = measure(written, &DURATION_UNITS)
        .map_err(|near| not_one(near.unwrap_or_else(|| DURATION_FIX.to_owned())))?;
    let duration = Duration::from_millis(ms);
    if duration > DURATION_MAX {
        return Err(Wrong::new(
            format!("{written:?} is too long"),
            "write \"365d\" or less",
        ));
    }
    Ok(duration)
}

/// Reads `64KiB`, `16MiB` or `1GiB` as bytes; saturates.
pub(crate) fn size(written: &str) -> Result<usize, Wrong> {
    let not_one = |fix: String| Wrong::new(format!("{written:?} is not a size"), fix);
    if !written.is_empty() && written.bytes().all(|b| b.is_ascii_digit()) {
        return Err(not_one(format!("write {written} without quotes for bytes")));
    }
    let bytes = measure(written, &SIZE_UNITS)
        .map_err(|near| not_one(near.unwrap_or_else(|| SIZE_FIX.to_owned())))?;
    Ok(usize::try_from(bytes).unwrap_or(usize::MAX))
}

/// `bytes` as it would be written, in the largest unit that fits evenly.
pub(crate) fn show_size(bytes: usize) -> String {
    let fits = |unit: &&Unit| bytes != 0 && (bytes as u64).is_multiple_of(unit.factor);
    match SIZE_UNITS.iter().rev().find(fits) {
        Some(unit) => format!("\"{}{}\"", bytes as u64 / unit.factor, unit.name),
        None => bytes.to_string(),
    }
}

/// `duration` as it would be written, in the largest unit that fits evenly.
pub(crate) fn show_duration(duration: Duration) -> String {
    let ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let fits = |unit: &&Unit| ms != 0 && ms.is_multiple_of(unit.factor);
    match DURATION_UNITS.iter().rev().find(fits) {
        Some(unit) => format!("{}{}", ms / unit.factor, unit.name),
        None => "0".to_owned(),
    }
}

/// A number and a unit; otherwise, if it can be guessed, how it should have been written.
fn measure(written: &str, units: &[Unit]) -> Result<u64, Option<String>> {
    let end = written
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(written.len());
    let (digits, rest) = written.split_at(end);
    if digits.is_empty() {
        return Err(None);
    }
    if let Some(unit) = units.iter().find(|unit| unit.name == rest) {
        // Digits that do not fit are a number all the same: too large, which the caller says.
        return Ok(digits
            .parse()
            .unwrap_or(u64::MAX)
            .saturating_mul(unit.factor));
    }
    let slip = rest.trim().to_lowercase();
    let meant = units
        .iter()
        .find(|unit| unit.name == slip || unit.slips.contains(&&*slip));
    Err(meant.map(|unit| format!("write \"{digits}{}\"", unit.name)))
}
