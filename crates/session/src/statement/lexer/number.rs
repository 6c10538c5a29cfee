//! Numbers, and identifiers that begin with a digit.

use super::Lexer;
use crate::statement::token::Token;

impl<'a> Lexer<'a> {
    /// A number, or a word that begins with a digit.
    pub(super) fn number(&mut self) -> Token<'a> {
        let start = self.at;
        if start == self.point && self.peek(0) != Some(b'.') {
            // Right behind a point digits begin an identifier.
            return self.word();
        }
        self.skip_digits();
        if self.peek(0) != Some(b'.') {
            let digits = self.at;
            self.skip_word();
            return match (self.doubt, self.at == digits) {
                (true, _) => Token::End,
                (false, true) => Token::Number(self.slice(start)),
                // An identifier, or a form of number that no parenthesis follows.
                (false, false) => Token::Name(self.slice(start)),
            };
        }
        self.at += 1;
        self.skip_digits();
        if matches!(self.peek(0), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(self.peek(1), Some(b'+' | b'-')));
            if !self
                .peek(1 + sign)
                .is_some_and(|byte| byte.is_ascii_digit())
            {
                return self.give_up();
            }
            self.at += 1 + sign;
            self.skip_digits();
        }
        Token::Number(self.slice(start))
    }

    fn skip_digits(&mut self) {
        while self.peek(0).is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
    }
}
