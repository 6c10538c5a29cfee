//! Blanks out comments, strings and character literals of Rust, so that braces and words can be
//! counted. Lines stay where they are.

/// The same text with spaces in place of everything that is not code.
pub(crate) fn mask(text: &str) -> String {
    let mut masker = Masker {
        chars: text.chars().collect(),
        at: 0,
        out: String::new(),
    };
    while masker.at < masker.chars.len() {
        masker.step();
    }
    masker.out
}

struct Masker {
    chars: Vec<char>,
    at: usize,
    out: String,
}

impl Masker {
    fn step(&mut self) {
        match self.peek(0) {
            '/' if self.peek(1) == '/' => self.blank_line(),
            '/' if self.peek(1) == '*' => self.blank_block(),
            '"' => self.blank_string('"'),
            '\'' if self.is_character_literal() => self.blank_string('\''),
            'r' if self.raw_hashes().is_some() => self.blank_raw_string(),
            _ => self.keep(),
        }
    }

    /// The character `ahead` places on; a zero character past the end.
    fn peek(&self, ahead: usize) -> char {
        self.chars.get(self.at + ahead).copied().unwrap_or('\0')
    }

    fn keep(&mut self) {
        self.out.push(self.peek(0));
        self.at += 1;
    }

    fn blank(&mut self, count: usize) {
        let end = (self.at + count).min(self.chars.len());
        for c in &self.chars[self.at..end] {
            self.out.push(if *c == '\n' { '\n' } else { ' ' });
        }
        self.at = end;
    }

    fn blank_line(&mut self) {
        let rest = &self.chars[self.at..];
        self.blank(rest.iter().position(|c| *c == '\n').unwrap_or(rest.len()));
    }

    /// Block comments nest.
    fn blank_block(&mut self) {
        let mut depth = 0;
        while self.at < self.chars.len() {
            match (self.peek(0), self.peek(1)) {
                ('/', '*') => {
                    depth += 1;
                    self.blank(2);
                }
                ('*', '/') => {
                    depth -= 1;
                    self.blank(2);
                }
                _ => self.blank(1),
            }
            if depth == 0 {
                return;
            }
        }
    }

    fn blank_string(&mut self, quote: char) {
        self.blank(1);
        while self.at < self.chars.len() {
            let c = self.peek(0);
            self.blank(if c == '\\' { 2 } else { 1 });
            if c == quote {
                return;
            }
        }
    }

    fn blank_raw_string(&mut self) {
        let hashes = self.raw_hashes().unwrap_or(0);
        self.blank(1 + hashes + 1);
        while self.at < self.chars.len() {
            let ends = self.peek(0) == '"' && (1..=hashes).all(|hash| self.peek(hash) == '#');
            self.blank(if ends { 1 + hashes } else { 1 });
            if ends {
                return;
            }
        }
    }

    /// Everything else after a single quote is a lifetime or a label.
    fn is_character_literal(&self) -> bool {
        self.peek(1) == '\\' || self.peek(2) == '\''
    }

    /// How many `#` a raw string that begins here has; `None` if none begins here.
    fn raw_hashes(&self) -> Option<usize> {
        let before = |back| self.at.checked_sub(back).map_or(' ', |at| self.chars[at]);
        let is_prefixed = matches!(before(1), 'b' | 'c') && !is_word(before(2));
        if is_word(before(1)) && !is_prefixed {
            return None;
        }
        let hashes = self.chars[self.at + 1..]
            .iter()
            .take_while(|c| **c == '#')
            .count();
        (self.peek(1 + hashes) == '"').then_some(hashes)
    }
}

/// Whether a character may be part of a name.
pub(crate) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> String {
        mask(text).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn only_code_stays() {
        let cases = [
            ("a // { b\nc", "a c"),
            ("a /* { /* } */ { */ b", "a b"),
            (r#"a "{ \" {" b"#, "a b"),
            (r##"a r#"{ " { \"# b"##, "a b"),
            (r##"a br"{\" b"##, "a b b"),
            ("a '{' b '\\'' c", "a b c"),
            ("fn f<'a>(x: &'a str) {}", "fn f<'a>(x: &'a str) {}"),
            ("r#fn for_r \"{\"", "r#fn for_r"),
            ("a \"unclosed {", "a"),
        ];
        for (text, expected) in cases {
            assert_eq!(code(text), expected, "{text}");
        }
    }

    #[test]
    fn lines_stay_where_they_are() {
        let text = "a\n/* \n */ \"x\\\n\"\nr\"\n\" b\n";
        assert_eq!(mask(text).matches('\n').count(), text.matches('\n').count());
        assert_eq!(mask(text).chars().count(), text.chars().count());
    }
}
