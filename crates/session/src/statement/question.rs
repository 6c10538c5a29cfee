//! Texts that ask nothing but what a session knows of its last statement. Owns their forms.

use super::dialect::Dialect;
use super::identifier;
use super::keyword::Keyword;
use super::known::Known;
use super::reader::Reader;

/// `SHOW WARNINGS` or `SHOW ERRORS`, with its LIMIT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Diagnostics {
    /// Only errors are asked for.
    pub errors: bool,
    /// Rows that are left out at the beginning.
    pub offset: u64,
    /// Rows that are shown at most.
    pub rows: u64,
}

/// What a text asks that is one `SHOW WARNINGS` or `SHOW ERRORS`.
#[must_use]
pub fn show_diagnostics(text: &[u8], dialect: &Dialect) -> Option<Diagnostics> {
    let mut reader = Reader::new(text, dialect);
    reader.accept(Keyword::Show).then_some(())?;
    let errors = asks_for_errors(&mut reader)?;
    let (mut offset, mut rows) = (0, u64::MAX);
    if reader.accept(Keyword::Limit) {
        rows = reader.number()?;
        if reader.accept_mark(b',') {
            (offset, rows) = (rows, reader.number()?);
        } else if reader.accept(Keyword::Offset) {
            offset = reader.number()?;
        }
    }
    reader.is_done().then_some(Diagnostics {
        errors,
        offset,
        rows,
    })
}

/// The one value that a text asks for, and the name of its column: `SELECT ROW_COUNT() [AS name]`,
/// `SELECT @@warning_count`, `SHOW COUNT(*) WARNINGS` and the like.
#[must_use]
pub fn lone(text: &[u8], dialect: &Dialect) -> Option<(Known, Vec<u8>)> {
    let mut reader = Reader::new(text, dialect);
    let lone = match reader.next().keyword() {
        Keyword::Select => selected(&mut reader)?,
        Keyword::Show => shown(&mut reader)?,
        _ => return None,
    };
    reader.is_done().then_some(lone)
}

fn selected(reader: &mut Reader<'_>) -> Option<(Known, Vec<u8>)> {
    let start = reader.place().start;
    let known = Known::read(reader)?;
    if reader.accept(Keyword::As) {
        let alias = reader.next().identifier()?;
        let alias = identifier::unquote(alias, reader.dialect().charset);
        return Some((known, alias.into_owned()));
    }
    Some((known, reader.text(start..reader.behind()).to_vec()))
}

/// Behind SHOW. Both servers carry this out as a SELECT of the variable, under this name.
fn shown(reader: &mut Reader<'_>) -> Option<(Known, Vec<u8>)> {
    let is_count = reader.accept(Keyword::Count)
        && reader.accept_mark(b'(')
        && reader.accept_mark(b'*')
        && reader.accept_mark(b')');
    is_count.then_some(())?;
    Some(match asks_for_errors(reader)? {
        true => (Known::ErrorCount, b"@@session.error_count".to_vec()),
        false => (Known::WarningCount, b"@@session.warning_count".to_vec()),
    })
}

fn asks_for_errors(reader: &mut Reader<'_>) -> Option<bool> {
    let errors = reader.accept(Keyword::Errors);
    (errors || reader.accept(Keyword::Warnings)).then_some(errors)
}
