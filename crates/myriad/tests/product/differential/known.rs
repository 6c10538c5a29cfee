//! What is known to differ, as `docs/DIFFERENCES.md` tells it: by the lines of a session and both answers to
//! the last of them.

use std::collections::BTreeMap;
use std::iter::zip;
use std::ops::Range;

use crate::support::Server;

/// A session up to where it differs.
pub(super) struct Case<'a> {
    pub(super) lines: &'a [String],
    pub(super) direct: &'a [String],
    pub(super) through: &'a [String],
    /// What the lines before were answered with, on either side.
    pub(super) before: &'a [Vec<String>],
}

/// A difference on purpose: the words of the document that say so, and whether this is it.
type Known = (&'static str, fn(&Case<'_>) -> bool);

const KNOWN: [Known; 34] = [
    ("ERR 1235 for what SHOW WARNINGS does not tell", |case| {
        case.last().starts_with("GET DIAGNOSTICS") && case.is_refused()
    }),
    (
        "together with `NUMBER`, inside a transaction after an ERR",
        |case| {
            let shown = case.last().contains("@b") && case.has(&["@b = ROW_COUNT"]);
            shown && case.same_but_for(r"\x02-1", r"\x010")
        },
    ),
    (
        "as they were captured, in the character set of before",
        |case| case.last().starts_with("SHOW ") && case.names_charset() && case.same_but(CHARSET),
    ),
    (
        "with a collation in the handshake that MariaDB does not know",
        |case| case.resets() && case.lines[0].contains(" 255 ") && Server::is_mariadb(),
    ),
    ("what `CLIENT_IGNORE_SPACE` adds to `sql_mode`", |case| {
        let shows = case.last().contains("sql_mode") || case.last().contains(" (");
        case.resets() && case.lines[0].contains("+IGNORE_SPACE") && shows
    }),
    (
        "`@@character_set_database` after COM_RESET_CONNECTION",
        |case| case.resets() && case.last().contains("@@character_set_database"),
    ),
    ("after an ERR of the front door's own", |case| {
        case.asks() && case.was_refused_by_name() && !Server::is_mariadb()
    }),
    (
        "In the second and later statements of one text, in `CALL`s and views: the backend's own",
        |case| {
            let runs = ["EXECUTE", "\\execute", "\\again", "\\cursor"];
            let runs = runs.iter().any(|word| case.last().starts_with(word));
            let prepares = |line: &String| asks(line) && line.to_uppercase().contains("PREPARE");
            runs && case.lines.iter().any(prepares) || case.last().contains("; ") && case.asks()
        },
    ),
    (
        "in prepared statements inside a transaction, after an ERR there",
        |case| case.last().starts_with('\\') && case.has(&["ROW_COUNT(), FOUND_ROWS()"]),
    ),
    ("whose column may have another length", |case| {
        let plan = case.last().starts_with("UPDATE") && case.last().contains('@');
        case.has(&["@"]) && case.same_but(TYPE) || plan && case.same_count()
    }),
    ("the warnings in the answer to COM_INIT_DB", |case| {
        case.last().starts_with("\\init_db") && !Server::is_mariadb()
    }),
    ("COM_SET_OPTION after COM_FIELD_LIST, on MySQL", |case| {
        let asks = ["\\ping", "\\set_option"]
            .iter()
            .any(|word| case.last().starts_with(word));
        let about_list = [
            "\\fields",
            "SHOW COUNT",
            "SHOW WARNINGS",
            "SHOW ERRORS",
            "GET ",
        ];
        asks && case.has(&about_list) && !Server::is_mariadb()
    }),
    ("`FOUND_ROWS()` in a session that has run nothing", |case| {
        let asks = case.last().contains("FOUND_ROWS()") || case.last().contains("@n");
        asks && case.found_nothing() && case.shows_one() && Server::is_mariadb()
    }),
    ("`FOUND_ROWS()` after SET, DO", |case| {
        let writes = case.has(&["DO ", "SET ", " ORDER BY id DESC", "DELETE FROM u ORDER BY"]);
        let asks = case.last().contains("FOUND_ROWS()") || case.last().contains("@n");
        asks && writes && case.same_rows_but_one() && !Server::is_mariadb()
    }),
    (
        "conditions of before, after several statements in one text",
        |case| {
            let several = case.lines.iter().any(|line| line.contains("; "));
            case.asks() && several && Server::is_mariadb()
        },
    ),
    (
        "others get ERR 1053, and the connection is closed",
        |case| {
            let releases = case.has(&["completion_type", "RELEASE"]);
            let told = case.through.last();
            releases && told.is_some_and(|told| told.contains("Server shutdown in progress"))
        },
    ),
    ("or a write of several tables that failed", |case| {
        let several = |line: &str| {
            [
                "UPDATE t, u",
                "UPDATE t JOIN",
                "DELETE t, u",
                "DELETE u, t",
                "USING",
            ]
            .iter()
            .any(|words| line.contains(words))
        };
        let failed = case.refused().any(several) && Server::is_mariadb();
        case.last().contains("FOUND_ROWS()") && failed && case.same_rows_but_one()
    }),
    ("a CALL that asks for a cursor", |case| {
        let without_eof = case.lines[0].contains("-DEPRECATE_EOF");
        let opens = case.last().starts_with("\\cursor") && case.has(&["CALL "]);
        let more = case.through.len() == case.direct.len() + 1;
        let ends = case
            .through
            .last()
            .is_some_and(|told| told.starts_with("Ok "));
        opens && without_eof && more && ends && !Server::is_mariadb()
    }),
    ("a CALL of a procedure that changes no rows", |case| {
        let answers = [case.direct, case.through].map(|told| told.first());
        let ok = |told: Option<&String>| told.is_some_and(|told| told.starts_with("Ok "));
        let oks = answers.into_iter().all(ok) && case.direct.len() == 1;
        case.last().starts_with("CALL ") && oks && !Server::is_mariadb()
    }),
    ("warnings of the login itself", |case| {
        case.asks() && case.lines[0].contains("+NO_SCHEMA") && !Server::is_mariadb()
    }),
    ("conditions of before, after a successful PREPARE", |case| {
        let prepares = case.has(&["\\prepare", "PREPARE"]);
        case.asks() && prepares && Server::is_mariadb()
    }),
    ("that of `HELP` inside a transaction", |case| {
        let without_eof = case.lines[0].contains("-DEPRECATE_EOF");
        let rest = |line: &&String| !line.starts_with("ColumnsEnd");
        let [direct, through] = [case.direct, case.through].map(|told| told.iter().filter(rest));
        case.last().starts_with("HELP") && without_eof && direct.eq(through)
    }),
    ("a CALL of a procedure that uses no tables", |case| {
        let calls = case.lines.iter().any(|line| line.starts_with("CALL "));
        case.asks() && calls && Server::is_mariadb()
    }),
    ("calls a function of one's own", |case| {
        let calls = case.has(&["f(", "fsets(", "made("]);
        case.asks() && calls && Server::is_mariadb()
    }),
    (
        "session-track blocks of a `CALL` to clients without `CLIENT_DEPRECATE_EOF`",
        |case| {
            case.lines[0].contains("+SESSION_TRACK,-DEPRECATE_EOF")
                && case.last().starts_with("CALL")
        },
    ),
    (
        "and what `SET CHARACTER SET` takes from the schema",
        |case| case.resets() && case.last().starts_with("SET CHAR"),
    ),
    (
        "and clients that track the session are told of it",
        |case| case.lines[0].contains("+SESSION_TRACK") && case.last().starts_with("SET @@"),
    ),
    ("the schema of before in a session-track block", |case| {
        let without_eof = case.lines[0].contains("+SESSION_TRACK,-DEPRECATE_EOF");
        let failed = case.refused().any(|line| line.starts_with("\\execute"));
        let prepares = case.has(&["\\prepare"]) && (without_eof || failed);
        prepares && case.only_schema_is_told()
    }),
    ("to which later values are converted", |case| {
        let told = case.asks() || case.last().contains("@") || case.last().starts_with("\\execute");
        case.retypes() && !Server::is_mariadb() && told
    }),
    ("COM_RESET_CONNECTION after XA PREPARE", |case| {
        case.resets() && case.has(&["XA PREPARE"]) && Server::is_mariadb()
    }),
    ("`LOCK TABLES` of such a table", |case| {
        let locked = case.has(&["LOCK TABLES"]) && !Server::is_mariadb();
        let told = case.through.first();
        locked && told.is_some_and(|told| told.contains("was not locked with LOCK TABLES"))
    }),
    ("that a statement was prepared to set", |case| {
        let asks =
            ["CHARSET(@", "COLLATION(@", "COERCIBILITY(@"].map(|call| case.last().contains(call));
        case.has(&["\\prepare"]) && asks.contains(&true) && !Server::is_mariadb()
    }),
    ("`at row N` in an error about a parameter", |case| {
        let cut = |line: &String| {
            line.rsplit_once(" at row ")
                .map(|(text, _)| text.to_owned())
        };
        let cut = |answer: &[String]| answer.iter().map(cut).collect::<Option<Vec<_>>>();
        case.has(&["CALL "]) && cut(case.direct).is_some() && cut(case.direct) == cut(case.through)
    }),
    ("the collation of results in column definitions", |case| {
        case.sets_charset() && case.same_but(CHARSET)
    }),
];

/// Where the parts of a column definition stand in the last twelve bytes of it. Source: "Column Definition" in
/// the MySQL manual.
const CHARSET: Range<usize> = 0..6;
const TYPE: Range<usize> = 0..10;

/// ERR 1235 as it stands in an answer.
const NOT_YET: &str = "\\xff\\xd3\\x04";

impl Case<'_> {
    /// The words of the document about the difference in the answers to the last line, if it is known.
    pub(super) fn known(&self) -> Option<&'static str> {
        let known = KNOWN.iter().find(|(_, is)| is(self));
        known.map(|(words, _)| *words)
    }

    fn last(&self) -> &str {
        self.lines.last().map_or("", String::as_str)
    }

    /// True if one of the lines has one of these words.
    fn has(&self, words: &[&str]) -> bool {
        let has = |line: &String| words.iter().any(|word| line.contains(word));
        self.lines.iter().any(has)
    }

    fn resets(&self) -> bool {
        self.has(&["\\reset_connection"])
    }

    /// True if a character set was set, in whatever way.
    fn names_charset(&self) -> bool {
        self.sets_charset() || self.has(&["NAMES"])
    }

    /// True if one of the variables of character sets was set by itself.
    fn sets_charset(&self) -> bool {
        self.has(&["collation_connection =", "character_set_", "SET CHAR"])
    }

    fn is_refused(&self) -> bool {
        let first = self.through.first();
        first.is_some_and(|first| first.contains(NOT_YET))
    }

    /// True if the last line asks about the statement before it; on MySQL some commands do.
    fn asks(&self) -> bool {
        let pings = ["\\ping", "\\set_option"].map(|command| self.last().starts_with(command));
        pings.contains(&true) && !Server::is_mariadb() || asks(self.last())
    }

    /// True if a prepared statement was executed with values of different types.
    fn retypes(&self) -> bool {
        let mut types = BTreeMap::new();
        self.lines.iter().any(|line| {
            let mut words = line.split(' ');
            let executes = matches!(words.next(), Some("\\execute" | "\\cursor"));
            let name = words.next();
            let kinds = words
                .map(|value| value.split(':').next())
                .collect::<Vec<_>>();
            let before = executes
                .then(|| types.insert(name, kinds.clone()))
                .flatten();
            before.is_some_and(|before| before != kinds)
        })
    }

    /// True if the answers differ in nothing but that a schema is told, directly.
    fn only_schema_is_told(&self) -> bool {
        let [direct, through] = [self.direct, self.through].map(|answer| answer.join("\n"));
        let told = direct.find("\"USE ").and_then(|at| {
            let end = direct[at + 1..].find('"')?;
            Some((
                &direct[..at],
                direct[at + end + 2..].trim_start_matches(", "),
            ))
        });
        let rest = told.map(|(before, behind)| format!("{before}{behind}"));
        // Without anything to tell, the packet is shown in another way.
        rest.is_some_and(|rest| rest == through || rest.ends_with("[]"))
    }

    /// True if only definitions of columns differ, and in this part only.
    fn same_but(&self, part: Range<usize>) -> bool {
        let same = |(direct, through): (&String, &String)| {
            let [direct_rest, through_rest] =
                [direct, through].map(|line| column_without(line, &part));
            direct == through || direct_rest.is_some() && direct_rest == through_rest
        };
        self.direct.len() == self.through.len() && zip(self.direct, self.through).all(same)
    }

    /// True if the answers are the same once `direct` stands for `through`.
    fn same_but_for(&self, direct: &str, through: &str) -> bool {
        let replaced = self.direct.iter().map(|line| line.replace(direct, through));
        replaced.eq(self.through.iter().cloned())
    }

    /// True if no line before was answered with rows that `FOUND_ROWS()` counts.
    fn found_nothing(&self) -> bool {
        let begins = ["SHOW WARNINGS", "SHOW ERRORS", "EXPLAIN", "HELP", "\\where"];
        let counts = |(line, told): (&String, &Vec<String>)| {
            let begins_with = |packet: Option<&String>, word| {
                packet.is_some_and(|packet| packet.starts_with(word))
            };
            let failed = begins_with(told.last(), "Err");
            let rows = !failed && begins_with(told.first(), "ColumnCount");
            rows && !begins.iter().any(|word| line.starts_with(word))
        };
        let anew = ["\\reset_connection", "\\change_user"];
        let anew = |line: &String| anew.iter().any(|command| line.starts_with(command));
        let from = self.lines[..self.before.len()].iter().rposition(anew);
        let from = from.unwrap_or_default();
        !zip(&self.lines[from..], &self.before[from..]).any(counts)
    }

    /// True if one of the answers has only more words.
    fn same_count(&self) -> bool {
        let begins = |told: &[String]| {
            told.first()
                .and_then(|told| told.split("] ").nth(1)?.get(..12).map(str::to_owned))
        };
        let [direct, through] = [self.direct, self.through].map(begins);
        direct.is_some() && direct == through
    }

    /// True if only one row differs.
    fn same_rows_but_one(&self) -> bool {
        let differs = |pair: &(&String, &String)| pair.0 != pair.1;
        let different = zip(self.direct, self.through).filter(differs);
        let mut rows = different.map(|(direct, _)| direct.starts_with("Row "));
        self.direct.len() == self.through.len()
            && rows.next() == Some(true)
            && rows.next().is_none()
    }

    /// True if the only difference is a number, which is 1 through the front door.
    fn shows_one(&self) -> bool {
        self.same_rows_but_one() && self.through.iter().any(|line| line.contains(r"\x011"))
    }

    /// The lines before that were answered with an ERR.
    fn refused(&self) -> impl Iterator<Item = &str> {
        let is_err = |told: &Vec<String>| told.last().is_some_and(|told| told.starts_with("Err"));
        zip(self.lines, self.before)
            .filter(move |(_, told)| is_err(told))
            .map(|(line, _)| line.as_str())
    }

    /// True if an earlier line was answered with an ERR that the front door may have thought of.
    fn was_refused_by_name(&self) -> bool {
        let begins = [
            "\\execute",
            "\\again",
            "\\cursor",
            "\\fetch",
            "\\reset ",
            "\\unknown",
        ];
        self.refused()
            .any(|line| begins.iter().any(|word| line.starts_with(word)))
    }
}

/// True if a text asks about the statement before it.
fn asks(text: &str) -> bool {
    let words = ["SHOW ", "ROW_COUNT", "FOUND_ROWS", "_count", "GET "];
    words.iter().any(|word| text.contains(word))
}

/// A column definition without this part of its end; `None` of any other packet.
fn column_without(line: &str, part: &Range<usize>) -> Option<Vec<u8>> {
    let (_, shown) = line.strip_prefix("Column #")?.split_once("] ")?;
    let mut bytes = unescaped(shown)?;
    let end = bytes.len().checked_sub(12)?;
    bytes.get_mut(end + part.start..end + part.end)?.fill(0);
    Some(bytes)
}

/// The bytes that `escape_ascii` has shown.
fn unescaped(shown: &str) -> Option<Vec<u8>> {
    let mut chars = shown.bytes();
    let mut bytes = Vec::new();
    while let Some(byte) = chars.next() {
        bytes.push(match byte {
            b'\\' => match chars.next()? {
                b'x' => {
                    let digits = [chars.next()?, chars.next()?];
                    u8::from_str_radix(str::from_utf8(&digits).ok()?, 16).ok()?
                }
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                other => other,
            },
            byte => byte,
        });
    }
    Some(bytes)
}

#[test]
fn what_is_known_to_differ_is_told_to_users() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/DIFFERENCES.md");
    let differences = std::fs::read_to_string(path).unwrap();
    for (words, _) in KNOWN {
        assert!(differences.contains(words), "{words}");
    }
}

#[test]
fn a_difference_is_known_only_where_it_is_said_to_be() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let is_known = |session: &str, direct: &str, through: &str| {
        let (session, direct, through) = (lines(session), lines(direct), lines(through));
        let before = vec![vec!["Ok".to_owned()]; session.len() - 1];
        let case = Case {
            lines: &session,
            direct: &direct,
            through: &through,
            before: &before,
        };
        case.known().is_some()
    };
    let column = |length: u8, kind: u8| {
        format!(
            r"Column #2 [9] \x03def\x0c?\x00\x{length:02x}\x00\x00\x00\x{kind:02x}\x80\x00\'\x00\x00"
        )
    };
    let rows = |length, kind, value| format!("{}\nRow {value}", column(length, kind));
    assert!(is_known("x\nSELECT @a", &rows(1, 2, 3), &rows(9, 2, 3)));
    assert!(!is_known("x\nSELECT @a", &rows(1, 2, 3), &rows(9, 2, 4)));
    assert!(is_known("x\nSELECT @a", &rows(1, 2, 3), &rows(1, 4, 3)));
    assert!(!is_known("x\nSELECT a", &rows(1, 2, 3), &rows(9, 2, 3)));
    let tracks = |lines: &str| format!("\\login +SESSION_TRACK,-DEPRECATE_EOF 45 -\n{lines}");
    let prepared = tracks("\\prepare p DO 1\nSET a = 1");
    let told = r#"Ok #1 OkPacket { 0 } ["USE d", "a=1"]"#;
    assert!(is_known(&prepared, told, r#"Ok #1 OkPacket { 0 } ["a=1"]"#));
    assert!(!is_known(
        &prepared,
        told,
        r#"Ok #1 OkPacket { 0 } ["a=2"]"#
    ));
    assert!(!is_known(
        &tracks("DO 2\nSET a = 1"),
        told,
        r#"Ok #1 OkPacket { 0 } ["a=1"]"#
    ));
    let (direct, through) = ("Err x at row 0", "Err x at row 1");
    assert!(is_known("x\nCALL p()", direct, through));
    assert!(!is_known("x\nCALL p()", direct, "Err y at row 0"));
    let known = is_known("x\nCALL p()\nSHOW WARNINGS", "Row 1", "Row 2");
    assert_eq!(known, Server::is_mariadb());
    assert!(!is_known("x\nSELECT 5\nSHOW WARNINGS", "Row 1", "Row 2"));
    assert!(!is_known("x\nCALL p()\nSELECT 5", "Row 1", "Row 2"));
    let asks = "x\nDO 1\nSELECT FOUND_ROWS()";
    // On MySQL DO may change it.
    assert!(is_known(asks, r"Row #3 [2] \x010", r"Row #3 [2] \x011"));
    let known = is_known(asks, r"Row #3 [2] \x011", r"Row #3 [2] \x010");
    assert_eq!(known, !Server::is_mariadb());
}
