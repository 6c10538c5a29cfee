//! PREPARE, EXECUTE and DEALLOCATE of texts. Owns their forms; what is prepared where is the caller's to know.

use super::dialect::Dialect;
use super::identifier;
use super::keyword::Keyword;
use super::lexer::Lexer;
use super::quotas::value;
use super::token::Token;
use super::user_variables;

/// A text that is about a prepared text. Names are in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextPrepared {
    /// `PREPARE name FROM …`
    Prepare(Box<[u8]>, Source),
    /// `EXECUTE name …`
    Execute(Box<[u8]>),
    /// `DEALLOCATE PREPARE name`
    Deallocate(Box<[u8]>),
}

/// Where the text to be prepared comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A literal, which stands for this.
    Text(Vec<u8>),
    /// The user variable of this name.
    Variable(Box<[u8]>),
}

/// What a text of one statement is that is about a prepared text. `None` for others, and for those whose
/// names or sources cannot be told with certainty.
#[must_use]
pub fn text_prepared(text: &[u8], dialect: &Dialect) -> Option<TextPrepared> {
    let mut lexer = Lexer::new(text, dialect);
    let verb = lexer.next().keyword();
    let found = match verb {
        Keyword::Prepare => {
            let name = name(lexer.next())?;
            let from = lexer.next();
            matches!(from, Token::Word(word) if word.text.eq_ignore_ascii_case(b"from"))
                .then_some(())?;
            TextPrepared::Prepare(name, source(&mut lexer, text)?)
        }
        Keyword::Execute => match lexer.next() {
            token if token.is(Keyword::Immediate) => return None,
            token => TextPrepared::Execute(name(token)?),
        },
        Keyword::Deallocate | Keyword::Drop => {
            lexer.next().is(Keyword::Prepare).then_some(())?;
            TextPrepared::Deallocate(name(lexer.next())?)
        }
        _ => return None,
    };
    let rest = matches!(found, TextPrepared::Execute(_));
    ends(&mut lexer, rest).then_some(found)
}

/// Names of characters beyond ASCII depend on a collation, and so does a space at the end.
fn name(token: Token<'_>) -> Option<Box<[u8]>> {
    let name = identifier::plain(token.identifier()?)?;
    let plain = |byte: &u8| *byte == b' ' || byte.is_ascii_graphic() && *byte != b'`';
    let is_plain =
        (1..=64).contains(&name.len()) && name.iter().all(plain) && name.last() != Some(&b' ');
    is_plain.then(|| name.to_ascii_lowercase().into())
}

fn source(lexer: &mut Lexer<'_>, text: &[u8]) -> Option<Source> {
    match lexer.next() {
        Token::Text => {
            let written = text.get(lexer.place())?;
            let text = value(written, lexer.dialect());
            // What is beyond ASCII depends on character sets, and a backslash may be left of an escape.
            let plain = |byte: &u8| byte.is_ascii() && *byte != 0 && *byte != b'\\';
            let certain = !written.contains(&b'\\') && text.iter().all(plain);
            certain.then_some(Source::Text(text))
        }
        Token::UserVariable(written) => {
            let name = user_variables::name(written)?.to_ascii_lowercase();
            Some(Source::Variable(name.into()))
        }
        _ => None,
    }
}

/// True if the statement is over, after what USING lists if there may be a `rest`, and nothing follows.
fn ends(lexer: &mut Lexer<'_>, rest: bool) -> bool {
    loop {
        match lexer.next() {
            Token::End => return !lexer.in_doubt(),
            Token::Mark(b';') => {
                let blank = |byte: &u8| byte.is_ascii_whitespace() || *byte == b';';
                return lexer.rest().iter().all(blank);
            }
            _ if rest => {}
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::Flavor;

    fn read(text: &str) -> Option<TextPrepared> {
        text_prepared(text.as_bytes(), &Dialect::new(Flavor::MariaDb, 101_119))
    }

    #[test]
    fn forms() {
        let name = |name: &str| name.as_bytes().into();
        let text = |text: &str| Source::Text(text.as_bytes().to_vec());
        for (statement, expected) in [
            (
                "PREPARE P FROM 'SELECT ''a'''",
                TextPrepared::Prepare(name("p"), text("SELECT 'a'")),
            ),
            (
                "prepare `p_1` from @Sql; ",
                TextPrepared::Prepare(name("p_1"), Source::Variable(name("sql"))),
            ),
            ("EXECUTE p", TextPrepared::Execute(name("p"))),
            ("EXECUTE `R s;'`", TextPrepared::Execute(name("r s;'"))),
            ("EXECUTE p USING @a, @b", TextPrepared::Execute(name("p"))),
            ("DEALLOCATE PREPARE p", TextPrepared::Deallocate(name("p"))),
            (
                "DROP PREPARE /* x */ p",
                TextPrepared::Deallocate(name("p")),
            ),
        ] {
            assert_eq!(read(statement), Some(expected), "{statement}");
        }
        for statement in [
            "SELECT 1",
            "DROP TABLE p",
            "EXECUTE IMMEDIATE 'SELECT 1'",
            "EXECUTE IMMEDIATE @a",
            "PREPARE p FROM CONCAT('a', 'b')",
            "PREPARE p FROM 'a\\'b'",
            "PREPARE p FROM 'ä'",
            "PREPARE ä FROM 'SELECT 1'",
            "PREPARE `p ` FROM 'SELECT 1'",
            "PREPARE `a``b` FROM 'SELECT 1'",
            "EXECUTE p; SELECT 1",
        ] {
            assert_eq!(read(statement), None, "{statement}");
        }
    }
}
