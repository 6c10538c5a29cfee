//! Replaces what the front door knows better than the backend at hand by its value: counts and the GTID of what the
//! session has run last, and addresses. Owns the places and the names of the columns; the
//! values are the caller's.

use super::definition::{Kept, kept};
use super::dialect::Dialect;
use super::identifier;
use super::keyword::Keyword;
use super::known::Known;
use super::lexer::Lexer;
use super::token::Token;

/// The text with everything replaced that `value` has an expression for. A column that would take
/// its name from what was replaced is named as before. What the server keeps, such as a default, stays as it is.
/// `None` if nothing was replaced, or the text cannot be read with certainty.
pub fn substitute(
    text: &[u8],
    dialect: &Dialect,
    value: impl Fn(Known) -> Option<String>,
) -> Option<Vec<u8>> {
    let mut edit = Edit::new(text, Lexer::new(text, dialect));
    loop {
        let before = edit.out.len();
        let token = edit.lexer.next();
        if edit.kept == Kept::Nothing
            && let Some(known) = edit.known(token)
            && (edit.first || !known.is_of_last_statement())
            && let Some(value) = value(known)
        {
            edit.replace(value.as_bytes());
        } else if token == Token::End {
            edit.item_ends();
            break;
        } else {
            edit.pass(token);
        }
        debug_assert!(edit.out.len() >= before);
    }
    if edit.lexer.in_doubt() || edit.copied == 0 {
        return None;
    }
    edit.out.extend_from_slice(&text[edit.copied..]);
    Some(edit.out)
}

/// True if all of a text can be read with certainty.
fn is_certain(text: &[u8], dialect: &Dialect) -> bool {
    let mut lexer = Lexer::new(text, dialect);
    while lexer.next() != Token::End {}
    !lexer.in_doubt()
}

struct Edit<'a> {
    text: &'a [u8],
    lexer: Lexer<'a>,
    out: Vec<u8>,
    /// How much of the text is in `out`, or was replaced.
    copied: usize,
    /// Still in the first statement.
    first: bool,
    depth: u32,
    /// In a list of assignments.
    sets: bool,
    /// What is kept of the statement that is being read.
    kept: Kept,
    item: Option<Item>,
    /// What came before: a point makes a name of what follows.
    before: Before,
}

/// A column of the result as far as it was read.
struct Item {
    start: usize,
    end: usize,
    replaced: bool,
    named: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Start,
    Point,
    /// The end of an expression: a word right behind it is an alias.
    Operand,
    As,
    /// What is set comes next.
    Target,
    Other,
}

impl<'a> Edit<'a> {
    fn new(text: &'a [u8], lexer: Lexer<'a>) -> Self {
        Self {
            text,
            lexer,
            out: Vec::new(),
            copied: 0,
            first: true,
            depth: 0,
            sets: false,
            kept: Kept::Nothing,
            item: None,
            before: Before::Start,
        }
    }

    /// What begins with `token`, if that can be replaced. Afterwards the lexer is behind it.
    fn known(&mut self, token: Token<'a>) -> Option<Known> {
        let start = self.lexer.place().start;
        let mut ahead = self.lexer.clone();
        let known = match token {
            Token::Word(word) if self.before != Before::Point => {
                let known = Known::of_function(word.text)?;
                let call = [ahead.next(), ahead.next()];
                (call == [Token::Mark(b'('), Token::Mark(b')')]).then_some(known)?
            }
            Token::SystemVariable if self.before != Before::Target => Known::read(&mut ahead)?,
            _ => return None,
        };
        // What begins within a comment for some versions and ends behind it would take the comment's end away.
        let crosses = ahead.in_version_comment() != self.lexer.in_version_comment();
        if crosses {
            return None;
        }
        self.lexer = ahead;
        self.lexer.extend_place(start);
        Some(known)
    }

    fn replace(&mut self, value: &[u8]) {
        let place = self.lexer.place();
        self.out
            .extend_from_slice(&self.text[self.copied..place.start]);
        // `SELECT@@port` has two tokens, `SELECT7` has one.
        if self.out.last().is_some_and(|&byte| may_be_in_word(byte)) {
            self.out.push(b' ');
        }
        self.out.extend_from_slice(value);
        self.copied = place.end;
        let item = self.open_item();
        if let Some(item) = item {
            item.replaced = true;
            item.named = false;
        }
        self.before = Before::Operand;
    }

    /// Takes note of a token that stays.
    fn pass(&mut self, token: Token<'a>) {
        match token {
            Token::Mark(b';') => {
                self.item_ends();
                self.first = false;
                self.before = Before::Start;
                self.depth = 0;
                if self.kept != Kept::Text {
                    self.kept = Kept::Nothing;
                }
                return;
            }
            Token::Mark(b'(') => self.depth += 1,
            Token::Mark(b')') => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        let keyword = token.keyword();
        self.keep(keyword);
        if self.before == Before::Start {
            if keyword == Keyword::Select {
                let end = self.lexer.place().end;
                self.item = Some(Item {
                    start: end,
                    end,
                    replaced: false,
                    named: false,
                });
            }
            self.sets = keyword == Keyword::Set;
            self.before = match self.sets {
                true => Before::Target,
                false => Before::Other,
            };
            return;
        }
        // Behind `SET STATEMENT … FOR` is a statement.
        self.sets &= keyword != Keyword::Select;
        if self.sets && self.depth == 0 && token == Token::Mark(b',') {
            self.before = Before::Target;
            return;
        }
        if self.depth == 0 && self.item.is_some() {
            if token == Token::Mark(b',') {
                return self.next_item();
            }
            if ends_items(token) {
                return self.item_ends();
            }
            if self.is_of_select(token) {
                return;
            }
        }
        let named = self.depth == 0 && is_alias(self.before, token);
        if let Some(item) = self.open_item() {
            item.named = named;
        }
        self.before = before(token);
    }

    /// A definition begins with a statement, or behind `SET STATEMENT … FOR`.
    fn keep(&mut self, keyword: Keyword) {
        self.kept = match self.kept {
            Kept::UntilSelect if keyword == Keyword::Select => Kept::Nothing,
            Kept::Nothing if self.before == Before::Start || self.sets => {
                kept(keyword, self.lexer.clone())
            }
            kept => kept,
        };
    }

    /// True of words between `SELECT` and the first column, such as `DISTINCT`: no name has them.
    fn is_of_select(&self, token: Token<'_>) -> bool {
        let begins = |item: &Item| item.start == item.end;
        let word = matches!(token, Token::Word(word) if is_modifier(word.text));
        word && self.before == Before::Other && self.item.as_ref().is_some_and(begins)
    }

    /// The column that the last token is part of.
    fn open_item(&mut self) -> Option<&mut Item> {
        let place = self.lexer.place();
        let item = self.item.as_mut()?;
        if item.start == item.end {
            item.start = place.start;
        }
        item.end = place.end;
        Some(item)
    }

    fn next_item(&mut self) {
        self.item_ends();
        let end = self.lexer.place().end;
        self.item = Some(Item {
            start: end,
            end,
            replaced: false,
            named: false,
        });
        self.before = Before::Other;
    }

    /// A column without an alias is called what its expression was.
    fn item_ends(&mut self) {
        let Some(item) = self.item.take().filter(|item| item.replaced && !item.named) else {
            return;
        };
        let dialect = self.lexer.dialect();
        let name = &self.text[item.start..item.end];
        let name = identifier::quoted_name(name, dialect.charset);
        // Not all that can stand in a string or in a comment can stand in a name: the value goes
        // before the name. And behind `--` a name would be a comment.
        if !is_certain(&name, dialect) || self.text[..item.end].ends_with(b"--") {
            return;
        }
        self.out
            .extend_from_slice(&self.text[self.copied..item.end]);
        self.copied = item.end;
        self.out.extend_from_slice(b" AS ");
        self.out.extend_from_slice(&name);
    }
}

fn may_be_in_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | 0x80..)
}

/// True for the words behind the list of columns.
fn ends_items(token: Token<'_>) -> bool {
    const ENDS: [&[u8]; 13] = [
        b"from",
        b"into",
        b"where",
        b"group",
        b"having",
        b"order",
        b"limit",
        b"union",
        b"procedure",
        b"for",
        b"lock",
        b"except",
        b"intersect",
    ];
    matches!(token, Token::Word(word) if ENDS.iter().any(|end| end.eq_ignore_ascii_case(word.text)))
}

/// True for words that say how a SELECT reads.
fn is_modifier(word: &[u8]) -> bool {
    const MODIFIERS: [&[u8]; 11] = [
        b"all",
        b"distinct",
        b"distinctrow",
        b"high_priority",
        b"sql_big_result",
        b"sql_buffer_result",
        b"sql_cache",
        b"sql_calc_found_rows",
        b"sql_no_cache",
        b"sql_small_result",
        b"straight_join",
    ];
    MODIFIERS
        .iter()
        .any(|modifier| modifier.eq_ignore_ascii_case(word))
}

/// True if a token behind an expression names it.
fn is_alias(before: Before, token: Token<'_>) -> bool {
    match token {
        Token::Name(_) | Token::Text => matches!(before, Before::Operand | Before::As),
        Token::Word(word) => {
            before == Before::As || before == Before::Operand && !is_operator(word.text)
        }
        _ => false,
    }
}

fn before(token: Token<'_>) -> Before {
    match token {
        Token::Mark(b'.') => Before::Point,
        Token::Mark(b')') | Token::Number(_) | Token::Text | Token::Name(_) => Before::Operand,
        token if token.is(Keyword::As) => Before::As,
        Token::Word(word) if !is_operator(word.text) => Before::Operand,
        _ => Before::Other,
    }
}

/// True for words that join expressions, or go on with one.
fn is_operator(word: &[u8]) -> bool {
    const OPERATORS: [&[u8]; 24] = [
        b"and",
        b"or",
        b"xor",
        b"not",
        b"div",
        b"mod",
        b"is",
        b"in",
        b"like",
        b"rlike",
        b"regexp",
        b"between",
        b"collate",
        b"binary",
        b"case",
        b"when",
        b"then",
        b"else",
        b"end",
        b"sounds",
        b"escape",
        b"distinct",
        b"all",
        b"sql_no_cache",
    ];
    OPERATORS
        .iter()
        .any(|operator| operator.eq_ignore_ascii_case(word))
}
