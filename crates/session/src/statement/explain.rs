//! EXPLAIN, DESCRIBE and ANALYZE, and the statements within them.

use super::admin;
use super::classify;
use super::expression;
use super::findings::Findings;
use super::keyword::Keyword;
use super::kind::{Kind, Traits};
use super::reader::Reader;
use super::token::Token;

/// Behind EXPLAIN or one of its synonyms.
pub(super) fn explain(reader: &mut Reader<'_>, found: &mut Findings, nesting: u8) -> Kind {
    let mut runs = false;
    loop {
        match reader.peek_keyword() {
            Keyword::Extended | Keyword::Partitions => {
                reader.next();
            }
            Keyword::Analyze => {
                reader.next();
                runs = true;
            }
            Keyword::Format => {
                if !format(reader) {
                    return Kind::Explain;
                }
            }
            Keyword::Into => {
                reader.next();
                if let Token::UserVariable(name) = reader.next() {
                    found.user_variable(name);
                }
                found.assigns();
            }
            Keyword::For => {
                reader.next();
                return match reader.accept(Keyword::Connection) {
                    true => Kind::Explain,
                    false => Kind::Unknown,
                };
            }
            _ => return inner(reader, found, nesting, runs),
        }
    }
}

/// Behind ANALYZE: of a table, or of a statement that is run.
pub(super) fn analyze(reader: &mut Reader<'_>, found: &mut Findings, nesting: u8) -> Kind {
    if reader.peek_keyword() == Keyword::Format {
        format(reader);
    }
    if is_statement(reader) && reader.peek_keyword() != Keyword::Table {
        inner(reader, found, nesting, true)
    } else {
        admin::committing(found)
    }
}

/// `FORMAT = …`; `false` if FORMAT is a table's name.
fn format(reader: &mut Reader<'_>) -> bool {
    reader.next();
    let found = reader.accept_mark(b'=');
    if found {
        reader.next();
    }
    found
}

/// The statement within. One that is run counts rows that are not sent; what only explains counts none.
fn inner(reader: &mut Reader<'_>, found: &mut Findings, nesting: u8, runs: bool) -> Kind {
    if !is_statement(reader) {
        return Kind::Explain;
    }
    found.add(match runs {
        true => Traits::COUNTS_UNSENT_ROWS,
        false => Traits::KEEPS_FOUND_ROWS,
    });
    match classify::judge(reader, found, nesting + 1) {
        Kind::Unknown => return Kind::Unknown,
        Kind::Select | Kind::Explain => {}
        _ => found.writes(),
    }
    Kind::Explain
}

fn is_statement(reader: &Reader<'_>) -> bool {
    let keyword = reader.peek_keyword();
    keyword == Keyword::With || expression::is_verb(keyword) || reader.peek_mark(b'(')
}
