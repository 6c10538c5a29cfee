//! The lexer's output. Owns no text: every token is a slice of the statement.

use super::keyword::Keyword;

/// One lexical element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// An unquoted word that may be a keyword.
    Word(Word<'a>),
    /// An identifier that cannot be a keyword: quoted (quotes included) or right after a point.
    Name(&'a [u8]),
    /// A string literal.
    Text,
    /// A number that does not begin like an identifier ends.
    Number(&'a [u8]),
    /// `@x`, also with a quoted name: as written.
    UserVariable(&'a [u8]),
    /// `@@`; the name follows as a word or name.
    SystemVariable,
    /// `:=`.
    Assign,
    /// Any other single byte.
    Mark(u8),
    /// A semicolon or the end of the text.
    End,
}

/// An unquoted word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Word<'a> {
    /// As written.
    pub(super) text: &'a [u8],
    /// What it is if it is a keyword.
    pub(super) keyword: Keyword,
    /// The next byte is an opening parenthesis.
    pub(super) tight: bool,
}

impl<'a> Token<'a> {
    /// The keyword this token is, if any.
    pub(super) const fn keyword(self) -> Keyword {
        match self {
            Self::Word(word) => word.keyword,
            _ => Keyword::Other,
        }
    }

    /// The text of a word or name, quotes included.
    pub(super) const fn identifier(self) -> Option<&'a [u8]> {
        match self {
            Self::Word(word) => Some(word.text),
            Self::Name(text) => Some(text),
            _ => None,
        }
    }

    /// Whether this is the end. Unlike a comparison this does not look at texts.
    pub(super) const fn is_end(self) -> bool {
        matches!(self, Self::End)
    }

    /// Whether this is the byte `mark`.
    pub(super) const fn is_mark(self, mark: u8) -> bool {
        matches!(self, Self::Mark(found) if found == mark)
    }

    /// Whether this is the keyword `keyword`.
    pub(super) fn is(self, keyword: Keyword) -> bool {
        matches!(self, Self::Word(word) if word.keyword == keyword)
    }

    /// Whether this is an unquoted `word`, in any case.
    pub(super) const fn is_word(self, word: &str) -> bool {
        matches!(self, Self::Word(found) if found.text.eq_ignore_ascii_case(word.as_bytes()))
    }

    /// Whether this is an unquoted word that is among `words`, which spaces separate.
    pub(super) fn is_among(self, words: &str) -> bool {
        matches!(self, Self::Word(found) if is_among(found.text, words))
    }
}

/// Whether `word` is among `words`, which spaces separate, in any case.
pub(crate) fn is_among(word: &[u8], words: &str) -> bool {
    let mut words = words.as_bytes().split(|&byte| byte == b' ');
    words.any(|known| known.eq_ignore_ascii_case(word))
}
