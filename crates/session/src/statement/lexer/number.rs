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
        if self.skip_exponent() {
            return Token::Number(self.slice(start));
        }
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
        if !self.skip_exponent() && matches!(self.peek(0), Some(b'e' | b'E')) {
            return self.give_up();
        }
        Token::Number(self.slice(start))
    }

    /// Steps over an exponent, if there is one; a number ends there, whatever follows.
    fn skip_exponent(&mut self) -> bool {
        let sign = usize::from(matches!(self.peek(1), Some(b'+' | b'-')));
        let found = matches!(self.peek(0), Some(b'e' | b'E'))
            && self
                .peek(1 + sign)
                .is_some_and(|byte| byte.is_ascii_digit());
        if found {
            self.at += 1 + sign;
            self.skip_digits();
        }
        found
    }

    fn skip_digits(&mut self) {
        while self.peek(0).is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
    }
}
