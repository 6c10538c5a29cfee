//! Replaces what the front door knows better than the backend at hand by its value: counts and the GTID of what the
//! session has run last, and addresses. Owns the places and the names of the columns; the caller has the values.

use super::dialect::Dialect;
use super::identifier;
use super::keyword::Keyword;
use super::known::Known;
use super::lexer::is_word_byte;
use super::program;
use super::reader::Reader;
use super::token::Token;

/// Words behind the list of columns.
const ENDS: &str =
    "from into where group having order limit union procedure for lock except intersect";

/// Words between SELECT and the first column.
const MODIFIERS: &str = "all distinct distinctrow high_priority sql_big_result sql_buffer_result sql_cache \
    sql_calc_found_rows sql_no_cache sql_small_result straight_join";

/// Words that join expressions, or go on with one: what follows is no alias, nor are they.
const OPERATORS: &str = "and or xor not div mod is in like rlike regexp between collate binary case when then else end \
    sounds escape distinct all sql_no_cache";

/// The text with everything replaced that `value` has an expression for. A column that would take its name from what was
/// replaced is named as before. What the server keeps, such as a default, stays as it is.
/// `None` if nothing was replaced, or the text cannot be read with certainty.
pub fn substitute(
    text: &[u8],
    dialect: &Dialect,
    value: impl Fn(Known) -> Option<String>,
) -> Option<Vec<u8>> {
    let mut reader = Reader::new(text, dialect);
    let mut place = Place::default();
    let (mut out, mut copied, mut first) = (Vec::new(), 0, true);
    // Where the column begins that is being read, and whether something in it was replaced.
    let (mut column, mut replaced) = (0, false);
    loop {
        if reader.at_end() {
            if !reader.resume() {
                break;
            }
            place = place.of_next_statement();
            first = false;
        }
        let (token, start) = (reader.peek(), reader.place().start);
        let known = if place.takes(token) {
            Known::read(&mut reader)
        } else {
            reader.next();
            None
        };
        if place.before == Before::Column {
            (column, replaced) = (start, false);
        }
        if let Some(known) = known
            && (first || !known.is_of_last_statement())
            && !crosses_comment(&text[start..reader.behind()])
            && let Some(value) = value(known)
        {
            out.extend_from_slice(&text[copied..start]);
            // `SELECT@@port` has two tokens, `SELECT7` has one.
            if out.last().is_some_and(|&byte| is_word_byte(byte)) {
                out.push(b' ');
            }
            out.extend_from_slice(value.as_bytes());
            copied = reader.behind();
            replaced = true;
        }
        let named = place.is_alias(token);
        place.pass(token);
        let name = &text[column..reader.behind()];
        if replaced && !named && place.ends_column(reader.peek()) && can_be_name(name) {
            out.extend_from_slice(&text[copied..reader.behind()]);
            out.extend_from_slice(b" AS ");
            out.extend_from_slice(&identifier::quoted_name(name, dialect.charset));
            copied = reader.behind();
        }
    }
    if reader.in_doubt() || copied == 0 {
        return None;
    }
    out.extend_from_slice(&text[copied..]);
    Some(out)
}

/// Not all that can stand in a string or in a comment can stand in a name; and behind `--` a name would be a comment.
fn can_be_name(column: &[u8]) -> bool {
    !column.contains(&0) && !column.ends_with(b"--")
}

/// What begins within a version comment and ends behind it would take the comment's end away.
fn crosses_comment(written: &[u8]) -> bool {
    let count = |mark: &[u8]| written.windows(2).filter(|&pair| pair == mark).count();
    count(b"/*") != count(b"*/")
}

/// Where in a statement a token stands.
#[derive(Default)]
struct Place {
    kept: Kept,
    before: Before,
    depth: u32,
    /// In a list of assignments.
    sets: bool,
    /// In the list of columns of the SELECT that the statement begins with.
    columns: bool,
}

/// How much of a definition the server keeps, to evaluate it again later.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Kept {
    /// It runs once.
    #[default]
    Nothing,
    /// A definition; of what comes next.
    Defines,
    /// Defaults, generated columns and checks of a table. What it is filled from runs once.
    UntilSelect,
    /// A view.
    Statement,
    /// A stored program, whose semicolons need not end the statement.
    Text,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Before {
    #[default]
    Start,
    /// It makes a name of what follows.
    Point,
    /// What is set comes next.
    Target,
    /// A column comes next.
    Column,
    /// The end of an expression: a word right behind it is an alias.
    Operand,
    As,
    Other,
}

impl Place {
    fn of_next_statement(self) -> Self {
        let mut next = Self::default();
        if self.kept == Kept::Text {
            next.kept = Kept::Text;
        }
        next
    }

    /// Whether `token` may be what is replaced, or the beginning of it.
    fn takes(&self, token: Token<'_>) -> bool {
        self.kept == Kept::Nothing
            && match token {
                Token::Word(_) => self.before != Before::Point,
                Token::SystemVariable => self.before != Before::Target,
                _ => false,
            }
    }

    /// Whether a column is over before `next`.
    fn ends_column(&self, next: Token<'_>) -> bool {
        let ends = next.is_end() || next.is_mark(b',') || next.is_among(ENDS);
        self.columns && self.depth == 0 && ends
    }

    /// Whether `token` names the expression before it.
    fn is_alias(&self, token: Token<'_>) -> bool {
        match (self.before, token) {
            (Before::As, _) => true,
            (Before::Operand, Token::Word(_)) => !token.is_among(OPERATORS),
            (Before::Operand, token) => matches!(token, Token::Name(_) | Token::Text),
            _ => false,
        }
    }

    fn pass(&mut self, token: Token<'_>) {
        let keyword = token.keyword();
        let begins = self.before == Before::Start;
        if begins {
            self.sets = keyword == Keyword::Set;
            self.columns = keyword == Keyword::Select;
        }
        self.kept = match (self.kept, keyword) {
            // Also behind `SET STATEMENT … FOR`.
            (Kept::Nothing, Keyword::Create | Keyword::Alter) if begins || self.sets => {
                Kept::Defines
            }
            (Kept::Defines, Keyword::Table) => Kept::UntilSelect,
            (Kept::Defines, Keyword::View) => Kept::Statement,
            (Kept::Defines, object) if program::is_program(object) => Kept::Text,
            (Kept::UntilSelect, Keyword::Select) => Kept::Nothing,
            (kept, _) => kept,
        };
        self.sets &= keyword != Keyword::Select;
        match token {
            Token::Mark(b'(') => self.depth += 1,
            Token::Mark(b')') => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        self.columns &= self.depth > 0 || !token.is_among(ENDS);
        let lists = self.depth == 0 && token.is_mark(b',') || begins;
        self.before = match token {
            Token::Mark(b'.') => Before::Point,
            _ if lists && self.sets => Before::Target,
            _ if lists && self.columns => Before::Column,
            _ if self.before == Before::Column && token.is_among(MODIFIERS) => Before::Column,
            _ if token.is(Keyword::As) => Before::As,
            Token::Mark(b')' | b'?') => Before::Operand,
            Token::Mark(_) | Token::Assign => Before::Other,
            _ if token.is_among(OPERATORS) => Before::Other,
            _ => Before::Operand,
        };
    }
}
