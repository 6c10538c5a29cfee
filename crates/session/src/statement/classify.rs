//! From a text to its verdict: statement by statement, each by its first words.
//! Owns the choice of the family; what a family means is in the family's file.

use super::dialect::{Dialect, Flavor};
use super::expression::{self, Calls, Until};
use super::findings::Findings;
use super::keyword::Keyword;
use super::kind::{Kind, Statement, Traits};
use super::pins::PinReason;
use super::reader::Reader;
use super::token::Token;
use super::{admin, explain, routine, schema, select, set, show, transaction, write};

/// Statements within statements (EXPLAIN, SET STATEMENT) are followed this deep.
const NESTING_MAX: u8 = 3;

/// What is only said of a statement that is alone and understood.
const ALONE: Traits = Traits::PURE_READ
    .union(Traits::BARE_BEGIN)
    .union(Traits::RELEASES)
    .union(Traits::DEFINES_PROGRAM)
    .union(Traits::BODY_INSERTS)
    .union(Traits::OWN_CONDITIONS);

/// Says what `text` is and does, without parsing it: one pass over its tokens.
#[must_use]
pub fn classify(text: &[u8], dialect: &Dialect) -> Statement {
    let mut reader = Reader::new(text, dialect);
    let mut statement = single(&mut reader);
    statement.digest = reader.digest();
    if !reader.ends_text() {
        // Even a comment behind a semicolon is answered for itself.
        statement.traits.remove(Traits::PURE_READ);
        statement.traits.insert(Traits::MULTIPLE);
    }
    while reader.resume() {
        statement = join(statement, single(&mut reader));
    }
    if reader.in_doubt() {
        doubtful(statement)
    } else {
        statement
    }
}

/// Judges one statement of a text.
pub(super) fn single(reader: &mut Reader<'_>) -> Statement {
    let mut found = Findings::default();
    let kind = judge(reader, &mut found, 0);
    reader.skip_statement();
    if reader.hints_variables() {
        found.add(Traits::HINTS_VARIABLES);
    }
    let mut statement = found.statement(kind);
    if kind == Kind::Ddl && reader.dialect().flavor == Flavor::MySql {
        // It does not count the rows that fill a table.
        statement.traits.remove(Traits::COUNTS_UNSENT_ROWS);
    }
    statement
}

/// Two statements in one text. The order in which reasons to pin come and go is not followed, so
/// nothing in such a text takes a reason away.
fn join(first: Statement, second: Statement) -> Statement {
    let mut traits = (first.traits | second.traits).difference(ALONE);
    traits |= Traits::MULTIPLE | Traits::MAY_WRITE | Traits::GENERATES_ID;
    if counts_rows(&first) || counts_rows(&second) {
        traits |= Traits::COUNTS_ROWS;
    }
    let mut pins = first.pins | second.pins;
    if traits.contains(Traits::FOR_STATEMENT) {
        // Which of the answers tells what holds for a statement only is not followed.
        pins.insert(PinReason::UntrackedVariable);
    }
    if first.kind == Kind::Prepared || second.kind == Kind::Prepared {
        pins.insert(PinReason::TextPrepared);
    }
    if first.kind == Kind::Admin || second.kind == Kind::Admin {
        traits |= Traits::KEEPS_FOUND_ROWS;
    }
    if first.kind == Kind::Unknown || second.kind == Kind::Unknown {
        pins.insert(PinReason::MultipleStatements);
    }
    Statement {
        kind: Kind::Multiple,
        traits,
        pins,
        digest: 0,
    }
}

/// Whether `FOUND_ROWS()` tells of rows of this statement, one of several.
fn counts_rows(statement: &Statement) -> bool {
    let keeps = statement.traits.contains(Traits::KEEPS_FOUND_ROWS);
    match statement.kind {
        Kind::Multiple => statement.traits.contains(Traits::COUNTS_ROWS),
        Kind::Select | Kind::Show | Kind::Explain => !keeps,
        Kind::Call | Kind::Prepared | Kind::Unknown => true,
        _ => statement.traits.contains(Traits::COUNTS_UNSENT_ROWS),
    }
}

/// The text cannot be read with certainty, so that what was found says little.
fn doubtful(statement: Statement) -> Statement {
    let mut unknown = Findings::default().statement(Kind::Unknown);
    unknown.traits |= statement.traits.difference(ALONE);
    unknown.pins |= statement.pins;
    unknown
}

/// Judges the statement that begins here; `nesting` counts the statements around it.
pub(super) fn judge(reader: &mut Reader<'_>, found: &mut Findings, nesting: u8) -> Kind {
    if nesting > NESTING_MAX {
        return Kind::Unknown;
    }
    let keyword = match reader.next() {
        Token::End => return Kind::Empty,
        Token::Mark(b'(') => return select::parenthesised(reader, found),
        token => token.keyword(),
    };
    match keyword {
        Keyword::Select | Keyword::Table | Keyword::Values => select::select(reader, found),
        Keyword::With => select::with(reader, found),
        Keyword::Insert => write::insert(reader, found, Kind::Insert),
        Keyword::Replace => write::insert(reader, found, Kind::Replace),
        Keyword::Update => write::update(reader, found),
        Keyword::Delete => write::scanned(reader, found, Kind::Delete),
        Keyword::Load => write::load(reader, found),
        Keyword::Set => set::set(reader, found, nesting),
        Keyword::Show => show::show(reader, found),
        Keyword::Help => show::help(reader, found),
        Keyword::Explain | Keyword::Describe | Keyword::Desc => {
            explain::explain(reader, found, nesting)
        }
        Keyword::Analyze => explain::analyze(reader, found, nesting),
        Keyword::Begin => transaction::begin(reader, found),
        Keyword::Start => transaction::start(reader, found),
        Keyword::Commit => transaction::completion(reader, found, Kind::Commit),
        Keyword::Rollback => transaction::rollback(reader, found),
        Keyword::Savepoint => {
            found.add(Traits::SETS_SAVEPOINT);
            Kind::Savepoint
        }
        Keyword::Release => Kind::Savepoint,
        Keyword::Xa => transaction::xa(reader, found),
        Keyword::Lock => transaction::lock(reader, found),
        Keyword::Unlock => transaction::unlock(reader, found),
        Keyword::Use => Kind::Use,
        Keyword::Create | Keyword::Alter => schema::define(keyword, reader, found),
        Keyword::Drop => schema::drop(reader, found),
        Keyword::Rename => schema::rename(reader, found),
        Keyword::Truncate => schema::ddl(found),
        Keyword::Grant | Keyword::Revoke => schema::account(found),
        Keyword::Call => routine::call(reader, found),
        Keyword::Prepare => routine::prepare(reader, found),
        Keyword::Execute => routine::execute(reader, found),
        Keyword::Deallocate => Kind::Prepared,
        Keyword::Do => write::scanned(reader, found, Kind::Do),
        Keyword::Kill => write::scanned(reader, found, Kind::Kill),
        Keyword::Handler => {
            found.pin(PinReason::Handler);
            expression::scan(reader, found, Until::End, Calls::FromSelect);
            Kind::Handler
        }
        Keyword::Get | Keyword::Signal | Keyword::Resignal => {
            routine::diagnostics(keyword, reader, found)
        }
        Keyword::If
        | Keyword::Case
        | Keyword::Loop
        | Keyword::While
        | Keyword::Repeat
        | Keyword::For => routine::compound(reader, found),
        _ => admin::admin(keyword, reader, found),
    }
}
