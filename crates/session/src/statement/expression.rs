//! Walks over the tokens of a statement and judges what may stand anywhere in it: calls, variables,
//! locking clauses. Owns the rules where a word before a parenthesis is a call; builds no tree.

use super::builtins::{self, Call};
use super::calls::Called;
use super::dialect::Flavor;
use super::findings::Findings;
use super::identifier;
use super::keyword::Keyword;
use super::kind::Traits;
use super::pins::PinReason;
use super::reader::Reader;
use super::token::{Token, Word};
use super::variables;

/// Where to stop; the token that stops is left to the caller.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    /// At the end of the statement.
    End,
    /// At a comma outside of parentheses.
    Comma,
    /// At a comma or the word FOR outside of parentheses.
    CommaOrFor,
    /// At the verb behind the common table expressions.
    Verb,
    /// At CALL, and at INSERT and REPLACE, outside of parentheses, be these statements or functions.
    Target,
}

/// Which words before a parenthesis are calls.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Calls {
    /// All that are not known to be something else.
    All,
    /// Up to the first SELECT only the ones with side effects: columns and types look like calls.
    FromSelect,
}

/// Scans on to where `until` says.
pub(super) fn scan(reader: &mut Reader<'_>, found: &mut Findings, until: Until, calls: Calls) {
    let mut scanner = Scanner {
        reader,
        found,
        until,
        judges_all: calls == Calls::All,
        before: Before::Other,
        qualifiers: [None; 2],
        last: None,
        depth: 0,
        limits: false,
        unites: false,
        cut: 0,
    };
    while !scanner.stops() {
        let token = scanner.reader.next();
        scanner.take(token);
    }
}

/// Scans the rest of the statement; every unknown call counts.
pub(super) fn scan_all(reader: &mut Reader<'_>, found: &mut Findings) {
    scan(reader, found, Until::End, Calls::All);
}

/// What stood before the current token, as far as it matters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Other,
    /// A point: what follows is qualified.
    Point,
    /// AS, WITH, a literal or a closing parenthesis: what follows is an alias, not a call.
    NoCall,
    /// NEXT, and VALUE comes.
    Next,
    /// PREVIOUS, and VALUE comes.
    Previous,
}

struct Scanner<'s, 'a> {
    reader: &'s mut Reader<'a>,
    found: &'s mut Findings,
    until: Until,
    judges_all: bool,
    before: Before,
    /// The names before the points that stand before the current token, the nearest one first.
    qualifiers: [Option<&'a [u8]>; 2],
    /// The name right before the current token.
    last: Option<&'a [u8]>,
    depth: u32,
    /// Behind a LIMIT outside of parentheses: a comma there is an OFFSET.
    limits: bool,
    /// Behind a UNION, EXCEPT or INTERSECT.
    unites: bool,
    /// The depth in a function that cuts something out, `FROM` a value; 0 outside of one.
    cut: u32,
}

impl<'a> Scanner<'_, 'a> {
    fn stops(&self) -> bool {
        let token = self.reader.peek();
        if token.is_end() {
            return true;
        }
        if self.depth > 0 {
            return false;
        }
        match self.until {
            Until::End => false,
            Until::Comma => token.is_mark(b','),
            Until::CommaOrFor => token.is_mark(b',') || token.is(Keyword::For),
            Until::Verb => is_verb(token.keyword()),
            Until::Target => matches!(
                token.keyword(),
                Keyword::Call | Keyword::Insert | Keyword::Replace
            ),
        }
    }

    fn take(&mut self, token: Token<'a>) {
        let before = std::mem::replace(&mut self.before, Before::Other);
        if before != Before::Point && !token.is_mark(b'.') {
            self.qualifiers = [None; 2];
        }
        let last = std::mem::replace(&mut self.last, token.identifier());
        match token {
            Token::Word(word) => self.word(word, before),
            Token::Name(text) => self.name(text, before),
            Token::Text | Token::Number(_) => self.before = Before::NoCall,
            Token::UserVariable(name) => self.found.user_variable(name),
            Token::SystemVariable => variables::read(self.reader, self.found),
            Token::Assign => {
                self.found.not_plain();
                self.found.assigns();
            }
            Token::Mark(b'.') => {
                self.before = Before::Point;
                self.qualifiers = [last, self.qualifiers[0]];
            }
            Token::Mark(mark) => self.mark(mark),
            Token::End => {}
        }
    }

    fn mark(&mut self, mark: u8) {
        match mark {
            b'(' => self.depth += 1,
            b')' => {
                self.depth = self.depth.saturating_sub(1);
                if self.depth < self.cut {
                    self.cut = 0;
                }
                self.before = Before::NoCall;
            }
            b',' if self.limits && self.depth == 0 => self.found.add(Traits::COUNTS_UNSENT_ROWS),
            _ => {}
        }
    }

    fn word(&mut self, word: Word<'a>, before: Before) {
        self.keyword(word.keyword, before);
        if !self.reader.peek_mark(b'(') {
            self.table(word.text);
            return;
        }
        match before {
            Before::NoCall => {}
            Before::Point => self.unknown(word.text),
            _ if self.is_cte_name() => {}
            _ => {
                let ignore_space = self.reader.dialect().ignore_space;
                self.call(word.text, word.tight || ignore_space);
            }
        }
    }

    fn keyword(&mut self, keyword: Keyword, before: Before) {
        if before != Before::Point {
            self.rows(keyword);
        }
        let next = self.reader.peek_keyword();
        match (keyword, next) {
            (Keyword::As | Keyword::With | Keyword::Recursive, _) => self.before = Before::NoCall,
            (Keyword::Into, _) => {
                self.found.writes();
                self.found.assigns();
            }
            (Keyword::For, Keyword::Update | Keyword::Share) | (Keyword::Lock, Keyword::In) => {
                self.found.writes();
            }
            (Keyword::Procedure, _) => {
                self.found.not_plain();
                self.before = Before::NoCall;
            }
            (Keyword::From, _) if before != Before::Point => {
                let cuts = self.cut > 0 && self.cut == self.depth;
                if !cuts && !self.reader.peek().is_word("dual") {
                    self.found.add(Traits::HAS_FROM);
                }
            }
            (Keyword::SqlCalcFoundRows, _) => self.found.add(Traits::COUNTS_UNSENT_ROWS),
            (Keyword::Select, _) if !self.judges_all => {
                self.judges_all = true;
                self.found.add(Traits::GENERATES_ID);
            }
            (Keyword::Next, Keyword::Value) => self.before = Before::Next,
            (Keyword::Previous, Keyword::Value) => self.before = Before::Previous,
            (Keyword::Value, Keyword::For) if before == Before::Next => {
                self.sequence(Traits::DRAWS_SEQUENCE);
            }
            (Keyword::Value, Keyword::For) if before == Before::Previous => {
                self.sequence(Traits::TELLS_SEQUENCE);
            }
            _ => {}
        }
    }

    /// MariaDB counts all rows of a union, which it has in a table of its own.
    fn limits_union(&mut self) {
        if self.unites && self.reader.dialect().flavor == Flavor::MariaDb {
            self.found.add(Traits::COUNTS_UNSENT_ROWS);
        }
    }

    /// What makes FOUND_ROWS() another number than that of the rows that are sent.
    fn rows(&mut self, keyword: Keyword) {
        if let Keyword::Union | Keyword::Except | Keyword::Intersect = keyword {
            self.unites = true;
        }
        if self.depth > 0 {
            return;
        }
        match keyword {
            Keyword::Select => self.found.selects(),
            Keyword::Join => self.found.joins(),
            Keyword::Limit => {
                self.limits = true;
                self.limits_union();
            }
            Keyword::Fetch => self.limits_union(),
            Keyword::Into | Keyword::Offset | Keyword::Procedure => {
                self.found.add(Traits::COUNTS_UNSENT_ROWS);
            }
            _ => {}
        }
    }

    /// Between WITH and the verb a name before a parenthesis names an expression's columns.
    const fn is_cte_name(&self) -> bool {
        matches!(self.until, Until::Verb) && self.depth == 0
    }

    fn name(&mut self, text: &'a [u8], before: Before) {
        let name = identifier::plain(text);
        if !self.reader.peek_mark(b'(') {
            self.table(name.unwrap_or_default());
            return;
        }
        if before == Before::NoCall || self.is_cte_name() {
            return;
        }
        // A quoted built-in is called all the same, unless it must touch its parenthesis.
        match name {
            Some(name) if before != Before::Point => self.call(name, false),
            _ => self.unknown(text),
        }
    }

    /// Tables like `information_schema.session_variables` list what SHOW VARIABLES does, and some list user variables.
    fn table(&mut self, name: &[u8]) {
        const END: &[u8] = b"_variables";
        let lists = [&b"user_variables"[..], b"user_variables_by_thread"];
        // Most names are shorter.
        let Some(start) = name.len().checked_sub(END.len()) else {
            return;
        };
        if lists.iter().any(|table| table.eq_ignore_ascii_case(name)) {
            self.found.add(Traits::LISTS_USER_VARIABLES);
        } else if name[start..].eq_ignore_ascii_case(END) {
            self.found.add(Traits::READS_ADDRESS);
        }
    }

    fn call(&mut self, name: &'a [u8], tight: bool) {
        // Their paths may name user variables: `'/a[$@i]'`.
        let takes_path = [&b"extractvalue"[..], b"updatexml"];
        if takes_path.iter().any(|it| it.eq_ignore_ascii_case(name)) {
            self.found.add(Traits::USES_USER_VARIABLES);
        }
        match builtins::call(name, self.reader.dialect()) {
            Call::Construct | Call::Pure => {}
            Call::PureIfTight if tight => {}
            Call::Cuts if tight => self.cut = self.depth + 1,
            Call::PureIfTight | Call::Cuts | Call::Unknown => self.unknown(name),
            Call::Impure => self.found.not_plain(),
            Call::TakesLock => self.found.pin(PinReason::UserLock),
            Call::ReleasesLock => self.found.add(Traits::RELEASES_USER_LOCK),
            Call::LastInsertId => self.last_insert_id(),
            Call::RowCounts => self.found.add(Traits::READS_ROW_COUNTS),
            Call::ConnectionId => self.found.add(Traits::READS_CONNECTION_ID),
            Call::NextValue => self.sequence(Traits::DRAWS_SEQUENCE),
            Call::LastValue => self.sequence(Traits::TELLS_SEQUENCE),
            Call::Writes => self.found.writes(),
        }
    }

    /// A call of what is not built in, by its name as it is written.
    fn unknown(&mut self, name: &'a [u8]) {
        if self.judges_all {
            self.found.unknown_call();
            let [schema, more] = self.qualifiers;
            let called = Called::new(schema, name, true);
            self.reader.note_call(called.filter(|_| more.is_none()));
        }
    }

    fn last_insert_id(&mut self) {
        self.found.add(Traits::READS_LAST_INSERT_ID);
        self.reader.next();
        self.depth += 1;
        if !self.reader.peek_mark(b')') {
            self.found
                .add(Traits::SETS_LAST_INSERT_ID | Traits::GENERATES_ID);
        }
    }

    /// MySQL has none, and refuses the words.
    fn sequence(&mut self, does: Traits) {
        // What is only defined asks and draws later.
        if self.reader.dialect().flavor == Flavor::MariaDb && self.judges_all {
            self.found.add(does);
        }
        self.found.writes();
    }
}

pub(super) const fn is_verb(keyword: Keyword) -> bool {
    matches!(
        keyword,
        Keyword::Select
            | Keyword::Values
            | Keyword::Table
            | Keyword::Insert
            | Keyword::Replace
            | Keyword::Update
            | Keyword::Delete
    )
}
