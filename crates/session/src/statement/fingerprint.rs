//! A number for what statements have in common that differ in their values only. Owns the hash; what
//! is known of such statements is kept elsewhere.

use super::token::Token;

const SEED: u64 = 0x9e37_79b9_7f4a_7c15;
const MULTIPLIER: u64 = 0xff51_afd7_ed55_8ccd;

/// The number so far. No secret: whoever chooses both texts can make them collide.
#[derive(Clone, Debug)]
pub(super) struct Fingerprint {
    hash: u64,
    literals: u32,
    /// What came last was a literal, and perhaps a comma behind it.
    list: List,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum List {
    None,
    Literal,
    Comma,
}

impl Fingerprint {
    pub(super) const fn new() -> Self {
        Self {
            hash: SEED,
            literals: 0,
            list: List::None,
        }
    }

    /// Takes the next token in. Lists of literals are the same whatever their length.
    pub(super) fn push(&mut self, token: Token<'_>) {
        match (token, self.list) {
            (Token::Text | Token::Number(_), list) => {
                self.literals += 1;
                self.list = List::Literal;
                if list == List::None {
                    self.mix(1);
                }
                return;
            }
            (Token::Mark(b','), List::Literal) => {
                self.list = List::Comma;
                return;
            }
            (_, List::Comma) => self.mix(u64::from(b',')),
            _ => {}
        }
        self.list = List::None;
        match token {
            Token::Word(word) => self.bytes(word.text, 2),
            Token::Name(name) => self.bytes(name, 3),
            Token::UserVariable(_) => self.mix(4),
            Token::SystemVariable => self.mix(5),
            Token::Assign => self.mix(6),
            Token::Mark(mark) => self.mix(u64::from(mark) << 8),
            Token::Text | Token::Number(_) | Token::End => {}
        }
    }

    /// The number of the statement. How many literals there are counts by its order of magnitude:
    /// a list of thousands takes its time.
    pub(super) fn finish(&self) -> u64 {
        let mut last = self.clone();
        last.mix(u64::from(u32::BITS - self.literals.leading_zeros()));
        last.hash ^ last.hash >> 29
    }

    fn bytes(&mut self, bytes: &[u8], kind: u64) {
        let (words, rest) = bytes.as_chunks();
        for word in words {
            self.mix(u64::from_le_bytes(*word));
        }
        let mut word = [0; 8];
        word[..rest.len()].copy_from_slice(rest);
        self.mix(u64::from_le_bytes(word));
        self.mix(kind << 32 | bytes.len() as u64);
    }

    fn mix(&mut self, value: u64) {
        self.hash = (self.hash.rotate_left(23) ^ value).wrapping_mul(MULTIPLIER);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Dialect, Flavor, classify};

    fn digest(text: &str) -> u64 {
        classify(text.as_bytes(), &Dialect::new(Flavor::MariaDb, 101_119)).digest
    }

    #[test]
    fn values_do_not_count() {
        for (a, b) in [
            (
                "SELECT c FROM t WHERE id=7",
                "SELECT  c FROM t WHERE id = 8 /* x */",
            ),
            (
                "SELECT c FROM t WHERE a='x' AND b=1",
                "SELECT c FROM t WHERE a=1 AND b='y'",
            ),
            (
                "SELECT c FROM t WHERE id IN (1,2)",
                "SELECT c FROM t WHERE id IN (4,5,6)",
            ),
        ] {
            assert_eq!(digest(a), digest(b), "{a} {b}");
        }
    }

    #[test]
    fn everything_else_does() {
        let texts = [
            "SELECT c FROM t WHERE id=7",
            "SELECT c FROM t WHERE id>7",
            "SELECT c FROM u WHERE id=7",
            "SELECT c FROM `t` WHERE id=7",
            "SELECT c,d FROM t WHERE id=7",
            "SELECT 1,d FROM t WHERE id=7",
            "SELECT cd FROM t WHERE id=7",
            "SELECT c FROM t WHERE id=id",
            "SELECT c FROM t WHERE id IN (1)",
            "SELECT c FROM t WHERE id IN (1,2)",
            "SELECT c FROM t WHERE id IN (1,2,3,4,5,6,7,8)",
            "SELECT a_long_name_that_spans_words FROM t",
            "SELECT a_long_name_that_spans_wordz FROM t",
        ];
        for (place, text) in texts.into_iter().enumerate() {
            let same = texts
                .into_iter()
                .position(|other| digest(other) == digest(text));
            assert_eq!(same, Some(place), "{text}");
        }
    }
}
