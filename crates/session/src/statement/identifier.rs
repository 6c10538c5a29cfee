//! Identifiers out of tokens: quotes off, doubled quotes single. Owns no character sets.

use std::borrow::Cow;

/// The name within its quotes, or as it is; `None` if it cannot be had without copying.
pub(super) fn plain(text: &[u8]) -> Option<&[u8]> {
    match unquote(text) {
        Cow::Borrowed(name) => Some(name),
        Cow::Owned(_) => None,
    }
}

/// The name an identifier stands for.
pub(super) fn unquote(text: &[u8]) -> Cow<'_, [u8]> {
    let [quote @ (b'`' | b'"'), inner @ .., _] = text else {
        return Cow::Borrowed(text);
    };
    if !inner.contains(quote) {
        return Cow::Borrowed(inner);
    }
    let mut name = Vec::with_capacity(inner.len());
    let mut bytes = inner.iter();
    while let Some(&byte) = bytes.next() {
        name.push(byte);
        if byte == *quote {
            bytes.next();
        }
    }
    Cow::Owned(name)
}
