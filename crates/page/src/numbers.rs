//! Numbers as people write them.

/// A value in a few characters: 12k, 3.4, 0.05.
pub fn number(value: f64) -> String {
    let (value, unit) = match value {
        v if v >= 1e6 => (v / 1e6, "M"),
        v if v >= 1e4 => (v / 1e3, "k"),
        v => (v, ""),
    };
    let digits = match value {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        _ => 2,
    };
    let text = format!("{value:.digits$}");
    let text = if digits > 0 {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        &text
    };
    format!("{text}{unit}")
}

/// A whole number with commas.
pub fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
