//! Cutting the text of a statement into literals and placeholders.

use crate::distribution::Distribution;

use super::placeholder::{Names, Placeholder};
use super::template::Part;

/// A statement that is being cut into parts.
pub(super) struct Parts<'a> {
    names: &'a mut Names,
    distribution: Distribution,
    done: Vec<Part>,
    literal: String,
}

impl Parts<'_> {
    pub(super) fn parse(
        text: &str,
        names: &mut Names,
        distribution: Distribution,
    ) -> Result<Vec<Part>, String> {
        let mut parts = Parts {
            names,
            distribution,
            done: Vec::new(),
            literal: String::new(),
        };
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            rest = match c {
                '\'' => parts.quoted(rest)?,
                '{' => parts.braces(rest)?,
                _ => {
                    parts.literal.push(c);
                    &rest[c.len_utf8()..]
                }
            };
        }
        parts.end_literal();
        Ok(parts.done)
    }

    /// A text in quotes. Returns what follows it.
    fn quoted<'t>(&mut self, text: &'t str) -> Result<&'t str, String> {
        let end = end_of_quotes(text).ok_or("a ' has no end; write a second one")?;
        let (quoted, rest) = text.split_at(end);
        if quoted.contains('{') {
            let inner = &quoted[1..quoted.len() - 1];
            let parts = Self::parse_inner(inner, self.names, self.distribution)?;
            self.end_literal();
            self.done.push(Part::Quoted(parts));
        } else {
            self.literal.push_str(quoted);
        }
        Ok(rest)
    }

    /// The inside of quotes.
    fn parse_inner(
        text: &str,
        names: &mut Names,
        distribution: Distribution,
    ) -> Result<Vec<Part>, String> {
        let mut done = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let (inside, behind) = after.split_once('}').ok_or(OPEN)?;
            done.push(Part::Literal(before.as_bytes().into()));
            done.push(Part::Number(Placeholder::parse(
                inside,
                names,
                distribution,
            )?));
            rest = behind;
        }
        done.push(Part::Literal(rest.as_bytes().into()));
        Ok(done)
    }

    /// A placeholder. Returns what follows it.
    fn braces<'t>(&mut self, text: &'t str) -> Result<&'t str, String> {
        let (inside, rest) = text[1..].split_once('}').ok_or(OPEN)?;
        let placeholder = Placeholder::parse(inside, self.names, self.distribution)?;
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '`' | '.');
        let in_name = self.literal.ends_with(is_name);
        self.end_literal();
        self.done.push(match placeholder.numbers() {
            Some(_) if in_name => Part::Variant(placeholder),
            Some(_) => Part::Number(placeholder),
            None => return Err(format!("{{{inside}}} is no number; put it in '…'")),
        });
        Ok(rest)
    }

    fn end_literal(&mut self) {
        if !self.literal.is_empty() {
            let literal = std::mem::take(&mut self.literal);
            self.done.push(Part::Literal(literal.into_bytes().into()));
        }
    }
}

const OPEN: &str = "a { has no end; write a } behind it";

/// Where a text in quotes, at the beginning of `text`, ends.
fn end_of_quotes(text: &str) -> Option<usize> {
    let mut bytes = text.bytes().enumerate().skip(1);
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'\\' => {
                bytes.next();
            }
            b'\'' => return Some(at + 1),
            _ => {}
        }
    }
    None
}
