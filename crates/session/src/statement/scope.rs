//! Writes out the scope of system variables that are assigned as `@@x`: MariaDB's session tracker tells
//! only of those that are written with one. Owns the places; which variables those are is `set`'s to say.

use super::dialect::Dialect;
use super::lexer::Lexer;
use super::token::Token;
use super::user_variables::Place;

const SESSION: &[u8] = b"session.";

/// The text with `@@session.x` in place of each `@@x` that a SET assigns. `None` if there is none, or the
/// text cannot be read with certainty.
#[must_use]
pub fn scoped(text: &[u8], dialect: &Dialect) -> Option<Vec<u8>> {
    let mut lexer = Lexer::new(text, dialect);
    let (mut place, mut out, mut copied) = (Place::default(), Vec::new(), 0);
    let mut token = lexer.next();
    while token != Token::End {
        let end = lexer.place().end;
        if token == Token::SystemVariable && place.assigns() && is_bare(&mut lexer.clone()) {
            out.extend_from_slice(text.get(copied..end)?);
            out.extend_from_slice(SESSION);
            copied = end;
        }
        place.pass(token);
        token = lexer.next();
    }
    if lexer.in_doubt() || copied == 0 {
        return None;
    }
    out.extend_from_slice(text.get(copied..)?);
    Some(out)
}

/// True if a name without a scope comes next.
fn is_bare(lexer: &mut Lexer<'_>) -> bool {
    lexer.next().identifier().is_some() && lexer.next() != Token::Mark(b'.')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::Flavor;

    #[test]
    fn only_what_is_assigned_without_a_scope_changes() {
        for (text, expected) in [
            ("SET @@sql_mode = ''", Some("SET @@session.sql_mode = ''")),
            (
                "SET @x = @@a, @@b=@@c, @@global.d=1, @@`e`:=2",
                Some("SET @x = @@a, @@session.b=@@c, @@global.d=1, @@session.`e`:=2"),
            ),
            ("SET @@session.a = 1", None),
            ("SELECT @@a", None),
            (
                "SELECT 1; SET @@a=IF(1,@@b,2)",
                Some("SELECT 1; SET @@session.a=IF(1,@@b,2)"),
            ),
            ("SET @@a = 'open", None),
        ] {
            let dialect = Dialect::new(Flavor::MariaDb, 101_119);
            let scoped = scoped(text.as_bytes(), &dialect);
            assert_eq!(scoped.as_deref(), expected.map(str::as_bytes), "{text}");
        }
    }
}
