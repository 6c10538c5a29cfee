//! Which variables of the session a SET replaces without reading any. Owns nothing else of SET.

use super::dialect::Dialect;
use super::identifier;
use super::keyword::Keyword;
use super::reader::Reader;
use super::token::Token;
use super::variables::{self, Scope};

/// The names of the session's variables, in lower case, that a text sets which is one SET of values that are written
/// out. Nothing for all other texts.
#[must_use]
pub fn replaces(text: &[u8], dialect: &Dialect) -> Vec<Vec<u8>> {
    let mut reader = Reader::new(text, dialect);
    let mut names = Vec::new();
    let whole = reader.accept(Keyword::Set) && list(&mut reader, &mut names).is_some();
    match whole && reader.ends_text() && !reader.in_doubt() {
        true => names,
        false => Vec::new(),
    }
}

fn list(reader: &mut Reader<'_>, names: &mut Vec<Vec<u8>>) -> Option<()> {
    loop {
        let scope = Scope::of(reader.peek_keyword());
        if scope.is_some() {
            reader.next();
        }
        let (scope, name) = match reader.next() {
            Token::SystemVariable => variables::name(reader)?,
            token => (
                scope.unwrap_or(Scope::Unscoped),
                identifier::plain(token.identifier()?)?,
            ),
        };
        names.extend((scope != Scope::Global).then(|| name.to_ascii_lowercase()));
        let sign = reader.next();
        (sign == Token::Mark(b'=') || sign == Token::Assign).then_some(())?;
        if !reader.accept_mark(b'-') {
            reader.accept_mark(b'+');
        }
        // A word is a value by itself: a variable would begin with `@@`.
        matches!(
            reader.next(),
            Token::Word(_) | Token::Text | Token::Number(_)
        )
        .then_some(())?;
        if !reader.accept_mark(b',') {
            return Some(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::Flavor;

    #[test]
    fn what_is_written_out_replaces() {
        for (text, expected) in [
            ("SET sql_log_bin = 0", "sql_log_bin"),
            ("set session SQL_LOG_BIN := default;", "sql_log_bin"),
            ("SET @@local.a = -1, @@b = 'x', c = ON", "a b c"),
            ("SET GLOBAL a = 1, @@global.b = 2, LOCAL c = +3", "c"),
            ("SET a = @@a", ""),
            ("SET a = 1, b = @@a", ""),
            ("SET a = 1 + @@a", ""),
            ("SET a = f(1)", ""),
            ("SET @a = 1", ""),
            ("SET a = 1; SELECT @@a", ""),
            ("SET NAMES latin1", ""),
            ("SET STATEMENT a = 1 FOR SELECT @@a", ""),
            ("SELECT 1", ""),
        ] {
            let dialect = Dialect::new(Flavor::MariaDb, 101_119);
            let found = replaces(text.as_bytes(), &dialect).join(&b' ');
            assert_eq!(String::from_utf8_lossy(&found), expected, "{text}");
        }
    }
}
