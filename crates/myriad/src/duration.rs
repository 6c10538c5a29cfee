//! Durations on the command line: a whole number and a unit, as in the configuration.

use std::time::Duration;

/// Reads a duration; zero needs no unit.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let number = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit_ms = match &text[number.len()..] {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "" if number == "0" => 0,
        _ => return Err("write a whole number and ms, s, m or h, such as 10s".to_owned()),
    };
    let number: u32 = number
        .parse()
        .map_err(|_| "write a smaller whole number".to_owned())?;
    Ok(Duration::from_millis(u64::from(number) * unit_ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_unit() {
        assert_eq!(parse("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(parse("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(parse("0"), Ok(Duration::ZERO));
        for bad in ["10", "s", "", "1.5s", "-1s", "10 s", "99999999999s", "10µs"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
