//! Sessions of the statements in the servers' own test files, in other ways than there: prepared, in procedures, at once,
//! several in one text, with questions in between, and with some of them left out. What concerns more than the
//! session's own schemas, or is told with times and places, is not taken.

use crate::differential::session::with;
use crate::suites;
use crate::support::{Numbers, Server};

/// So many statements of a file make a session: at least, and up to so many more.
const STATEMENTS: usize = 6;
const MORE_STATEMENTS: usize = 34;

/// Longer ones are not taken.
const LEN_MAX: usize = 1_500;

/// What most sessions have instead of flags of their own.
const FLAGS: [&str; 12] = [
    "usual",
    "usual",
    "usual",
    "usual",
    "+SESSION_TRACK",
    "-DEPRECATE_EOF",
    "+SESSION_TRACK,-DEPRECATE_EOF",
    "+FOUND_ROWS",
    "+COMPRESS",
    "*CACHE_METADATA",
    "+MULTI_RESULTS,+PS_MULTI_RESULTS",
    "+SESSION_TRACK,+MULTI_RESULTS",
];

const COLLATIONS: [&str; 6] = ["45", "45", "8", "33", "63", "224"];

const QUESTIONS: [&str; 11] = [
    "SHOW WARNINGS",
    "SHOW ERRORS",
    "SHOW COUNT(*) WARNINGS",
    "SELECT ROW_COUNT()",
    "SELECT FOUND_ROWS()",
    "SELECT LAST_INSERT_ID()",
    "SELECT @@warning_count, @@error_count",
    "SELECT @n, @a, @b, @x",
    "SELECT DATABASE(), @@sql_mode",
    "SELECT @@session.sql_select_limit, @@autocommit",
    "\\where",
];

const TURNS: [&str; 8] = [
    "\\reset_connection",
    "\\init_db $s",
    "\\ping",
    "BEGIN",
    "COMMIT",
    "ROLLBACK",
    "SET autocommit = 0",
    "SET autocommit = 1",
];

const MODES: [&str; 4] = [
    "",
    "ANSI",
    "NO_BACKSLASH_ESCAPES",
    "ANSI_QUOTES,PIPES_AS_CONCAT",
];

/// How a session says its statements.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Text,
    Binary,
    ByName,
    Immediate,
    Procedure,
    Several,
    Mixed,
}

const WAYS: [Way; 9] = [
    Way::Text,
    Way::Binary,
    Way::ByName,
    Way::Immediate,
    Way::Procedure,
    Way::Several,
    Way::Mixed,
    Way::Mixed,
    Way::Mixed,
];

/// The first words of statements that are taken.
const VERBS: [&str; 38] = [
    "select",
    "insert",
    "update",
    "delete",
    "replace",
    "create",
    "drop",
    "alter",
    "set",
    "show",
    "call",
    "do",
    "truncate",
    "rename",
    "prepare",
    "execute",
    "deallocate",
    "begin",
    "start",
    "commit",
    "rollback",
    "savepoint",
    "release",
    "lock",
    "unlock",
    "handler",
    "with",
    "values",
    "table",
    "use",
    "desc",
    "describe",
    "check",
    "checksum",
    "repair",
    "signal",
    "get",
    "resignal",
];

/// What is in no statement that is taken: it concerns others, or is never the same twice.
const LEFT_OUT: [&str; 78] = [
    "global",
    "persist",
    "user",
    "grant",
    "revoke",
    "role",
    "password",
    "identified",
    "definer",
    "sql security",
    "shutdown",
    "restart",
    "kill",
    "plugin",
    "component",
    "slave",
    "master",
    "replica",
    "gtid",
    "server_id",
    "binlog",
    "reset",
    "flush",
    "backup",
    "lock instance",
    "event",
    "database",
    "schema",
    "tablespace",
    "import",
    "outfile",
    "dumpfile",
    "load ",
    "load_file",
    "create server",
    "drop server",
    "federated",
    "connect",
    "directory",
    "undo",
    "xa ",
    "sleep",
    "benchmark",
    "wait_for",
    "timeout",
    "lock_wait",
    "execution_time",
    "statement_time",
    "debug",
    "processlist",
    "performance_schema",
    "information_schema",
    "mysql.",
    "sys.",
    "mtr",
    "innodb_",
    "status",
    "show engine",
    "profil",
    "logs",
    "analyze",
    "optimize",
    "histogram",
    "explain",
    "trace",
    "uuid",
    "rand(",
    "now(",
    "sysdate",
    "current_",
    "curdate",
    "curtime",
    "utc_",
    "timestamp(",
    "localtime",
    "created",
    "delayed",
    "open tables",
];

/// The same, of names of variables and of what only the program that plays the files knows.
const SIGNS: [&str; 12] = [
    "$",
    "#",
    "--",
    "\\r",
    "@@host",
    "@@port",
    "@@socket",
    "@@datadir",
    "@@basedir",
    "@@version",
    "triggers",
    "variables",
];

/// The statements of all files, each with those of a file in a list.
pub(super) struct Mixed(Vec<Vec<String>>);

impl Mixed {
    /// Those of the suites that the environment names; `None` if they have not been unpacked.
    pub(super) fn find() -> Option<Self> {
        let texts = suites::texts()?;
        let files = texts.iter().map(|text| statements(text));
        Some(Self(
            files.filter(|file| file.len() >= STATEMENTS).collect(),
        ))
    }

    /// The lines of the session of a seed.
    pub(super) fn session(&self, seed: u64) -> Vec<String> {
        let mut numbers = Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let file = &self.0[numbers.below(self.0.len())];
        let from = begins(file, &mut numbers);
        let count = STATEMENTS + numbers.below(MORE_STATEMENTS);
        let way = WAYS[numbers.below(WAYS.len())];
        let mut session = Session::new(numbers, way);
        let chosen = file[from..].iter().take(count);
        for statement in chosen.filter(|statement| is_taken(statement)) {
            session.say(statement);
        }
        session.ended()
    }
}

/// Where a session begins in a file: three of four times where a table is made.
fn begins(file: &[String], numbers: &mut Numbers) -> usize {
    let makes = |statement: &str| {
        let statement = statement.to_ascii_lowercase();
        statement.starts_with("create table") || statement.starts_with("create temporary table")
    };
    let made: Vec<_> = (0..file.len()).filter(|&at| makes(&file[at])).collect();
    match made.is_empty() || numbers.below(4) == 0 {
        true => numbers.below(file.len()),
        false => made[numbers.below(made.len())],
    }
}

/// The statements of a file, each in a line of its own. Commands of the program that plays it are not among them, but
/// for those that look like statements and fail.
fn statements(text: &str) -> Vec<String> {
    let (mut end, mut current, mut found) = (";".to_owned(), String::new(), Vec::new());
    for line in text.lines().map(str::trim) {
        let command = line.trim_start_matches("--").trim_start();
        let word = command.split_whitespace().next().unwrap_or_default();
        if word.eq_ignore_ascii_case("delimiter") {
            let new = command[word.len()..].trim();
            let new = new.strip_suffix(end.as_str()).unwrap_or(new).trim();
            end = if new.is_empty() {
                ";".into()
            } else {
                new.into()
            };
            continue;
        }
        if line.starts_with('#') || current.is_empty() && !begins_statement(line) {
            continue;
        }
        current.push_str(line);
        while let Some((statement, rest)) = current.split_once(end.as_str()) {
            found.push(statement.trim().replace('\t', " "));
            let rest = rest.trim_start();
            current = if begins_statement(rest) {
                rest.into()
            } else {
                String::new()
            };
        }
        if !current.is_empty() {
            current.push(' ');
        }
    }
    found
}

fn begins_statement(line: &str) -> bool {
    let line = line.trim_start_matches(['(', ' ']);
    let word = line.split(|c: char| !c.is_ascii_alphabetic()).next();
    word.is_some_and(|word| VERBS.iter().any(|verb| verb.eq_ignore_ascii_case(word)))
}

fn is_taken(statement: &str) -> bool {
    let lower = statement.to_ascii_lowercase();
    let balanced = |quote| statement.matches(quote).count().is_multiple_of(2);
    statement.len() < LEN_MAX
        && balanced('\'')
        && balanced('"')
        && !LEFT_OUT
            .iter()
            .chain(&SIGNS)
            .any(|word| lower.contains(word))
        && (!lower.starts_with("use ") || lower == "use test")
}

/// A session that is being made.
struct Session {
    numbers: Numbers,
    way: Way,
    lines: Vec<String>,
    /// How many statements and procedures it has made.
    made: usize,
}

impl Session {
    fn new(mut numbers: Numbers, way: Way) -> Self {
        let flags = FLAGS[numbers.below(FLAGS.len())];
        let collation = COLLATIONS[numbers.below(COLLATIONS.len())];
        let login = format!("\\login {flags} {collation} $s");
        let mut lines = vec![match way {
            Way::Several | Way::Mixed => with("+MULTI_STATEMENTS", &login),
            _ => login,
        }];
        if numbers.below(6) == 0 {
            let mode = MODES[numbers.below(MODES.len())];
            lines.push(format!("SET sql_mode = '{mode}'"));
        }
        if numbers.below(10) == 0 {
            lines.push("SET autocommit = 0".into());
        }
        Self {
            numbers,
            way,
            lines,
            made: 0,
        }
    }

    fn one_of(&mut self, count: usize) -> bool {
        self.numbers.below(count) == 0
    }

    fn say(&mut self, statement: &str) {
        if self.one_of(10) {
            return;
        }
        let own = [("test.", "$s."), ("`test`", "`$s`"), ("'test'", "'$s'")];
        let replace = |text: String, (name, own): (&str, &str)| text.replace(name, own);
        let statement = own.into_iter().fold(statement.to_owned(), replace);
        let statement = match statement.eq_ignore_ascii_case("use test") {
            true => "USE $s".to_owned(),
            false => statement,
        };
        let lower = statement.to_ascii_lowercase();
        let way = match self.way {
            // MariaDB never ends the second execution of one that makes a view anew.
            _ if lower.contains("view") => Way::Text,
            Way::Mixed => WAYS[self.numbers.below(WAYS.len())],
            way => way,
        };
        self.say_in(way, &statement, &lower);
        if self.one_of(4) {
            let question = QUESTIONS[self.numbers.below(QUESTIONS.len())];
            self.lines.push(question.into());
        }
        if self.one_of(30) {
            let turn = TURNS[self.numbers.below(TURNS.len())];
            self.lines.push(turn.into());
            // MariaDB keeps the character set of no schema until then.
            if turn == "\\reset_connection" {
                self.lines.push("\\init_db $s".into());
            }
        }
    }

    fn say_in(&mut self, way: Way, statement: &str, lower: &str) {
        let number = self.made;
        let plain = !statement.contains(['\'', '\\']);
        let defines = ["procedure", "function", "trigger", "begin"];
        let defines = defines.iter().any(|word| lower.contains(word));
        self.made += 1;
        match way {
            Way::Binary => self.say_binary(statement),
            Way::ByName if plain => {
                let name = number % 5;
                self.lines
                    .push(format!("PREPARE n{name} FROM '{statement}'"));
                self.lines.push(format!("EXECUTE n{name}"));
            }
            Way::Immediate if plain && Server::is_mariadb() => {
                self.lines.push(format!("EXECUTE IMMEDIATE '{statement}'"));
            }
            Way::Procedure if !defines => {
                self.lines
                    .push(format!("CREATE PROCEDURE sp{number}() {statement}"));
                self.lines.push(format!("CALL sp{number}()"));
            }
            Way::Several if !defines => match self.lines.last_mut() {
                Some(last) if !last.starts_with(['\\', 'U']) && last.len() < LEN_MAX => {
                    last.push_str("; ");
                    last.push_str(statement);
                }
                _ => self.lines.push(statement.into()),
            },
            _ => self.lines.push(statement.into()),
        }
    }

    fn say_binary(&mut self, statement: &str) {
        let number = self.made;
        self.lines.push(format!("\\prepare p{number} {statement}"));
        let execution = ["execute", "execute", "cursor"][self.numbers.below(3)];
        self.lines.push(format!("\\{execution} p{number}"));
        if self.one_of(3) {
            self.lines.push(format!("\\execute p{number}"));
        }
        if self.one_of(2) {
            self.lines.push(format!("\\close p{number}"));
        }
    }

    fn ended(mut self) -> Vec<String> {
        self.lines
            .extend(["\\where".to_owned(), "\\newcomer".to_owned()]);
        self.lines
    }
}

#[test]
fn statements_of_a_file_are_found_between_the_commands_of_its_program() {
    let text = "--source include/x.inc\n# remark; no statement\nlet $a = 1;\nCREATE TABLE t\n  (a INT); INSERT INTO t\tVALUES (1);\n\
        --error 1\nSELECT 1;\ndelimiter |;\nCREATE PROCEDURE p() BEGIN SELECT 1; END|\ndelimiter ;|\neval SELECT $a;\n(SELECT 2);\n";
    let expected = [
        "CREATE TABLE t (a INT)",
        "INSERT INTO t VALUES (1)",
        "SELECT 1",
        "CREATE PROCEDURE p() BEGIN SELECT 1; END",
        "(SELECT 2)",
    ];
    assert_eq!(statements(text), expected);
    for statement in ["SET GLOBAL a = 1", "SELECT NOW()", "USE mysql", "SELECT 'a"] {
        assert!(!is_taken(statement), "{statement}");
    }
    assert!(is_taken("SELECT a FROM t"));
    let mixed = Mixed(vec![expected.map(str::to_owned).to_vec()]);
    for seed in 0..200 {
        let lines = mixed.session(seed);
        assert_eq!(lines, mixed.session(seed));
        assert!(lines[0].starts_with("\\login "), "{}", lines[0]);
        assert_eq!(lines.last().unwrap(), "\\newcomer");
    }
}
