//! The question for the triggers, views and routines that leave something in their session which no answer reports.
//! Owns by which words of their texts they are found, and how one leads to another. The server does the search.

use super::dialect::Flavor;

/// The answer has at most this many rows: with that many, some may be missing.
pub const UNSEEN_MAX: usize = 4_096;

/// Stands between words. No pattern has a backslash: with `NO_BACKSLASH_ESCAPES` it would be another one.
const GAP: &str = "[^0-9a-z_$]";

/// What the text of a trigger or routine has that leaves something: temporary tables, user-level locks, user variables
/// that are not assigned by a plain SET. `#` stands for [`GAP`].
const LEAVES: &str =
    "#get_lock#|#temporary#|@[^=;,]*:=|#into#((?!select)[^;(=])*@|#(call|diagnostics)#[^;]*@";
/// On MariaDB also the last value of a sequence, which is the connection's.
const LEAVES_ON_MARIADB: &str = "|#lastval#|#previous#+value#";
/// On MySQL also roles and resource groups, which its session tracker does not report.
const LEAVES_ON_MYSQL: &str = "|#(set|default)#+role#|#resource#+group#";

/// The same of the query of a view, as the server writes it.
const VIEW_LEAVES: &str = "#get_lock[(]|last_insert_id[(][^)]";
const VIEW_LEAVES_ON_MARIADB: &str = "|#lastval[(]";

/// What sets variables, `@x` or `@@x`: the server reports these with the answer, but not with an error.
const SETS: &str = "(#set|,)[[:space:]]*@@?([^@=:;,()[:space:]]+|`[^`]+`)[[:space:]]*:?=";

/// The body of a package (MariaDB) that has no variables begins so. One that the account may not see may have some.
const PLAIN_PACKAGE: &str = "^#*(as|is)#+(function|procedure|begin|end)#";

/// What each kind is listed in: its letter, the table, and the columns of schema, name and text.
const SOURCES: [[&str; 5]; 3] = [
    [
        "'T'",
        "TRIGGERS",
        "EVENT_OBJECT_SCHEMA",
        "EVENT_OBJECT_TABLE",
        "ACTION_STATEMENT",
    ],
    [
        "'V'",
        "VIEWS",
        "TABLE_SCHEMA",
        "TABLE_NAME",
        "VIEW_DEFINITION",
    ],
    [
        "IF(ROUTINE_TYPE='PACKAGE BODY','B',LEFT(ROUTINE_TYPE,1))",
        "ROUTINES",
        "ROUTINE_SCHEMA",
        "ROUTINE_NAME",
        "ROUTINE_DEFINITION",
    ],
];

/// Asks for what a statement may name that leaves something unseen, by itself or through others. Each row has
///
/// * `U` for what leaves something that nothing reports, `S` for what sets variables;
/// * `W` for a table, or a view of one, that does so if it is written, `N` for what does so wherever it is named;
/// * schema and name in hexadecimal digits.
///
/// A routine that leaves something by itself, or through other routines, is not listed: whoever calls it looks at its
/// body. It takes recursive queries: MariaDB 10.2, MySQL 8.0.
#[must_use]
pub fn unseen_question(flavor: Flavor) -> String {
    let (leaves, view_leaves, packages, hint) = match flavor {
        Flavor::MariaDb => (
            [LEAVES, LEAVES_ON_MARIADB].concat(),
            [VIEW_LEAVES, VIEW_LEAVES_ON_MARIADB].concat(),
            format!(" OR k='B' AND(x IS NULL OR x NOT REGEXP'{PLAIN_PACKAGE}')"),
            "",
        ),
        Flavor::MySql => (
            [LEAVES, LEAVES_ON_MYSQL].concat(),
            VIEW_LEAVES.to_owned(),
            String::new(),
            // Very many of them are no reason to keep a connection for long, and no global limit is one to say nothing.
            "/*+ MAX_EXECUTION_TIME(10000) SET_VAR(sql_big_selects=1) */ ",
        ),
    };
    let objects = SOURCES.map(|[kind, table, schema, name, text]| {
        let text_of = |column| format!("CONVERT({column} USING utf8mb4)COLLATE utf8mb4_general_ci");
        format!(
            "SELECT {kind} k,{} s,{} n,CONCAT(' ',{},' ')x FROM information_schema.{table} \
             WHERE {schema} NOT IN('mysql','sys','performance_schema','information_schema')",
            text_of(schema),
            text_of(name),
            text_of(text)
        )
    });
    let start = |length| {
        format!("CAST('-'AS CHAR({length})CHARACTER SET utf8mb4)COLLATE utf8mb4_general_ci")
    };
    // All three lists are read once: `o` is used once, and the search begins with a row that leads to what leaves something
    // by itself. `R` is a routine that is seen by whoever calls it.
    let question = format!(
        "WITH RECURSIVE o AS({}),\
         j AS(SELECT k,s,n,x,IF(k='V',x REGEXP'{view_leaves}',x REGEXP'{leaves}'){packages} u,\
         k<>'V'AND x REGEXP'{SETS}'v FROM o),\
         l AS(SELECT'U'w,{} h,{} s,{} n UNION SELECT'S','-','-','-'UNION \
         SELECT l.w,CASE j.k WHEN'T'THEN'W'WHEN'V'THEN IF(l.h='W','W','N')WHEN'B'THEN'R'ELSE IF(l.h IN('W','N'),'N','R')END,\
         j.s,j.n FROM l JOIN j ON IF(l.h='-',IF(l.w='U',j.u,j.v),(j.s=l.s OR LOCATE(l.s,j.x)>0)\
         AND j.x REGEXP CONCAT('#',REGEXP_REPLACE(l.n,'[^0-9A-Za-z_]','.'),'#')))\
         SELECT {hint}w,h,HEX(s),HEX(n)FROM l WHERE h IN('W','N')LIMIT {UNSEEN_MAX}",
        objects.join(" UNION ALL "),
        start(1),
        start(64),
        start(64)
    );
    in_utf8mb4(&question.replace('#', GAP))
}

/// The same text, whose literals are in utf8mb4 whatever the character set of the connection: with `binary` no pattern
/// could be compared.
fn in_utf8mb4(question: &str) -> String {
    let mut parts = question.split('\'');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for (place, part) in parts.enumerate() {
        text.push_str(if place % 2 == 0 { " _utf8mb4'" } else { "'" });
        text.push_str(part);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_question_is_the_same_in_each_sql_mode() {
        for flavor in [Flavor::MariaDb, Flavor::MySql] {
            let question = unseen_question(flavor);
            // A backslash depends on NO_BACKSLASH_ESCAPES, a quotation mark on ANSI_QUOTES, an empty string on
            // EMPTY_STRING_IS_NULL, and the mark for gaps would begin a comment.
            for part in ["\\", "\"", "''", "#"] {
                assert!(!question.contains(part), "{part}: {question}");
            }
        }
    }
}
