//! Comments between `/*` and `*/`: which are skipped and which the backend runs.
//! Owns no position; it looks at the bytes from `/*` on.

use super::dialect::{Dialect, Flavor};

/// What to do with a comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comment {
    /// Step over this many bytes: the whole comment.
    Skip(usize),
    /// Step over this many bytes: what follows is run, up to `*/`.
    Enter(usize),
}

/// Reads the comment that `rest` begins with; `None` if its end or its meaning is in doubt.
pub(super) fn read(rest: &[u8], dialect: &Dialect) -> Option<Comment> {
    let maria = match (rest.get(2), rest.get(3), dialect.flavor) {
        (Some(b'!'), _, _) => false,
        (Some(b'M'), Some(b'!'), Flavor::MariaDb) => true,
        (Some(b'+'), ..) => return hint(rest),
        _ => return plain(rest),
    };
    let opening = if maria { 4 } else { 3 };
    let digits = rest
        .iter()
        .skip(opening)
        .take(6)
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let five = number(rest, opening, 5);
    let six = number(rest, opening, 6);
    let runs = match (digits, dialect.flavor) {
        (..=4, _) => return Some(Comment::Enter(opening)),
        (5, Flavor::MariaDb) => is_run_by_mariadb(five, maria, dialect),
        (_, Flavor::MariaDb) => is_run_by_mariadb(six, maria, dialect),
        (5, Flavor::MySql) => five <= dialect.version,
        // MySQL reads five digits or six, depending on its version.
        (_, Flavor::MySql) if five > dialect.version && six > dialect.version => false,
        (_, Flavor::MySql) => return None,
    };
    if runs {
        Some(Comment::Enter(opening + digits))
    } else {
        nested(rest)
    }
}

/// MariaDB leaves out what only MySQL from 5.7 on understands.
fn is_run_by_mariadb(version: u32, maria: bool, dialect: &Dialect) -> bool {
    version <= dialect.version && (maria || !(50_700..=99_999).contains(&version))
}

fn number(rest: &[u8], start: usize, digits: usize) -> u32 {
    rest.iter()
        .skip(start)
        .take(digits)
        .take_while(|byte| byte.is_ascii_digit())
        .fold(0, |sum, byte| sum * 10 + u32::from(byte - b'0'))
}

fn plain(rest: &[u8]) -> Option<Comment> {
    end(rest, 2).map(Comment::Skip)
}

/// The place after the next `*/` at or after `from`.
fn end(rest: &[u8], from: usize) -> Option<usize> {
    let body = rest.get(from..)?;
    let at = body.windows(2).position(|pair| pair == b"*/")?;
    Some(from + at + 2)
}

/// A version comment that is not run may hold comments one level deep.
fn nested(rest: &[u8]) -> Option<Comment> {
    let mut at = 2;
    loop {
        match rest.get(at..at + 2)? {
            b"*/" => return Some(Comment::Skip(at + 2)),
            b"/*" => at = end(rest, at + 2)?,
            _ => at += 1,
        }
    }
}

/// True of an optimizer hint that may set variables. Source: "Variable-Setting Hint Syntax" in the MySQL manual.
pub(super) fn hints_variables(comment: &[u8]) -> bool {
    const NAME: &[u8] = b"set_var";
    let is_name = |part: &[u8]| part.eq_ignore_ascii_case(NAME);
    comment.starts_with(b"/*+") && comment.windows(NAME.len()).any(is_name)
}

/// An optimizer hint is a comment, but its own lexer sees quotes: in doubt if one is open at the
/// first `*/`.
fn hint(rest: &[u8]) -> Option<Comment> {
    let end = end(rest, 2)?;
    let body = rest.get(..end)?;
    let odd = |quote| body.iter().filter(|&&byte| byte == quote).count() % 2 == 1;
    let open = odd(b'`') || odd(b'"') || odd(b'\'');
    (!open).then_some(Comment::Skip(end))
}
