//! Prepared statements that ask for one count of the session's last statement and nothing else, such as
//! `SELECT FOUND_ROWS()` (rule 10): client libraries that prepare every statement send them. Myriad prepares another text
//! in their place, in which LAST_INSERT_ID() is the count, and sets it before each execution: so they run on any backend.
//! Statements that ask for a count beside other things pin.

use session::statement::{Dialect, lone, quoted_name};

use crate::rewrite::select_of_one;

/// The text that is prepared in place of one that asks for a count and nothing else.
pub fn counting_text(text: &[u8], dialect: &Dialect) -> Option<Vec<u8>> {
    let (known, name) = lone(text, dialect)?;
    Some(select_of_one(known, &quoted_name(&name, dialect.charset)))
}
