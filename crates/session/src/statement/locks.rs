//! User-level locks: what a statement that makes a single call of one of their functions takes or releases, and what its
//! answer says of that.
//!
//! Owns the forms in which such a call is written: `DO`, `SELECT … FROM DUAL LIMIT 1`, aliases, and what may stand around
//! the call (`COALESCE`, `IFNULL`, `IF`, `= 1`). The session knows who holds what.

use super::dialect::Dialect;
use super::identifier;
use super::keyword::Keyword;
use super::reader::Reader;
use super::token::{Token, is_among};

const FUNCTIONS: &str = "get_lock release_lock release_all_locks";

/// A statement that makes one call, alone in its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockCall {
    /// Which function it calls.
    pub does: LockAct,
    /// The lock's name; of `RELEASE_ALL_LOCKS` [`Argument::Other`].
    pub name: Argument,
    /// How long `GET_LOCK` may wait; of the others [`Argument::Other`].
    pub timeout: Argument,
    /// What the answer says.
    pub tells: LockTells,
    /// The name of the column, if the answer is one row with nothing but the value of the call.
    pub column: Option<Box<[u8]>>,
}

impl LockCall {
    /// The same within an expression that tells this if the call returned 1, and only then. `None` if the call itself
    /// does not tell that.
    fn within(self, tells: LockTells) -> Option<Self> {
        (self.tells == LockTells::One).then_some(Self {
            tells,
            column: None,
            ..self
        })
    }
}

/// What a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockAct {
    /// `GET_LOCK`
    Gets,
    /// `RELEASE_LOCK`
    Releases,
    /// `RELEASE_ALL_LOCKS`
    ReleasesAll,
}

/// How an answer says that the call returned 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockTells {
    /// It does not say it.
    Nothing,
    /// The first column is 1 then, and only then.
    One,
    /// The first column is not NULL then, and only then.
    NotNull,
}

/// An argument of a call, as far as the text shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// A string.
    Text(Box<[u8]>),
    /// A whole number.
    Number(u64),
    /// A negative number.
    Negative,
    /// The parameter of a prepared statement with this number, the first being 0.
    Parameter(u16),
    /// An expression.
    Other,
}

/// The one call of a lock's function in `text`; `None` if there is none, or more is done than can be said.
#[must_use]
pub fn lock_call(text: &[u8], dialect: &Dialect) -> Option<LockCall> {
    let mut reader = Reader::new(text, dialect);
    let call = match reader.next().keyword() {
        Keyword::Select => select(&mut reader)?,
        Keyword::Do => LockCall {
            tells: LockTells::Nothing,
            column: None,
            ..function(&mut reader)?
        },
        _ => return None,
    };
    reader.is_done().then_some(call)
}

/// Behind SELECT.
fn select(reader: &mut Reader<'_>) -> Option<LockCall> {
    let mut call = expression(reader)?;
    let is_said = reader.accept(Keyword::As);
    let written = reader.written();
    let is_alias = match reader.peek() {
        Token::Word(word) => is_said || !is_among(word.text, "from limit"),
        token => matches!(token, Token::Name(_) | Token::Text),
    };
    (is_alias || !is_said).then_some(())?;
    if is_alias {
        reader.next();
        if let Some(column) = &mut call.column {
            *column = identifier::value(written, reader.dialect()).into();
        }
    }
    let dual = !reader.accept(Keyword::From) || reader.accept_word("dual");
    let one = !reader.accept(Keyword::Limit) || reader.accept_number(b"1");
    (dual && one).then_some(call)
}

/// A call, and what may be around it.
fn expression(reader: &mut Reader<'_>) -> Option<LockCall> {
    let is_if = reader.accept(Keyword::If);
    let is_within = is_if || reader.accept_word("coalesce") || reader.accept_word("ifnull");
    if is_within {
        reader.accept_mark(b'(').then_some(())?;
    }
    let call = function(reader)?;
    if is_within {
        reader.accept_mark(b',').then_some(())?;
        let told = match is_if {
            true => if_got(reader)?,
            false => reader.accept_number(b"0").then_some(LockTells::One)?,
        };
        reader.accept_mark(b')').then_some(())?;
        return call.within(told);
    }
    if reader.accept_mark(b'=') {
        return reader
            .accept_number(b"1")
            .then(|| call.within(LockTells::One))?;
    }
    Some(call)
}

/// Behind `IF(call,`: what the call may tell by the two values.
fn if_got(reader: &mut Reader<'_>) -> Option<LockTells> {
    // None of these is NULL. MediaWiki asks for the time.
    const TIMES: &str = "unix_timestamp sysdate now";
    let then = reader.next();
    if then.is_among(TIMES) {
        while !reader.peek_mark(b',') {
            let token = reader.next();
            let is_part = matches!(token, Token::Number(_) | Token::Mark(b'(' | b')'));
            (is_part || token.is_among(TIMES)).then_some(())?;
        }
    } else {
        matches!(then, Token::Number(_) | Token::Text).then_some(())?;
    }
    reader.accept_mark(b',').then_some(())?;
    if reader.accept_word("null") {
        return Some(LockTells::NotNull);
    }
    (then == Token::Number(b"1") && reader.accept_number(b"0")).then_some(LockTells::One)
}

/// The call itself.
fn function(reader: &mut Reader<'_>) -> Option<LockCall> {
    let start = reader.place().start;
    let function = reader.next();
    let does = match function {
        _ if function.is_word("get_lock") => LockAct::Gets,
        _ if function.is_word("release_lock") => LockAct::Releases,
        _ if function.is_word("release_all_locks") => LockAct::ReleasesAll,
        _ => return None,
    };
    reader.accept_mark(b'(').then_some(())?;
    let mut call = LockCall {
        does,
        name: Argument::Other,
        timeout: Argument::Other,
        tells: LockTells::One,
        column: None,
    };
    let mut parameters = 0;
    match does {
        LockAct::Gets => {
            call.name = argument(reader, &mut parameters)?;
            reader.accept_mark(b',').then_some(())?;
            call.timeout = argument(reader, &mut parameters)?;
        }
        LockAct::Releases => call.name = argument(reader, &mut parameters)?,
        // It returns how many there were.
        LockAct::ReleasesAll => call.tells = LockTells::Nothing,
    }
    reader.accept_mark(b')').then_some(())?;
    call.column = Some(reader.text(start..reader.behind()).into());
    Some(call)
}

/// Up to the comma or parenthesis behind an argument, in which none of these functions is called.
fn argument(reader: &mut Reader<'_>, parameters: &mut u16) -> Option<Argument> {
    let (first, written, parameter) = (reader.peek(), reader.written(), *parameters);
    let (mut last, mut count, mut depth) = (first, 0_u32, 0_u32);
    loop {
        match reader.peek() {
            Token::Mark(b',' | b')') if depth == 0 => break,
            Token::End => return None,
            Token::Mark(b'(') => depth += 1,
            Token::Mark(b')') => depth -= 1,
            Token::Mark(b'?') => *parameters = parameters.checked_add(1)?,
            token => {
                let name = token.identifier().and_then(identifier::plain);
                let is_lock = name.is_some_and(|name| is_among(name, FUNCTIONS));
                (!is_lock).then_some(())?;
            }
        }
        last = reader.next();
        count += 1;
    }
    Some(match (first, last) {
        _ if count == 0 => return None,
        (Token::Mark(b'-'), Token::Number(_)) if count == 2 => Argument::Negative,
        _ if count > 1 => Argument::Other,
        (Token::Text, _) => Argument::Text(identifier::value(written, reader.dialect()).into()),
        (Token::Number(digits), _) => str::from_utf8(digits)
            .ok()
            .and_then(|digits| digits.parse().ok())
            .map_or(Argument::Other, Argument::Number),
        (Token::Mark(b'?'), _) => Argument::Parameter(parameter),
        _ => Argument::Other,
    })
}
