//! The tokens of a statement for those who read a small language of their own with them. Owns taking
//! the quotes off; knows no grammar.

use super::dialect::Dialect;
use super::identifier::value;
use super::reader::Reader;
use super::token::Token;

/// One token; what is no UTF-8 is replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// An unquoted word.
    Word(String),
    /// A quoted identifier, or what stands right behind a point.
    Name(String),
    /// What a string stands for.
    Text(String),
    /// A number, as written.
    Number(String),
    /// `@name`, without the sign.
    UserVariable(String),
    /// `@@`; the name follows.
    SystemVariable,
    /// `:=`.
    Assign,
    /// Any other single byte.
    Mark(u8),
}

/// The tokens of a text of one statement; `None` if it cannot be read with certainty, or holds
/// several statements.
#[must_use]
pub fn pieces(text: &[u8], dialect: &Dialect) -> Option<Vec<Piece>> {
    let mut reader = Reader::new(text, dialect);
    let mut pieces = Vec::new();
    while !reader.at_end() {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let written = reader.written();
        pieces.push(match reader.next() {
            Token::Word(word) => Piece::Word(text(word.text)),
            Token::Name(_) => Piece::Name(text(&value(written, dialect))),
            Token::Text => Piece::Text(text(&value(written, dialect))),
            Token::Number(number) => Piece::Number(text(number)),
            Token::UserVariable(name) => Piece::UserVariable(text(&value(&name[1..], dialect))),
            Token::SystemVariable => Piece::SystemVariable,
            Token::Assign => Piece::Assign,
            Token::Mark(mark) => Piece::Mark(mark),
            Token::End => return None,
        });
    }
    reader.is_done().then_some(pieces)
}

#[cfg(test)]
mod tests {
    use super::super::Flavor;
    use super::*;

    fn read(text: &str) -> Option<String> {
        let shown = |piece: &Piece| match piece {
            Piece::Word(word) => word.clone(),
            Piece::Name(name) => format!("`{name}`"),
            Piece::Text(text) => format!("'{text}'"),
            Piece::Number(number) => format!("#{number}"),
            Piece::UserVariable(name) => format!("@{name}"),
            Piece::SystemVariable => "@@".to_owned(),
            Piece::Assign => ":=".to_owned(),
            Piece::Mark(mark) => char::from(*mark).to_string(),
        };
        let pieces = pieces(text.as_bytes(), &Dialect::new(Flavor::MySql, 80_011))?;
        Some(pieces.iter().map(shown).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn quotes_are_taken_off_and_comments_left_out() {
        for (text, expected) in [
            ("", ""),
            ("SHOW SESSIONS LIKE 'a%' ;; ", "SHOW SESSIONS LIKE 'a%'"),
            (
                "/* x */SELECT @@session.sql_mode AS `a``b`, 1.5 -- y",
                "SELECT @@ session . `sql_mode` AS `a`b` , #1.5",
            ),
            ("SET @x := \"it's\"", "SET @x := 'it's'"),
            ("'a\\'b'@'10.%'", "'a'b' @10.%"),
            ("app@`h`", "app @h"),
        ] {
            assert_eq!(read(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_open_or_several_is_refused() {
        for text in ["SELECT 'open", "SELECT 1; SELECT 2", "SELECT /* open"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
