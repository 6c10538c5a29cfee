//! Stored programs: their bodies hold semicolons that separate nothing. Owns the count of open
//! blocks; of what a body does only what the definition itself depends on is looked at.

use super::dialect::Flavor;
use super::findings::Findings;
use super::keyword::Keyword;
use super::kind::Traits;
use super::pins::PinReason;
use super::reader::Reader;
use super::token::Token;

/// Whether CREATE of this object has a body.
pub(super) const fn is_program(keyword: Keyword) -> bool {
    matches!(
        keyword,
        Keyword::Procedure
            | Keyword::Function
            | Keyword::Trigger
            | Keyword::Event
            | Keyword::Package
    )
}

/// Goes to the end of the statement that defines `object`. In doubt about the blocks, what could
/// be a further statement pins.
pub(super) fn skip(object: Keyword, reader: &mut Reader<'_>, found: &mut Findings) {
    if object != Keyword::Trigger {
        found.add(Traits::DEFINES_PROGRAM);
    }
    if object == Keyword::Package {
        reader.skip_text();
        return;
    }
    let mut body = Body {
        open: 0,
        at_start: false,
        heads: false,
    };
    loop {
        let token = reader.next();
        if token != Token::End {
            body.take(token, reader);
            found.add(body_has(token, reader));
        } else if body.open == 0 {
            return;
        } else if reader.resume() {
            body.at_start = true;
        } else {
            found.pin(PinReason::MultipleStatements);
            return;
        }
    }
}

/// What the definition itself does because its body has this.
fn body_has(token: Token<'_>, reader: &Reader<'_>) -> Traits {
    let is_mysql = reader.dialect().flavor == Flavor::MySql;
    match token.keyword() {
        Keyword::Insert | Keyword::Replace if !reader.peek_mark(b'(') => Traits::BODY_INSERTS,
        Keyword::Handler if is_mysql => Traits::OWN_CONDITIONS,
        _ => Traits::empty(),
    }
}

struct Body {
    /// Blocks begun and not ended.
    open: u32,
    /// A statement of the body may begin here.
    at_start: bool,
    /// What came last may end the head of the definition: its parameters, or a characteristic.
    heads: bool,
}

fn may_end_head(token: Token<'_>) -> bool {
    // Words that end a characteristic of a routine.
    const ENDS: &str = "sql data deterministic definer invoker";
    matches!(token, Token::Mark(b')') | Token::Text) || token.is_among(ENDS)
}

impl Body {
    fn take(&mut self, token: Token<'_>, reader: &mut Reader<'_>) {
        let heads = std::mem::replace(&mut self.heads, may_end_head(token));
        let at_start = std::mem::replace(&mut self.at_start, false) || heads && self.open == 0;
        match token.keyword() {
            Keyword::Begin => {
                self.open += 1;
                self.at_start = true;
            }
            Keyword::Case => self.open += 1,
            Keyword::Loop | Keyword::Repeat if at_start => {
                self.open += 1;
                self.at_start = true;
            }
            // A statement may end with FOR UPDATE.
            Keyword::For if at_start && is_lock(reader.peek_keyword()) => {}
            Keyword::If | Keyword::While | Keyword::For if at_start => self.open += 1,
            Keyword::Then | Keyword::Else | Keyword::Do | Keyword::Row => self.at_start = true,
            Keyword::End => {
                self.open = self.open.saturating_sub(1);
                skip_what_ends(reader);
            }
            _ => self.at_start = token == Token::Mark(b':'),
        }
    }
}

/// What follows FOR in a locking clause, and in a trigger's head.
const fn is_lock(keyword: Keyword) -> bool {
    matches!(keyword, Keyword::Update | Keyword::Share)
}

/// `END IF`, `END LOOP` and so on.
fn skip_what_ends(reader: &mut Reader<'_>) {
    if matches!(
        reader.peek_keyword(),
        Keyword::If
            | Keyword::Case
            | Keyword::Loop
            | Keyword::Repeat
            | Keyword::While
            | Keyword::For
    ) {
        reader.next();
    }
}
