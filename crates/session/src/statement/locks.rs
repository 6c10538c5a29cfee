//! User-level locks: what a statement that makes a single call of one of their functions takes or releases, and what its
//! answer says of that.
//!
//! Owns the forms in which such a call is written, read by a small parser: `DO`, `SELECT … FROM DUAL LIMIT 1`, aliases,
//! constants as further columns, and what may stand around the call (`CAST`, `COALESCE`, `IF`, `= 1`, …). Who holds what
//! is the session's to know.

use std::ops::Range;

use super::dialect::Dialect;
use super::identifier;
use super::keyword::Keyword;
use super::lexer::Lexer;
use super::quotas::value;
use super::token::Token;

/// Longer statements are not looked at.
const TOKENS_MAX: usize = 256;

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
    let mut parser = Parser::new(text, dialect)?;
    let call = match parser.next().keyword() {
        Keyword::Select => parser.select()?,
        Keyword::Do => parser.only_call()?,
        _ => return None,
    };
    parser.at_end().then_some(call)
}

/// Where the call is within an expression, and what the expression tells of its value.
struct Found {
    call: LockCall,
    /// The value is that of the call itself.
    is_plain: bool,
}

struct Parser<'a> {
    text: &'a [u8],
    tokens: Vec<(Token<'a>, Range<usize>)>,
    at: usize,
    dialect: Dialect,
}

impl<'a> Parser<'a> {
    /// `None` if the text cannot be read with certainty, holds several statements, or is long.
    fn new(text: &'a [u8], dialect: &Dialect) -> Option<Self> {
        let mut lexer = Lexer::new(text, dialect);
        let mut tokens = Vec::new();
        loop {
            match lexer.next() {
                Token::End => break,
                Token::Mark(b';') => {
                    let blank = |byte: &u8| byte.is_ascii_whitespace() || *byte == b';';
                    let ends = !lexer.in_version_comment() && lexer.rest().iter().all(blank);
                    ends.then_some(())?;
                    break;
                }
                token => tokens.push((token, lexer.place())),
            }
            (tokens.len() <= TOKENS_MAX).then_some(())?;
        }
        (!lexer.in_doubt()).then_some(Self {
            text,
            tokens,
            at: 0,
            dialect: *dialect,
        })
    }

    /// Behind SELECT.
    fn select(&mut self) -> Option<LockCall> {
        let begin = self.at;
        let Found { mut call, is_plain } = self.expression()?;
        let end = self.at;
        let alias = self.alias()?;
        let mut is_lone = is_plain;
        while self.accept(b',') {
            // The first column is the one that counts.
            matches!(self.next(), Token::Text | Token::Number(_)).then_some(())?;
            self.alias()?;
            is_lone = false;
        }
        if self.accept_word(b"from") {
            self.accept_word(b"dual").then_some(())?;
        }
        if self.accept_word(b"limit") {
            (self.next() == Token::Number(b"1")).then_some(())?;
        }
        if is_lone {
            call.column = Some(alias.unwrap_or_else(|| self.written(begin..end).into()));
        }
        Some(call)
    }

    /// Behind DO: nothing is told.
    fn only_call(&mut self) -> Option<LockCall> {
        let Found { call, .. } = self.expression()?;
        Some(LockCall {
            tells: LockTells::Nothing,
            ..call
        })
    }

    /// A call, and what may be around it.
    fn expression(&mut self) -> Option<Found> {
        if self.peek() == Token::Number(b"1") {
            self.next();
            self.accept(b'=').then_some(())?;
            let found = self.operand()?;
            return (found.call.tells == LockTells::One).then(|| wrapped(found));
        }
        let found = self.operand()?;
        let compares = self.comparison()?;
        // Of a value that is NULL or not, less is known behind it.
        (!compares || found.call.tells == LockTells::One).then_some(())?;
        Some(match compares {
            true => wrapped(found),
            false => found,
        })
    }

    /// `= 1`, `<=> 1`, `<> 0`, `!= 0`, `> 0`, `IS TRUE`, `+ 0`: 1 stays 1, and nothing else becomes 1.
    fn comparison(&mut self) -> Option<bool> {
        let mut operator = Vec::new();
        while let Token::Mark(mark @ (b'=' | b'<' | b'>' | b'!' | b'+')) = self.peek() {
            operator.push(mark);
            self.next();
        }
        let expected: &[u8] = match &operator[..] {
            b"" if self.accept_word(b"is") => {
                return self.accept_word(b"true").then_some(true);
            }
            b"" => return Some(false),
            b"=" | b"<=>" => b"1",
            b"<>" | b"!=" | b">" | b"+" => b"0",
            _ => return None,
        };
        (self.next() == Token::Number(expected)).then_some(true)
    }

    fn operand(&mut self) -> Option<Found> {
        if self.accept(b'(') {
            let found = self.expression()?;
            self.accept(b')').then_some(())?;
            return Some(wrapped(found));
        }
        let Token::Word(word) = self.next() else {
            return None;
        };
        self.accept(b'(').then_some(())?;
        let name = word.text.to_ascii_lowercase();
        let found = match &name[..] {
            b"cast" => {
                let found = self.expression()?;
                self.accept_word(b"as").then_some(())?;
                self.whole_type()?;
                wrapped(found)
            }
            b"convert" => {
                let found = self.expression()?;
                self.accept(b',').then_some(())?;
                self.whole_type()?;
                wrapped(found)
            }
            b"coalesce" | b"ifnull" => {
                let found = self.expression()?;
                self.accept(b',').then_some(())?;
                let is_negative = self.accept(b'-');
                let other = self.next();
                let is_number = matches!(other, Token::Number(_));
                let is_not_one = is_negative && is_number || is_number_but_one(other);
                let tells = found.call.tells == LockTells::One;
                (tells && is_not_one).then_some(())?;
                wrapped(found)
            }
            b"nullif" => {
                let found = self.expression()?;
                self.accept(b',').then_some(())?;
                let tells = found.call.tells == LockTells::One;
                (tells && self.next() == Token::Number(b"0")).then_some(())?;
                wrapped(found)
            }
            b"if" => self.if_got()?,
            _ => self.call(&name)?,
        };
        self.accept(b')').then_some(found)
    }

    /// Behind `IF(`: a call, and what is told if it returned 1, and if not.
    fn if_got(&mut self) -> Option<Found> {
        let found = self.expression()?;
        (found.call.tells == LockTells::One).then_some(())?;
        self.accept(b',').then_some(())?;
        let begin = self.at;
        self.skip_argument()?;
        let then = &self.tokens[begin..self.at];
        let is_one = matches!(then, [(Token::Number(b"1"), _)]);
        let is_something = is_constant_or_time(then);
        self.accept(b',').then_some(())?;
        let is_null = self.accept_word(b"null");
        if !is_null {
            let otherwise = self.next();
            (is_one && is_number_but_one(otherwise)).then_some(())?;
        }
        let tells = match (is_one, is_null) {
            (true, _) => LockTells::One,
            (false, true) if is_something => LockTells::NotNull,
            _ => return None,
        };
        let call = LockCall {
            tells,
            ..found.call
        };
        Some(Found {
            call,
            is_plain: false,
        })
    }

    /// Behind the name of a function and its parenthesis.
    fn call(&mut self, name: &[u8]) -> Option<Found> {
        let does = lock_function(name)?;
        let mut call = LockCall {
            does,
            name: Argument::Other,
            timeout: Argument::Other,
            tells: LockTells::One,
            column: None,
        };
        match does {
            LockAct::Gets => {
                call.name = self.argument()?;
                self.accept(b',').then_some(())?;
                call.timeout = self.argument()?;
            }
            LockAct::Releases => call.name = self.argument()?,
            // It returns how many there were.
            LockAct::ReleasesAll => call.tells = LockTells::Nothing,
        }
        Some(Found {
            call,
            is_plain: true,
        })
    }

    fn argument(&mut self) -> Option<Argument> {
        let begin = self.at;
        self.skip_argument()?;
        Some(match &self.tokens[begin..self.at] {
            [] => return None,
            [(Token::Text, place)] => {
                let written = self.text.get(place.clone()).unwrap_or_default();
                Argument::Text(value(written, &self.dialect).into())
            }
            [(Token::Number(digits), _)] => {
                whole_number(digits).map_or(Argument::Other, Argument::Number)
            }
            [(Token::Mark(b'-'), _), (Token::Number(_), _)] => Argument::Negative,
            [(Token::Mark(b'?'), _)] => {
                let is_parameter = |(token, _): &&(Token<'_>, _)| *token == Token::Mark(b'?');
                let before = self.tokens[..begin].iter().filter(is_parameter).count();
                Argument::Parameter(u16::try_from(before).ok()?)
            }
            _ => Argument::Other,
        })
    }

    /// Goes to the comma or parenthesis that ends an argument, in which none of these functions is called.
    fn skip_argument(&mut self) -> Option<()> {
        let mut depth = 0_u32;
        loop {
            match self.peek() {
                Token::Mark(b',' | b')') if depth == 0 => return Some(()),
                Token::Mark(b'(') => depth += 1,
                Token::Mark(b')') => depth -= 1,
                Token::End => return None,
                token => {
                    let name = token.identifier().and_then(identifier::plain);
                    let is_lock = name
                        .is_some_and(|name| lock_function(&name.to_ascii_lowercase()).is_some());
                    (!is_lock).then_some(())?;
                }
            }
            self.next();
        }
    }

    /// A type in which 1 is written as 1.
    fn whole_type(&mut self) -> Option<()> {
        const WHOLE: [&[u8]; 7] = [
            b"signed",
            b"unsigned",
            b"integer",
            b"int",
            b"bigint",
            b"char",
            b"decimal",
        ];
        let Token::Word(word) = self.next() else {
            return None;
        };
        let is_whole = |name: &&[u8]| word.text.eq_ignore_ascii_case(name);
        WHOLE.iter().any(is_whole).then_some(())?;
        self.accept_word(b"integer");
        self.accept_word(b"int");
        if self.accept(b'(') {
            matches!(self.next(), Token::Number(_)).then_some(())?;
            self.accept(b')').then_some(())?;
        }
        Some(())
    }

    /// What a column may be called.
    fn alias(&mut self) -> Option<Option<Box<[u8]>>> {
        let is_said = self.accept_word(b"as");
        let (token, place) = match self.tokens.get(self.at) {
            Some(found) => found.clone(),
            None => return (!is_said).then_some(None),
        };
        let ends = |word: &[u8]| {
            [&b"from"[..], b"limit"]
                .iter()
                .any(|end| word.eq_ignore_ascii_case(end))
        };
        let is_alias = match token {
            Token::Word(word) => is_said || !ends(word.text),
            Token::Name(_) | Token::Text => true,
            _ => false,
        };
        if !is_alias {
            return (!is_said).then_some(None);
        }
        self.at += 1;
        let written = self.text.get(place).unwrap_or_default();
        Some(Some(value(written, &self.dialect).into()))
    }

    /// The text from one token to another.
    fn written(&self, tokens: Range<usize>) -> &'a [u8] {
        let tokens = self.tokens.get(tokens).unwrap_or_default();
        match (tokens.first(), tokens.last()) {
            (Some((_, first)), Some((_, last))) => {
                self.text.get(first.start..last.end).unwrap_or_default()
            }
            _ => b"",
        }
    }

    fn peek(&self) -> Token<'a> {
        self.tokens
            .get(self.at)
            .map_or(Token::End, |&(token, _)| token)
    }

    fn next(&mut self) -> Token<'a> {
        let token = self.peek();
        self.at += usize::from(token != Token::End);
        token
    }

    fn accept(&mut self, mark: u8) -> bool {
        let found = self.peek() == Token::Mark(mark);
        self.at += usize::from(found);
        found
    }

    fn accept_word(&mut self, expected: &[u8]) -> bool {
        let found =
            matches!(self.peek(), Token::Word(word) if word.text.eq_ignore_ascii_case(expected));
        self.at += usize::from(found);
        found
    }

    fn at_end(&self) -> bool {
        self.at == self.tokens.len()
    }
}

/// The value is not that of the call itself any more.
fn wrapped(found: Found) -> Found {
    Found {
        is_plain: false,
        ..found
    }
}

/// True of an expression that is never NULL: a constant, or a time, as MediaWiki asks for it.
fn is_constant_or_time(tokens: &[(Token<'_>, Range<usize>)]) -> bool {
    const TIMES: [&[u8]; 3] = [b"unix_timestamp", b"sysdate", b"now"];
    if let [(Token::Number(_) | Token::Text, _)] = tokens {
        return true;
    }
    let is_part = |(token, _): &(Token<'_>, Range<usize>)| match token {
        Token::Word(word) => TIMES
            .iter()
            .any(|time| word.text.eq_ignore_ascii_case(time)),
        Token::Number(_) | Token::Mark(b'(' | b')') => true,
        _ => false,
    };
    matches!(tokens, [(Token::Word(_), _), ..]) && tokens.iter().all(is_part)
}

fn lock_function(name: &[u8]) -> Option<LockAct> {
    match name {
        b"get_lock" => Some(LockAct::Gets),
        b"release_lock" => Some(LockAct::Releases),
        b"release_all_locks" => Some(LockAct::ReleasesAll),
        _ => None,
    }
}

fn is_number_but_one(token: Token<'_>) -> bool {
    matches!(token, Token::Number(digits) if digits != b"1" && whole_number(digits).is_some())
}

fn whole_number(digits: &[u8]) -> Option<u64> {
    let all_digits = digits.iter().all(u8::is_ascii_digit);
    str::from_utf8(digits)
        .ok()
        .filter(|_| all_digits)?
        .parse()
        .ok()
}
