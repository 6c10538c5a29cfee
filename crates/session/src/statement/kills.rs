//! The KILLs among several statements in one text: those of clients' ids mean nothing to the server.

use std::ops::Range;

use super::dialect::Dialect;
use super::keyword::Keyword;
use super::lexer::Lexer;
use super::target::{Kill, kill_target};
use super::token::Token;

const SEPARATOR: Token<'_> = Token::Mark(b';');

/// Each statement of a text that is one plain KILL: where it stands, and what it names. Nothing of a text that cannot be
/// read with certainty.
#[must_use]
pub fn kills(text: &[u8], dialect: &Dialect) -> Vec<(Range<usize>, Kill)> {
    let mut lexer = Lexer::new(text, dialect);
    let mut found = Vec::new();
    let mut token = lexer.next();
    while token != Token::End {
        let (is_kill, start) = (token.is(Keyword::Kill), lexer.place().start);
        let mut end = start;
        while token != Token::End && token != SEPARATOR {
            end = lexer.place().end;
            token = lexer.next();
        }
        let kill = text.get(start..end).filter(|_| is_kill);
        let kill = kill.and_then(|kill| kill_target(kill, dialect));
        found.extend(kill.map(|kill| (start..end, kill)));
        if token == SEPARATOR {
            token = lexer.next();
        }
    }
    if lexer.in_doubt() {
        found.clear();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::{Flavor, Named};

    #[test]
    fn kills_are_found_among_others() {
        for (text, expected) in [
            ("KILL 5; SELECT 1", &[("KILL 5", 5, false)][..]),
            (
                "select ';'; kill query 7 ; /* ; */ KILL HARD CONNECTION 8;",
                &[
                    ("kill query 7", 7, true),
                    ("KILL HARD CONNECTION 8", 8, false),
                ],
            ),
            ("SELECT 1; SET @kill = 5; SHOW TABLES", &[]),
            ("KILL (5); KILL 1 + 1; KILL", &[]),
            ("KILL 5; SELECT 'open", &[]),
            ("", &[]),
            (";;KILL 6", &[("KILL 6", 6, false)]),
        ] {
            let found = kills(text.as_bytes(), &Dialect::new(Flavor::MySql, 90_700));
            let found: Vec<_> = found
                .into_iter()
                .map(|(place, kill)| {
                    let Named::Id(id) = kill.named else {
                        panic!("{text}");
                    };
                    (&text[place], id, kill.query)
                })
                .collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
