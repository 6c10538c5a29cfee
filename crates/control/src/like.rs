//! Patterns as LIKE has them: `%` stands for any text, `_` for one character, a backslash takes their
//! meaning from them. Upper and lower case are the same.

/// Whether `text` is like `pattern`. Takes at most as many steps as the one has characters times the
/// other.
pub(crate) fn like(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut p, mut t) = (0, 0);
    // Where to go on if what follows the last `%` does not fit: one character further.
    let mut resume = None;
    while t < text.len() {
        match step(&pattern[p..], text[t]) {
            Step::Any => {
                resume = Some((p + 1, t));
                p += 1;
                continue;
            }
            Step::Takes(count) => {
                p += count;
                t += 1;
                continue;
            }
            Step::Misses => {}
        }
        let Some((after, from)) = resume else {
            return false;
        };
        resume = Some((after, from + 1));
        (p, t) = (after, from + 1);
    }
    pattern[p..].iter().all(|&c| c == '%')
}

enum Step {
    /// `%`.
    Any,
    /// It fits, with so many characters of the pattern.
    Takes(usize),
    Misses,
}

fn step(pattern: &[char], c: char) -> Step {
    match *pattern {
        ['%', ..] => Step::Any,
        ['_', ..] => Step::Takes(1),
        ['\\', literal, ..] if same(literal, c) => Step::Takes(2),
        ['\\', _, ..] => Step::Misses,
        [literal, ..] if same(literal, c) => Step::Takes(1),
        _ => Step::Misses,
    }
}

fn same(a: char, b: char) -> bool {
    a == b || a.to_lowercase().eq(b.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_as_in_the_server() {
        for (pattern, text, expected) in [
            ("", "", true),
            ("", "a", false),
            ("%", "", true),
            ("a", "A", true),
            ("a_c", "abc", true),
            ("a_c", "ac", false),
            ("a%c", "axxcxc", true),
            ("a%c", "axxcxd", false),
            ("%log%", "client_logins", true),
            (r"client\_%", "client_x", true),
            (r"client\_%", "clientsx", false),
            (r"100\%", "100%", true),
            ("%%%a", "bba", true),
            ("%a%b%c", "a1b2b3c", true),
        ] {
            assert_eq!(like(pattern, text), expected, "{pattern} {text}");
        }
    }
}
