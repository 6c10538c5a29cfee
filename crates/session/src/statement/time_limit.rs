//! How long a statement may take by its own words. Owns no clock; a limit that cannot be read is none.

/// The limit that a text names, in ms: `SELECT /*+ MAX_EXECUTION_TIME(ms) */` as MySQL has it, or
/// `SET STATEMENT max_statement_time=seconds FOR` as MariaDB has it.
#[must_use]
pub fn time_limit(text: &[u8]) -> Option<u64> {
    let text = text.trim_ascii_start();
    let (first, rest) = text.split_at_checked(text.iter().position(|byte| !is_word(*byte))?)?;
    let rest = rest.trim_ascii_start();
    if first.eq_ignore_ascii_case(b"select") {
        let hint = rest.strip_prefix(b"/*+")?;
        let end = hint.windows(2).position(|pair| pair == b"*/")?;
        return milliseconds(after(&hint[..end], b"max_execution_time", b'(')?);
    }
    if !first.eq_ignore_ascii_case(b"set") || !rest.get(..9)?.eq_ignore_ascii_case(b"statement") {
        return None;
    }
    seconds(after(rest, b"max_statement_time", b'=')?)
}

/// A number of seconds, perhaps with a fraction, in ms; `None` for 0, which is no limit.
#[must_use]
pub fn seconds(written: &[u8]) -> Option<u64> {
    let digits = |byte: &&u8| byte.is_ascii_digit() || **byte == b'.';
    let length = written.iter().take_while(digits).count();
    let seconds: f64 = std::str::from_utf8(&written[..length]).ok()?.parse().ok()?;
    let ms = (seconds * 1_000.0).ceil();
    (ms >= 1.0 && ms < u64::MAX as f64).then_some(ms as u64)
}

/// A number of ms; `None` for 0, which is no limit.
#[must_use]
pub fn milliseconds(written: &[u8]) -> Option<u64> {
    let length = written
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let ms = std::str::from_utf8(&written[..length]).ok()?.parse().ok()?;
    (ms > 0).then_some(ms)
}

/// What follows a name and a mark.
fn after<'a>(text: &'a [u8], name: &[u8], mark: u8) -> Option<&'a [u8]> {
    let is_name = |part: &[u8]| part.eq_ignore_ascii_case(name);
    let at = text.windows(name.len()).position(is_name)?;
    let rest = text[at + name.len()..].trim_ascii_start();
    let (first, rest) = rest.split_first()?;
    (*first == mark).then(|| rest.trim_ascii_start())
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_where_the_servers_have_them() {
        for (text, expected) in [
            ("SELECT /*+ MAX_EXECUTION_TIME(1500) */ 1", Some(1_500)),
            ("select/*+ bka(t) max_execution_time ( 20 ) */ 1", Some(20)),
            ("SELECT /*+ MAX_EXECUTION_TIME(0) */ 1", None),
            ("SELECT /* MAX_EXECUTION_TIME(1500) */ 1", None),
            ("SELECT 1 /*+ MAX_EXECUTION_TIME(1500) */", None),
            (
                "INSERT /*+ MAX_EXECUTION_TIME(1500) */ INTO t VALUES (1)",
                None,
            ),
            (
                "SET STATEMENT max_statement_time=1.5 FOR SELECT 1",
                Some(1_500),
            ),
            (
                "set statement sort_buffer_size=1, max_statement_time = 2 for select 1",
                Some(2_000),
            ),
            ("SET STATEMENT max_statement_time=0 FOR SELECT 1", None),
            ("SET max_statement_time=2", None),
            ("SELECT", None),
            ("", None),
        ] {
            assert_eq!(time_limit(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn values_of_variables_are_numbers() {
        assert_eq!(seconds(b"2.500000"), Some(2_500));
        assert_eq!(seconds(b"0.000000"), None);
        assert_eq!(milliseconds(b"700"), Some(700));
        assert_eq!(milliseconds(b"DEFAULT"), None);
    }
}
