//! The user variables that a text mentions. Owns which names can be carried from backend to backend,
//! and where in a text one is assigned and not read; the values are the server's to know.

use super::dialect::Dialect;
use super::keyword::Keyword;
use super::lexer::Lexer;
use super::token::Token;

/// Servers take no longer names.
const NAME_MAX: usize = 64;

/// So many different names of one text are listed.
const MENTIONS_MAX: usize = 64;

/// A user variable in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    /// Its name, in lower case and without quotes.
    pub name: Box<[u8]>,
    /// What it was before may matter to the statement.
    pub reads: bool,
    /// Its place in the text is one where it may be assigned. What else a CALL, a LOAD DATA or a routine
    /// assigns is not to be seen in a place.
    pub assigns: bool,
}

/// The name of a variable that is written so; `None` if it is none that can be carried: what is the
/// same name depends on a collation, but for names of ASCII letters and digits.
pub(super) fn name(written: &[u8]) -> Option<&[u8]> {
    carried_name(match written.strip_prefix(b"@")? {
        [open @ (b'\'' | b'"' | b'`'), inner @ .., close] if open == close => inner,
        bare => bare,
    })
}

/// The name, if it is one that can be carried.
#[must_use]
pub fn carried_name(name: &[u8]) -> Option<&[u8]> {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'.');
    ((1..=NAME_MAX).contains(&name.len()) && name.iter().all(plain)).then_some(name)
}

/// The user variables that `text` mentions, each once. `None` if it cannot be read with certainty,
/// or they are too many or have names that cannot be carried.
#[must_use]
pub fn user_variables(text: &[u8], dialect: &Dialect) -> Option<Vec<Mention>> {
    let mut lexer = Lexer::new(text, dialect);
    let mut found = Vec::new();
    let mut place = Place::default();
    let mut token = lexer.next();
    while token != Token::End {
        let next = lexer.next();
        if let Token::UserVariable(written) = token {
            let assigned = place.assigned || next == Token::Assign;
            note(
                &mut found,
                Mention {
                    name: name(written)?.to_ascii_lowercase().into(),
                    reads: !assigned,
                    assigns: assigned || place.within_into,
                },
            )?;
        }
        place.pass(token);
        token = next;
    }
    (!lexer.in_doubt()).then_some(found)
}

fn note(found: &mut Vec<Mention>, mention: Mention) -> Option<()> {
    if let Some(known) = found.iter_mut().find(|known| known.name == mention.name) {
        known.reads |= mention.reads;
        known.assigns |= mention.assigns;
        return Some(());
    }
    found.push(mention);
    (found.len() <= MENTIONS_MAX).then_some(())
}

/// Where in a statement a token stands.
#[derive(Default)]
struct Place {
    depth: u32,
    /// In the list of assignments of a SET.
    in_set: bool,
    /// In the list behind INTO.
    in_into: bool,
    /// Behind an INTO in parentheses.
    within_into: bool,
    /// A variable right here is assigned, whatever it was.
    assigned: bool,
}

impl Place {
    fn pass(&mut self, token: Token<'_>) {
        self.assigned = false;
        match token {
            Token::Mark(b';') => *self = Self::default(),
            Token::Mark(b'(') => self.depth += 1,
            Token::Mark(b')') => self.depth = self.depth.saturating_sub(1),
            Token::Mark(b',') => self.assigned = self.depth == 0 && (self.in_set || self.in_into),
            Token::UserVariable(_) => {}
            token if token.is(Keyword::Set) => {
                (self.in_set, self.in_into) = (self.depth == 0, false);
                self.assigned = self.in_set;
            }
            token if token.is(Keyword::Into) => {
                (self.in_into, self.in_set) = (self.depth == 0, false);
                self.assigned = self.in_into;
                self.within_into |= self.depth > 0;
            }
            _ => self.in_into = false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::Flavor;

    /// Each name with `r` if it is read and `a` if it is assigned.
    fn mentions(text: &str) -> Option<Vec<(String, String)>> {
        let dialect = Dialect::new(Flavor::MariaDb, 101_119);
        let shown = |mention: Mention| {
            let does = [(mention.reads, 'r'), (mention.assigns, 'a')];
            let does = does
                .into_iter()
                .filter_map(|(does, how)| does.then_some(how));
            let name = String::from_utf8_lossy(&mention.name).into_owned();
            (name, does.collect())
        };
        let found = user_variables(text.as_bytes(), &dialect)?;
        Some(found.into_iter().map(shown).collect())
    }

    #[test]
    fn what_is_assigned_and_what_is_read() {
        const CASES: [(&str, &[(&str, &str)]); 14] = [
            ("SELECT @x", &[("x", "r")]),
            (
                "SET @X = 1, @`y` := @z",
                &[("x", "a"), ("y", "a"), ("z", "r")],
            ),
            ("SET @x = IF(1, @y, @x)", &[("x", "ra"), ("y", "r")]),
            ("SET sql_mode = '', @x = 1", &[("x", "a")]),
            ("SELECT @x := @x + 1", &[("x", "ra")]),
            ("SELECT @x := 1, @y", &[("x", "a"), ("y", "r")]),
            (
                "SELECT a, b INTO @x, @'y' FROM t",
                &[("x", "a"), ("y", "a")],
            ),
            (
                "SELECT 1 INTO @x FROM t WHERE a = @y",
                &[("x", "a"), ("y", "r")],
            ),
            ("(SELECT 1, @y INTO @x)", &[("y", "r"), ("x", "ra")]),
            ("UPDATE t SET a = 1, b = @x", &[("x", "r")]),
            ("SET @x = 1; SELECT 1, @x", &[("x", "ra")]),
            ("SET a = @y, @x = 1", &[("y", "r"), ("x", "a")]),
            ("CALL p(1, @out)", &[("out", "r")]),
            ("SELECT '@x', `@y`, @@z /* @c */", &[]),
        ];
        for (text, expected) in CASES {
            let expected = expected
                .iter()
                .map(|&(name, does)| (name.to_owned(), does.to_owned()));
            assert_eq!(mentions(text), Some(expected.collect()), "{text}");
        }
    }

    #[test]
    fn names_that_cannot_be_carried() {
        for text in [
            "SELECT @`a b`",
            "SELECT @ä",
            "SELECT @'a''b'",
            "SELECT @",
            "SELECT @``",
        ] {
            assert_eq!(mentions(text), None, "{text}");
        }
        let many: Vec<_> = (0..65).map(|n| format!("@v{n}")).collect();
        assert_eq!(mentions(&format!("SELECT {}", many.join(","))), None);
    }
}
