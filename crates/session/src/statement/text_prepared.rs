//! PREPARE, EXECUTE and DEALLOCATE of texts. Owns their forms; what is prepared where is the caller's to know.

use super::dialect::Dialect;
use super::identifier::{self, value};
use super::keyword::Keyword;
use super::reader::Reader;
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
    let mut reader = Reader::new(text, dialect);
    let found = match reader.next().keyword() {
        Keyword::Prepare => {
            let name = name(&mut reader)?;
            reader.accept(Keyword::From).then_some(())?;
            TextPrepared::Prepare(name, source(&mut reader)?)
        }
        Keyword::Execute if reader.peek_keyword() != Keyword::Immediate => {
            let name = name(&mut reader)?;
            // What USING lists.
            reader.skip_statement();
            TextPrepared::Execute(name)
        }
        Keyword::Deallocate | Keyword::Drop if reader.accept(Keyword::Prepare) => {
            TextPrepared::Deallocate(name(&mut reader)?)
        }
        _ => return None,
    };
    reader.is_done().then_some(found)
}

/// Names of characters beyond ASCII depend on a collation, and so does a space at the end.
fn name(reader: &mut Reader<'_>) -> Option<Box<[u8]>> {
    let name = identifier::plain(reader.next().identifier()?)?;
    let plain = |byte: &u8| *byte == b' ' || byte.is_ascii_graphic() && *byte != b'`';
    let is_plain =
        (1..=64).contains(&name.len()) && name.iter().all(plain) && name.last() != Some(&b' ');
    is_plain.then(|| name.to_ascii_lowercase().into())
}

fn source(reader: &mut Reader<'_>) -> Option<Source> {
    let written = reader.written();
    match reader.next() {
        Token::Text => {
            let text = value(written, reader.dialect());
            // What is beyond ASCII depends on character sets, and a backslash may be left of an escape.
            let plain = |byte: &u8| byte.is_ascii() && *byte != 0;
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
