//! Figures as both the terminal and the report show them.

/// Milliseconds, with as many digits as people compare.
pub(crate) fn ms(value: f64) -> String {
    match value {
        v if v >= 100.0 => page::grouped(v),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

/// A rate.
pub(crate) fn per_s(value: f64) -> String {
    page::grouped(value)
}

/// Bytes, in the unit that leaves few digits.
pub(crate) fn bytes(value: f64) -> String {
    let (value, unit) = match value {
        v if v >= f64::from(1 << 30) => (v / f64::from(1 << 30), "GiB"),
        v if v >= f64::from(1 << 20) => (v / f64::from(1 << 20), "MiB"),
        v if v >= 10_240.0 => (v / 1_024.0, "KiB"),
        v => return format!("{} B", page::grouped(v)),
    };
    let digits = if value < 10.0 { 2 } else { 1 };
    format!("{value:.digits$} {unit}")
}

/// A part of a whole.
pub(crate) fn percent(value: f64) -> String {
    format!("{:.1} %", value * 100.0)
}

/// Microseconds of CPU.
pub(crate) fn us(value: f64) -> String {
    format!("{value:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_the_digits_that_matter() {
        assert_eq!([0.456, 12.34, 3_405.4].map(ms), ["0.46", "12.3", "3,405"]);
        assert_eq!([0.5164, 1.0].map(percent), ["51.6 %", "100.0 %"]);
        let texts = [561.0, 89_000.0, 34.0 * 1_048_576.0, 3e9].map(bytes);
        assert_eq!(texts, ["561 B", "86.9 KiB", "34.0 MiB", "2.79 GiB"]);
        assert_eq!(
            (per_s(33_367.48).as_str(), us(13.66).as_str()),
            ("33,367", "13.7")
        );
    }
}
