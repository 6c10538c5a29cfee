//! Texts that are nested as deeply as a packet allows: whoever reads them needs no stack for that. A stack that runs over ends
//! the process, and no panic is caught.

use crate::statement::*;

/// What something deeper can stand behind.
const OPENERS: [&str; 34] = [
    "(",
    "SELECT (",
    "SELECT f(",
    "(SELECT ",
    "SELECT 1 UNION (",
    "WITH a AS (",
    "EXPLAIN ",
    "EXPLAIN ANALYZE ",
    "ANALYZE FORMAT=JSON ",
    "DESCRIBE ",
    "SET STATEMENT max_statement_time=1 FOR ",
    "SET @a = (",
    "/*! ",
    "/*!50000 ",
    "/*M! ",
    "/* ",
    "BEGIN ",
    "BEGIN NOT ATOMIC ",
    "IF 1 THEN ",
    "CASE WHEN 1 THEN ",
    "WHILE 1 DO ",
    "LOOP ",
    "x: BEGIN ",
    "{d ",
    "NOT ",
    "- ",
    "@a := ",
    "EXECUTE IMMEDIATE ",
    "PREPARE s FROM '",
    "CALL p(",
    "CREATE PROCEDURE p() ",
    "KILL (",
    "GRANT a TO b IDENTIFIED BY ",
    "DO (",
];

/// As much as a thread has that is not the main one, and then less.
const STACK: usize = 256 << 10;

fn read_all(text: &[u8], dialect: &Dialect) {
    let _ = classify(text, dialect);
    let _ = digest_text(text, dialect, 1 << 10);
    let _ = called(text, dialect);
    let _ = sets_session(text, dialect);
    let _ = holding(text, dialect);
    let _ = pieces(text, dialect);
    let _ = show_diagnostics(text, dialect);
    let _ = lone(text, dialect);
    let _ = scoped(text, dialect);
    let _ = sequences(text, dialect, |_, _| ());
    let _ = substitute(text, dialect, |_| None);
    let _ = use_schema(text, dialect);
    let _ = kill_target(text, dialect);
    let _ = names(text, dialect);
    let _ = text_prepared(text, dialect);
    let _ = sets_tracked(text, dialect);
    let _ = user_variables(text, dialect);
    let _ = account_statement(text, dialect);
    let _ = names_limits(text);
}

#[test]
fn nothing_is_too_deep() {
    let read = || {
        for opener in OPENERS {
            let deep = opener.repeat(50_000);
            for dialect in [super::MARIADB, super::MYSQL] {
                read_all(deep.as_bytes(), &dialect);
                // Within something that is read from its beginning.
                read_all(format!("SELECT {deep}").as_bytes(), &dialect);
            }
        }
    };
    let thread = std::thread::Builder::new().stack_size(STACK);
    thread.spawn(read).unwrap().join().unwrap();
}
