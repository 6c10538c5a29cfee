//! Which global variables a SET changes. Owns nothing else of SET.

use super::dialect::{Dialect, Flavor};
use super::identifier;
use super::keyword::Keyword;
use super::reader::Reader;
use super::token::Token;
use super::variables::{self, Scope};

/// The names, in lower case, of the global variables that the SET statements of a text set, as far as it can be read.
#[must_use]
pub fn sets_globals(text: &[u8], dialect: &Dialect) -> Vec<Vec<u8>> {
    let mut reader = Reader::new(text, dialect);
    let mut names = Vec::new();
    loop {
        let mut scope = Scope::Unscoped;
        let mut sets = reader.accept(Keyword::Set);
        while sets {
            let known = assignment(&mut reader, &mut scope, &mut names);
            sets = known.is_some() && skip_value(&mut reader);
        }
        reader.skip_statement();
        if !reader.resume() {
            return names;
        }
    }
}

/// The left side of an assignment. The keyword before a name counts for the names behind it, too, as long as there is no
/// other ("SET Syntax for Variable Assignment" in the MySQL manual).
fn assignment(reader: &mut Reader<'_>, last: &mut Scope, names: &mut Vec<Vec<u8>>) -> Option<()> {
    let scope = Scope::of(reader.peek_keyword());
    if let Some(scope) = scope {
        reader.next();
        *last = scope;
    }
    let (scope, name) = match reader.next() {
        Token::SystemVariable => variables::name(reader)?,
        token if token.is(Keyword::Transaction) && scope == Some(Scope::Global) => {
            let of_transaction: [&[u8]; 2] = match reader.dialect().flavor {
                Flavor::MySql => [b"transaction_isolation", b"transaction_read_only"],
                Flavor::MariaDb => [b"tx_isolation", b"tx_read_only"],
            };
            names.extend(of_transaction.map(<[u8]>::to_vec));
            return Some(());
        }
        token => (*last, identifier::plain(token.identifier()?)?),
    };
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    // Of what has parts, there is nothing of a session.
    let counts = scope == Scope::Global && name.iter().all(plain) && !reader.peek_mark(b'.');
    names.extend(counts.then(|| name.to_ascii_lowercase()));
    Some(())
}

/// Reads on to behind the comma before the next assignment; `false` if there is none.
fn skip_value(reader: &mut Reader<'_>) -> bool {
    let mut nesting = 0_u32;
    while !reader.at_end() {
        match reader.next() {
            Token::Mark(b'(') => nesting += 1,
            Token::Mark(b')') => nesting = nesting.saturating_sub(1),
            Token::Mark(b',') if nesting == 0 => return true,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_globals() {
        for (text, expected) in [
            ("SET GLOBAL Sql_Mode = ''", "sql_mode"),
            (
                "SET @@global.a := f(1, 2), SESSION b = 2, @@persist.c = 1, d = @@global.e",
                "a c",
            ),
            (
                "SET GLOBAL TRANSACTION READ ONLY",
                "tx_isolation tx_read_only",
            ),
            ("SET PERSIST `a` = (SELECT 1), GLOBAL b = 'x;,'", "a b"),
            ("SET GLOBAL a = 1, b = 2, SESSION c = 3, d = 4", "a b"),
            ("SET @@global.a = 1, b = 2", "a"),
            ("SET a = 1", ""),
            ("SET GLOBAL one.key_buffer_size = 1", ""),
            ("SET TRANSACTION READ ONLY", ""),
            ("SELECT @@global.a", ""),
            (
                "DO 1; SET GLOBAL a = 1, b = ';';; SET c = 1; SET @@global.d = 2;",
                "a b d",
            ),
            ("SET GLOBAL", ""),
        ] {
            let dialect = Dialect::new(Flavor::MariaDb, 101_119);
            let found = sets_globals(text.as_bytes(), &dialect).join(&b' ');
            assert_eq!(String::from_utf8_lossy(&found), expected, "{text}");
        }
    }
}
