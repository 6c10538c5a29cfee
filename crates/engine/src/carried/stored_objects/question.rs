//! The questions for what leaves something unseen, and what follows from the answers: what runs another that does,
//! does, too, and is asked for by its name until nothing new is found.

use events::Timestamp;
use session::statement::{Dialect, Flavor, Stored, leaves_unseen, patterns, sets_variables};
use wire::TextResultSet;

use super::names::{Names, Reached, Word, word_of};
use crate::carried::routines::unhex;

/// So many are looked at in one answer.
const ROWS_MAX: usize = 4_096;
/// Longer ones are not looked at: they may leave anything.
const TEXT_MAX: usize = 16 << 10;
/// What leads to others is followed for so many questions, each about so many names.
const QUESTIONS_MAX: u32 = 16;
const NAMES_AT_ONCE: usize = 64;

/// The schemas that are the server's own are left out.
const NOT_OWN: &str = " NOT IN('mysql','sys','performance_schema','information_schema')";

/// A question, and its answer.
pub(crate) struct ReadStored {
    /// When the first of these questions was sent.
    pub(super) since: Timestamp,
    /// How many answers there were.
    answers: u32,
    /// What leads to what leaves something that nothing tells of.
    pub(super) unseen: Found,
    /// What leads to what sets variables, which an error does not tell of.
    pub(super) sets: Found,
    /// Names by which nobody has asked yet.
    leads: Vec<Word>,
    /// There were more than are looked at.
    pub(super) is_cut: bool,
    /// The answer.
    pub rows: TextResultSet,
}

/// One that the server told of.
struct Told<'a> {
    place: (&'a [u8], &'a [u8]),
    /// `None` if it is too long.
    text: Option<&'a [u8]>,
}

impl ReadStored {
    pub(super) fn new(now: Timestamp) -> Self {
        Self {
            since: now,
            answers: 0,
            unseen: Found::default(),
            sets: Found::default(),
            leads: Vec::new(),
            is_cut: false,
            rows: TextResultSet::default(),
        }
    }

    /// The next question, if there is one.
    pub(super) fn question(&mut self, flavor: Flavor) -> Option<Vec<u8>> {
        if self.answers == 0 {
            let of = |stored| patterns(stored, flavor).iter();
            let patterns = |stored| of(stored).map(|&pattern| pattern.to_owned()).collect();
            return Some(question((flavor, packages(flavor)), patterns));
        }
        let at = self.leads.len().saturating_sub(NAMES_AT_ONCE);
        let patterns: Vec<_> = self.leads.drain(at..).map(|name| pattern(&name)).collect();
        let more = !patterns.is_empty() && self.answers < QUESTIONS_MAX;
        self.is_cut |= !patterns.is_empty() && !more;
        more.then(|| question((flavor, ""), |_| patterns.clone()))
    }

    /// Takes the answer in.
    pub(super) fn take_in(&mut self, dialect: &Dialect) {
        let rows = std::mem::take(&mut self.rows);
        self.answers += 1;
        self.is_cut |= rows.rows().count() >= ROWS_MAX;
        for row in rows.rows() {
            let [Some(stored), Some(schema), Some(name), text] = row else {
                continue;
            };
            let (Some(schema), Some(name)) = (unhex(schema), unhex(name)) else {
                continue;
            };
            let text = text.as_deref().and_then(unhex);
            let told = Told {
                place: (&schema, &name),
                text: text.as_deref(),
            };
            self.take(stored, &told, dialect);
        }
    }

    fn take(&mut self, stored: &[u8], told: &Told<'_>, dialect: &Dialect) {
        let unseen = |of| {
            told.text
                .is_none_or(|text| leaves_unseen(text, of, dialect))
        };
        self.unseen.follow(stored, told, unseen, &mut self.leads);
        let sets = |_| told.text.is_some_and(|text| sets_variables(text, dialect));
        self.sets.follow(stored, told, sets, &mut self.leads);
    }
}

/// Names that lead to what does something unseen.
#[derive(Default)]
pub(super) struct Found {
    /// What a statement can name.
    pub(super) names: Names,
    /// Routines, which others run.
    routines: Names,
}

impl Found {
    /// Looks at one that the server told of: whether it does the thing itself, or runs what does. Names by which others
    /// may run it are added to `leads`.
    fn follow(
        &mut self,
        stored: &[u8],
        told: &Told<'_>,
        does: impl Fn(Stored) -> bool,
        leads: &mut Vec<Word>,
    ) {
        let runs = |of: &Names| of.reached(told.text?, &[told.place.0]);
        let (calls, reached) = (runs(&self.routines).is_some(), runs(&self.names));
        let does = |of| calls || does(of);
        let mut find = |reached| {
            if self.names.add(told.place, reached) {
                leads.extend(word_of(told.place.1));
            }
        };
        match stored {
            b"T" if reached.is_some() || does(Stored::Trigger) => find(Reached::Written),
            b"V" if does(Stored::View) => find(Reached::Named),
            // Written to, it fires the trigger of its table.
            b"V" => reached.into_iter().for_each(find),
            b"B" | b"F" | b"H" | b"P" => {
                // Whoever calls what leaves something itself is pinned for that.
                if matches!(stored, b"P" | b"F") && reached.is_some() {
                    find(Reached::Named);
                }
                let of = match stored {
                    b"B" | b"H" => Stored::Package,
                    _ => Stored::Routine,
                };
                let does = reached.is_some() || does(of);
                if does && self.routines.add(told.place, Reached::Named) {
                    leads.extend(word_of(told.place.1));
                }
            }
            _ => {}
        }
    }
}

/// What LIKE finds a name by; it may find more.
fn pattern(name: &[u8]) -> String {
    let letter = |&byte: &u8| match byte {
        byte if byte.is_ascii_alphanumeric() => char::from(byte),
        _ => '%',
    };
    let letters: String = name.iter().map(letter).collect();
    format!("%{letters}%")
}

/// Where one kind is listed, and in which columns.
struct Source {
    table: &'static str,
    letter: &'static str,
    schema: &'static str,
    name: &'static str,
    text: &'static str,
}

const TRIGGERS: Source = Source {
    table: "TRIGGERS",
    letter: "'T'",
    schema: "EVENT_OBJECT_SCHEMA",
    name: "EVENT_OBJECT_TABLE",
    text: "ACTION_STATEMENT",
};
const VIEWS: Source = Source {
    table: "VIEWS",
    letter: "'V'",
    schema: "TABLE_SCHEMA",
    name: "TABLE_NAME",
    text: "VIEW_DEFINITION",
};
const ROUTINES: Source = Source {
    table: "ROUTINES",
    // A procedure, a function, or the body of a package, which may be hidden.
    letter: "IF(ROUTINE_TYPE='PACKAGE BODY',IF(ROUTINE_DEFINITION IS NULL,'H','B'),LEFT(ROUTINE_TYPE,1))",
    schema: "ROUTINE_SCHEMA",
    name: "ROUTINE_NAME",
    text: "ROUTINE_DEFINITION",
};

impl Source {
    /// Selects those with a text like one of these, or for which `also` holds.
    fn select(&self, hint: &str, patterns: &[String], also: &str) -> String {
        let Self {
            table,
            letter,
            schema,
            name,
            text,
        } = self;
        let hex = |column| format!("HEX(CONVERT({column} USING utf8mb4))");
        let like = |pattern| {
            format!("CONVERT({text} USING utf8mb4) COLLATE utf8mb4_general_ci LIKE '{pattern}'")
        };
        let likes: Vec<_> = patterns.iter().map(like).collect();
        format!(
            "SELECT {hint}{letter},{},{},IF(LENGTH({text})<{TEXT_MAX},{},NULL) \
             FROM information_schema.{table} WHERE {schema}{NOT_OWN} AND({}{also})",
            hex(schema),
            hex(name),
            hex(text),
            likes.join(" OR ")
        )
    }
}

/// What finds each body of a package, where there are any.
const fn packages(flavor: Flavor) -> &'static str {
    match flavor {
        Flavor::MariaDb => " OR ROUTINE_TYPE='PACKAGE BODY'",
        Flavor::MySql => "",
    }
}

/// The question for what is stored with a text like one of these, and for the routines for which `also` holds.
fn question((flavor, also): (Flavor, &str), patterns: impl Fn(Stored) -> Vec<String>) -> Vec<u8> {
    let hint = match flavor {
        Flavor::MariaDb => "",
        // Very many of them are no reason to keep a connection for long.
        Flavor::MySql => "/*+ MAX_EXECUTION_TIME(10000) */ ",
    };
    let triggers = TRIGGERS.select(hint, &patterns(Stored::Trigger), "");
    let views = VIEWS.select("", &patterns(Stored::View), "");
    let routines = ROUTINES.select("", &patterns(Stored::Routine), also);
    format!("{triggers} UNION ALL {views} UNION ALL {routines} LIMIT {ROWS_MAX}").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told<'a>(name: &'a str, text: &'a str) -> Told<'a> {
        Told {
            place: (b"shop", name.as_bytes()),
            text: Some(text.as_bytes()),
        }
    }

    #[test]
    fn what_runs_one_that_leaves_something_is_found_by_its_name() {
        let dialect = Dialect::new(Flavor::MariaDb, 101_119);
        let mut read = ReadStored::new(Timestamp::ZERO);
        let mut take = |stored: &str, name: &str, text: &str| {
            read.take(stored.as_bytes(), &told(name, text), &dialect);
            std::mem::take(&mut read.leads)
        };
        let leads = |name: &str| vec![Word::from(name.as_bytes())];
        assert!(take("T", "plain", "SET NEW.a = 1").is_empty());
        assert!(take("V", "reads", "select `a` from `orders`").is_empty());
        let makes = "CREATE TEMPORARY TABLE s (a INT)";
        assert_eq!(take("P", "Makes", makes), leads("makes"));
        assert_eq!(take("F", "calls", "CALL shop.makes()"), leads("calls"));
        assert_eq!(take("T", "orders", "SET NEW.a = calls()"), leads("orders"));
        assert_eq!(
            take("V", "reads", "select `a` from `orders`"),
            leads("reads")
        );
        assert_eq!(take("V", "uses", "select `calls`() AS `a`"), leads("uses"));
        let body = "AS v INT := 1; FUNCTION nxt RETURN INT AS BEGIN v := v + 1; RETURN v; END; END";
        assert_eq!(take("B", "pk", body), leads("pk"));
        assert_eq!(take("T", "drawn", "SET NEW.a = pk.nxt()"), leads("drawn"));
        assert!(
            take(
                "B",
                "none",
                "AS FUNCTION f RETURN INT AS BEGIN RETURN 5; END; END"
            )
            .is_empty()
        );
        // As a procedure it is named itself, and may be called by others.
        let writes = take("P", "writes", "INSERT INTO reads VALUES (1)");
        assert_eq!(writes.len(), 2);
        let fills = "BEGIN INSERT INTO orders VALUES (1); RETURN 1; END";
        assert_eq!(take("F", "fills", fills).len(), 2);
        assert!(take("T", "plain", "SET NEW.a = 1").is_empty());
        for (text, reached) in [
            ("SELECT fills()", Some(Reached::Named)),
            ("INSERT INTO orders VALUES (1)", Some(Reached::Written)),
            ("INSERT INTO reads VALUES (1)", Some(Reached::Written)),
            ("SELECT * FROM uses", Some(Reached::Named)),
            ("CALL writes()", Some(Reached::Named)),
            // That pins as it is.
            ("SELECT calls()", None),
            ("INSERT INTO plain VALUES (1)", None),
        ] {
            assert_eq!(
                read.unseen.names.reached(text.as_bytes(), &[b"shop"]),
                reached,
                "{text}"
            );
        }
    }

    #[test]
    fn a_package_that_is_hidden_may_have_variables() {
        let dialect = Dialect::new(Flavor::MariaDb, 101_119);
        let mut read = ReadStored::new(Timestamp::ZERO);
        let hidden = Told {
            text: None,
            ..told("pk", "")
        };
        read.take(b"H", &hidden, &dialect);
        read.take(
            b"V",
            &told("v", "select `shop`.`pk`.`f`() AS `a`"),
            &dialect,
        );
        let reached = read.unseen.names.reached(b"SELECT * FROM v", &[b"shop"]);
        assert_eq!(reached, Some(Reached::Named));
    }

    #[test]
    fn questions_end() {
        let mut read = ReadStored::new(Timestamp::ZERO);
        assert!(read.question(Flavor::MySql).is_some());
        read.answers = 1;
        assert!(read.question(Flavor::MySql).is_none());
        read.leads = (0..2_000)
            .map(|n| Word::from(format!("n'{n}").as_bytes()))
            .collect();
        let mut asked = 0;
        while let Some(question) = read.question(Flavor::MySql) {
            assert!(!question.windows(2).any(|part| part == b"n'"));
            read.answers += 1;
            asked += 1;
        }
        assert_eq!(asked, QUESTIONS_MAX - 1);
        assert!(read.is_cut);
    }
}
