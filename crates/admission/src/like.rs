//! Patterns with `%` and `_`, as in host parts and grants on schemas. Owns the matching of one text;
//! what is more specific is the matter of `pattern`.

/// Whether `text` matches `pattern`: `%` stands for any characters, `_` for one, and a backslash
/// takes the meaning from the next.
pub(crate) fn is_like(text: &str, pattern: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    let pattern = Piece::all(pattern);
    let (mut at, mut piece) = (0, 0);
    // Where to go on if what follows the last `%` does not fit.
    let mut retry = None;
    loop {
        match pattern.get(piece) {
            Some(Piece::Any) => {
                retry = Some((at, piece + 1));
                piece += 1;
                continue;
            }
            Some(Piece::One) if at < text.len() => {
                (at, piece) = (at + 1, piece + 1);
                continue;
            }
            Some(Piece::Character(c)) if text.get(at) == Some(c) => {
                (at, piece) = (at + 1, piece + 1);
                continue;
            }
            None if at == text.len() => return true,
            _ => {}
        }
        match retry {
            Some((from, after)) if from < text.len() => {
                retry = Some((from + 1, after));
                (at, piece) = (from + 1, after);
            }
            _ => return false,
        }
    }
}

/// How many characters stand before the first wildcard; `None` if there is no wildcard.
pub(crate) fn literal_prefix(pattern: &str) -> Option<usize> {
    let is_wild = |piece: &Piece| !matches!(piece, Piece::Character(_));
    Piece::all(pattern).iter().position(is_wild)
}

enum Piece {
    Any,
    One,
    Character(char),
}

impl Piece {
    fn all(pattern: &str) -> Vec<Self> {
        let mut pieces = Vec::with_capacity(pattern.len());
        let mut characters = pattern.chars();
        while let Some(c) = characters.next() {
            pieces.push(match c {
                '%' => Self::Any,
                '_' => Self::One,
                '\\' => Self::Character(characters.next().unwrap_or('\\')),
                c => Self::Character(c),
            });
        }
        pieces
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn wildcards_match_as_the_server_matches_them() {
        for (text, pattern, expected) in [
            ("10.1.2.3", "10.%", true),
            ("11.1.2.3", "10.%", false),
            ("10.", "10.%", true),
            ("db7.example", "db_.example", true),
            ("db77.example", "db_.example", false),
            ("db.example", "db_.example", false),
            ("a.b.example", "%.example", true),
            ("", "%", true),
            ("", "_", false),
            ("shop_1", "shop\\_1", true),
            ("shopX1", "shop\\_1", false),
            ("a%", "a\\%", true),
            ("mississippi", "%iss%ip%", true),
            ("mississippi", "%iss%ipx", false),
            ("ü", "_", true),
        ] {
            assert_eq!(is_like(text, pattern), expected, "{text} like {pattern}");
        }
    }

    #[test]
    fn the_literal_prefix_ends_at_the_first_wildcard() {
        assert_eq!(literal_prefix("10.1.%"), Some(5));
        assert_eq!(literal_prefix("a\\_b%"), Some(3));
        assert_eq!(literal_prefix("localhost"), None);
    }
}
