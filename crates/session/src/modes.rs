//! What of a `sql_mode` changes how texts are read.

/// The modes that the lexer needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Modes {
    /// `"a"` is an identifier.
    pub ansi_quotes: bool,
    /// Backslashes in strings mean themselves.
    pub no_backslash_escapes: bool,
    /// `COUNT (*)` calls a function.
    pub ignore_space: bool,
}

impl Modes {
    /// Those of a value of `sql_mode`.
    #[must_use]
    pub fn of(sql_mode: &[u8]) -> Self {
        let mut modes = Self::default();
        for part in sql_mode.split(|&byte| byte == b',') {
            match part {
                b"ANSI_QUOTES" => modes.ansi_quotes = true,
                b"NO_BACKSLASH_ESCAPES" => modes.no_backslash_escapes = true,
                b"IGNORE_SPACE" => modes.ignore_space = true,
                _ => {}
            }
        }
        modes
    }
}

/// A `sql_mode` with IGNORE_SPACE, which CLIENT_IGNORE_SPACE adds, at the place where the servers tell it.
#[must_use]
pub fn with_ignore_space(sql_mode: &[u8]) -> Vec<u8> {
    const IGNORE_SPACE: &[u8] = b"IGNORE_SPACE";
    const BEFORE: [&[u8]; 3] = [b"REAL_AS_FLOAT", b"PIPES_AS_CONCAT", b"ANSI_QUOTES"];
    let modes = sql_mode.split(|&byte| byte == b',');
    let mut modes: Vec<_> = modes.filter(|mode| !mode.is_empty()).collect();
    if !modes.contains(&IGNORE_SPACE) {
        let place = modes
            .iter()
            .take_while(|mode| BEFORE.contains(mode))
            .count();
        modes.insert(place, IGNORE_SPACE);
    }
    modes.join(&b","[..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_adds_to_a_mode_what_it_does_not_have() {
        for (mode, expected) in [
            ("", "IGNORE_SPACE"),
            ("STRICT_TRANS_TABLES", "IGNORE_SPACE,STRICT_TRANS_TABLES"),
            (
                "PIPES_AS_CONCAT,ANSI_QUOTES,ANSI",
                "PIPES_AS_CONCAT,ANSI_QUOTES,IGNORE_SPACE,ANSI",
            ),
            ("ANSI_QUOTES,IGNORE_SPACE", "ANSI_QUOTES,IGNORE_SPACE"),
        ] {
            assert_eq!(with_ignore_space(mode.as_bytes()), expected.as_bytes());
        }
    }
}
