//! How numbers are written for people.

/// `100,000`.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `5.6 GiB`: one decimal below ten, none above.
pub(crate) fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let (mut value, mut unit) = (bytes as f64, 0);
    while value >= 1_024.0 && unit + 1 < UNITS.len() {
        value /= 1_024.0;
        unit += 1;
    }
    if unit == 0 || value >= 10.0 {
        format!("{value:.0} {}", UNITS[unit])
    } else {
        format!("{value:.1} {}", UNITS[unit])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_parted() {
        let written = [0, 999, 1_000, 28_232, 1_000_000].map(count);
        assert_eq!(written, ["0", "999", "1,000", "28,232", "1,000,000"]);
    }

    #[test]
    fn bytes_have_a_fitting_unit() {
        let written = [0, 1_023, 1_536, 20 << 20, 5_600 << 20].map(bytes);
        assert_eq!(written, ["0 B", "1023 B", "1.5 KiB", "20 MiB", "5.5 GiB"]);
    }
}
