//! What of a statement that defines something the server keeps, to evaluate it again later. Owns where that
//! begins and ends; what is done about it is the caller's.

use super::keyword::Keyword;
use super::lexer::Lexer;
use super::program;
use super::token::Token;

/// How much of a statement is kept.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kept {
    /// It runs once.
    Nothing,
    /// Defaults, generated columns and checks of a table. What it is filled from runs once.
    UntilSelect,
    /// A view.
    Statement,
    /// A stored program, whose semicolons need not end the statement.
    Text,
}

/// What is kept of a statement that begins with `keyword`, followed by what `ahead` has.
pub(super) fn kept(keyword: Keyword, mut ahead: Lexer<'_>) -> Kept {
    if !matches!(keyword, Keyword::Create | Keyword::Alter) {
        return Kept::Nothing;
    }
    loop {
        let token = ahead.next();
        match token.keyword() {
            Keyword::Table => return Kept::UntilSelect,
            Keyword::View => return Kept::Statement,
            keyword if program::is_program(keyword) => return Kept::Text,
            _ if matches!(token, Token::End | Token::Mark(b';')) => return Kept::Nothing,
            _ => {}
        }
    }
}
