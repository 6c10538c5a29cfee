//! Identifiers out of tokens: quotes off, doubled quotes single; and back again. Owns no character
//! sets, but asks them where characters begin: a quote may be the second byte of one.

use std::borrow::Cow;

use super::charset::Trail;
use super::dialect::Dialect;

/// The name within its quotes, or as it is; `None` if it cannot be had without copying.
pub(super) fn plain(text: &[u8]) -> Option<&[u8]> {
    match text {
        [quote @ (b'`' | b'"'), inner @ .., _] => (!inner.contains(quote)).then_some(inner),
        _ => Some(text),
    }
}

/// The name an identifier stands for.
pub(super) fn unquote(text: &[u8], charset: Trail) -> Cow<'_, [u8]> {
    if let Some(name) = plain(text) {
        return Cow::Borrowed(name);
    }
    let [quote, inner @ .., _] = text else {
        return Cow::Borrowed(text);
    };
    let mut name = Vec::with_capacity(inner.len());
    let mut characters = characters(inner, charset);
    while let Some(character) = characters.next() {
        name.extend_from_slice(character);
        if character == [*quote] {
            characters.next();
        }
    }
    Cow::Owned(name)
}

/// A name in backticks.
#[must_use]
pub fn quoted_name(name: &[u8], charset: Trail) -> Vec<u8> {
    let mut quoted = vec![b'`'];
    for character in characters(name, charset) {
        quoted.extend_from_slice(character);
        if character == b"`" {
            quoted.extend_from_slice(character);
        }
    }
    quoted.push(b'`');
    quoted
}

/// What a word, a quoted name or a string stands for.
pub(super) fn value(written: &[u8], dialect: &Dialect) -> Vec<u8> {
    match written {
        [b'"', ..] if dialect.ansi_quotes => unquote(written, dialect.charset).into_owned(),
        [quote @ (b'\'' | b'"'), inner @ .., _] => string(inner, *quote, dialect),
        _ => unquote(written, dialect.charset).into_owned(),
    }
}

fn string(inner: &[u8], quote: u8, dialect: &Dialect) -> Vec<u8> {
    let mut value = Vec::with_capacity(inner.len());
    let mut characters = characters(inner, dialect.charset);
    while let Some(character) = characters.next() {
        match character {
            b"\\" if !dialect.no_backslash_escapes => {
                let escaped = characters.next().unwrap_or(character);
                if let b"%" | b"_" = escaped {
                    // The wildcards of a host part keep theirs.
                    value.push(b'\\');
                }
                match escaped {
                    [byte] => value.push(unescaped(*byte)),
                    other => value.extend_from_slice(other),
                }
            }
            other => {
                value.extend_from_slice(other);
                if other == [quote] {
                    characters.next();
                }
            }
        }
    }
    value
}

const fn unescaped(byte: u8) -> u8 {
    match byte {
        b'0' => 0,
        b'b' => 8,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'Z' => 26,
        byte => byte,
    }
}

/// What is no character of the set goes byte by byte.
fn characters(mut text: &[u8], charset: Trail) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let length = match text.first()? {
            0x80.. => charset.length(text).unwrap_or(1),
            _ => 1,
        };
        let (character, rest) = text.split_at_checked(length)?;
        text = rest;
        Some(character)
    })
}
