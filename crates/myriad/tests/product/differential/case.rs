//! A session up to where it differs, and what can be asked about it. Which differences are known is in `known`.

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

/// Where the parts of a column definition stand in the last twelve bytes of it. Source: "Column Definition" in
/// the MySQL manual.
pub(super) const CHARSET: Range<usize> = 0..6;
pub(super) const TYPE: Range<usize> = 0..10;

/// ERR 1235 as it stands in an answer.
const NOT_YET: &str = "\\xff\\xd3\\x04";

impl Case<'_> {
    pub(super) fn last(&self) -> &str {
        self.lines.last().map_or("", String::as_str)
    }

    /// The last line, or the one that has prepared by name what that executes.
    pub(super) fn text_that_runs(&self) -> &str {
        let by_name = |verb: &str, line: &str| {
            let rest = line.strip_prefix(verb)?;
            let name = rest.split(" FROM ").next()?.split(" USING ").next()?;
            Some(name.to_ascii_lowercase())
        };
        let Some(name) = by_name("EXECUTE ", self.last()) else {
            return self.last();
        };
        let prepares = |line: &&String| by_name("PREPARE ", line).as_ref() == Some(&name);
        self.lines
            .iter()
            .rfind(prepares)
            .map_or(self.last(), String::as_str)
    }

    /// True if one of the lines has one of these words.
    pub(super) fn has(&self, words: &[&str]) -> bool {
        let has = |line: &String| words.iter().any(|word| line.contains(word));
        self.lines.iter().any(has)
    }

    /// True if the session has begun anew without a login.
    pub(super) fn resets(&self) -> bool {
        self.has(&["\\reset_connection"])
    }

    /// The same, also if it may be somebody else since.
    pub(super) fn begins_anew(&self) -> bool {
        self.has(&["\\reset_connection", "\\change_user"])
    }

    /// True if a character set was set, in whatever way.
    pub(super) fn names_charset(&self) -> bool {
        self.sets_charset() || self.has(&["NAMES"])
    }

    /// Whether the last line sets a variable as `@@x`, without SESSION or GLOBAL, on MariaDB.
    pub(super) fn sets_without_scope(&self) -> bool {
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let names = self.last().split("@@").skip(1);
        let mut rests = names.map(|name| name.trim_start_matches(is_name));
        let is_set = self.last().starts_with("SET ") && Server::is_mariadb();
        is_set && rests.any(|rest| !rest.starts_with('.'))
    }

    /// True if only packets differ that are OK packets in both answers.
    pub(super) fn same_but_oks(&self) -> bool {
        let are_ok = |lines: [&String; 2]| lines.iter().all(|line| line.starts_with("Ok "));
        let mut pairs = self.direct.iter().zip(self.through);
        let same = pairs.all(|(direct, through)| direct == through || are_ok([direct, through]));
        same && self.direct.len() == self.through.len()
    }

    /// True if one of the variables of character sets was set by itself.
    pub(super) fn sets_charset(&self) -> bool {
        self.has(&["collation_connection =", "character_set_", "SET CHAR"])
    }

    pub(super) fn is_refused(&self) -> bool {
        let first = self.through.first();
        first.is_some_and(|first| first.contains(NOT_YET))
    }

    /// True if the last line asks about the statement before it; on MySQL some commands do.
    pub(super) fn asks(&self) -> bool {
        let pings = ["\\ping", "\\set_option", "\\init_db"];
        let pings = pings.map(|command| self.last().starts_with(command));
        pings.contains(&true) && !Server::is_mariadb() || asks(self.text_that_runs())
    }

    /// True if the last line executes what was prepared last under its name, and that begins like this.
    pub(super) fn executes(&self, begins: &str) -> bool {
        let mut words = self.last().split(' ');
        let runs = matches!(words.next(), Some("\\execute" | "\\again" | "\\cursor"));
        let Some(name) = words.next().filter(|_| runs) else {
            return false;
        };
        let prepares = format!("\\prepare {name} ");
        let prepared = self.succeeded();
        let text = prepared
            .filter_map(|line| line.strip_prefix(&prepares))
            .last();
        text.is_some_and(|text| text.starts_with(begins))
    }

    /// True if a prepared statement was executed with values of different types.
    pub(super) fn retypes(&self) -> bool {
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
    pub(super) fn only_schema_is_told(&self) -> bool {
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

    /// True if the answers end with an ERR, and differ in nothing but that a transaction is told of before it, directly.
    pub(super) fn fails_in_unsaid_transaction(&self) -> bool {
        let fails = self
            .direct
            .last()
            .is_some_and(|last| last.starts_with("Err "));
        let same = |(direct, through): (&String, &String)| {
            let told = direct.starts_with("ColumnsEnd ") && direct.ends_with("\\x01\\x00");
            let unsaid = direct.replacen("\\x01\\x00", "\\x00\\x00", 1);
            direct == through || told && unsaid == *through
        };
        fails && self.direct.len() == self.through.len() && zip(self.direct, self.through).all(same)
    }

    /// True if only packets differ that are between definitions of columns and rows.
    pub(super) fn same_but_columns_end(&self) -> bool {
        let ends = |line: &String| line.starts_with("ColumnsEnd ");
        let same = |(direct, through): (&String, &String)| {
            direct == through || ends(direct) && ends(through)
        };
        self.direct.len() == self.through.len() && zip(self.direct, self.through).all(same)
    }

    /// True if status flags differ, and only in whether a transaction just reads.
    pub(super) fn same_but_access_modes(&self) -> bool {
        let writes = |line: &String| {
            let line = line.replace(r"\x03 ", r"\x03\x00");
            line.replace(r"\x01 ", r"\x01\x00")
        };
        let [direct, through] = [self.direct, self.through].map(|told| told.iter().map(writes));
        direct.eq(through)
    }

    /// True if only packets differ that end an answer.
    pub(super) fn same_but_ends(&self) -> bool {
        let ends = |line: &String| line.starts_with("Ok ") || line.starts_with("RowsEnd ");
        let same = |(direct, through): (&String, &String)| {
            direct == through || ends(direct) && ends(through)
        };
        self.direct.len() == self.through.len() && zip(self.direct, self.through).all(same)
    }

    /// True if the answers are the same apart from what session-track blocks tell of one variable.
    pub(super) fn same_but_told(&self, variable: &str) -> bool {
        let begins = format!("\"{variable}=");
        let without = |line: &String| {
            let parts = line.split_inclusive([' ', ']']);
            let rest = parts.filter(|part| !part.trim_start_matches('[').starts_with(&begins));
            rest.collect::<String>()
        };
        let same = |(direct, through): (&String, &String)| without(direct) == without(through);
        self.direct.len() == self.through.len() && zip(self.direct, self.through).all(same)
    }

    /// True if only definitions of columns differ, and in this part only.
    pub(super) fn same_but(&self, part: Range<usize>) -> bool {
        let same = |(direct, through): (&String, &String)| {
            let [direct_rest, through_rest] =
                [direct, through].map(|line| column_without(line, &part));
            direct == through || direct_rest.is_some() && direct_rest == through_rest
        };
        self.direct.len() == self.through.len() && zip(self.direct, self.through).all(same)
    }

    /// True if definitions of columns differ in their types only, and then directly a value does not fit the type.
    pub(super) fn same_until_converted(&self) -> bool {
        let unfit = |told: &String| told.contains("#HY000Cannot convert string ");
        let Some(same) = self.direct.iter().position(unfit) else {
            return false;
        };
        let cut = Case {
            direct: &self.direct[..same],
            through: &self.through[..same.min(self.through.len())],
            ..*self
        };
        same + 1 == self.direct.len() && cut.same_but(TYPE)
    }

    /// True if definitions of columns differ in their types only, and nothing else does but the rows of these types.
    pub(super) fn same_but_types(&self) -> bool {
        let is_row = |line: &String| line.starts_with("Row ");
        let same = |(direct, through): (&String, &String)| {
            let [direct_rest, through_rest] =
                [direct, through].map(|line| column_without(line, &TYPE));
            let rows = is_row(direct) && is_row(through);
            direct == through || rows || direct_rest.is_some() && direct_rest == through_rest
        };
        let mut pairs = zip(self.direct, self.through);
        let retyped = pairs.any(|(direct, through)| direct != through && !is_row(direct));
        retyped
            && self.direct.len() == self.through.len()
            && zip(self.direct, self.through).all(same)
    }

    /// True if definitions of columns differ in their types only, and numbers in how many zeros end them.
    pub(super) fn same_but_digits(&self) -> bool {
        let number = |value: &String| value.parse::<f64>().ok();
        let same = |(value, other): (&String, &String)| {
            value == other || number(value).is_some() && number(value) == number(other)
        };
        let mut pairs = zip(self.direct, self.through);
        self.same_but_types()
            && pairs.all(|(told, other)| match (row(told), row(other)) {
                (Some(told), Some(other)) => {
                    told.len() == other.len() && zip(&told, &other).all(same)
                }
                _ => told == other || !told.starts_with("Row "),
            })
    }

    /// True if nothing differs but values, and they are the same once `through` stands for `direct` in them. The columns
    /// of user variables may have other types.
    pub(super) fn same_values_but_for(&self, direct: &str, through: &str) -> bool {
        let types = self.last().contains('@');
        let column = |line: &str| column_without(line, &TYPE).filter(|_| types);
        let same = |(told, other): (&String, &String)| match (row(told), row(other)) {
            (Some(told), Some(other)) => {
                let replaced = told.iter().map(|value| value.replace(direct, through));
                replaced.eq(other)
            }
            _ => told == other || column(told).is_some() && column(told) == column(other),
        };
        self.direct.len() == self.through.len() && zip(self.direct, self.through).all(same)
    }

    /// True if there was a reset, and no line behind the last one begins like these.
    pub(super) fn is_as_reset(&self, unless: &[&str]) -> bool {
        let reset = self.last_line(&["\\reset_connection"]);
        reset.is_some() && reset > self.last_line(unless)
    }

    /// True if the schema was asked for its character set after a reset, and what came of it is still in force.
    pub(super) fn takes_from_schema(&self) -> bool {
        let taken = self.last_line(&["SET CHAR"]);
        let named = self.last_line(&["SET NAMES", "\\reset_connection"]);
        self.resets() && taken > named
    }

    /// The place of the last line that begins like one of these, and was not refused.
    fn last_line(&self, begins: &[&str]) -> Option<usize> {
        let failed = |place: usize| {
            let told = self.before.get(place).and_then(|told| told.first());
            told.is_some_and(|told| told.starts_with("Err "))
        };
        let begins = |(place, line): (usize, &String)| {
            begins.iter().any(|word| line.starts_with(word)) && !failed(place)
        };
        let mut lines = self.lines.iter().enumerate();
        lines.rposition(begins)
    }

    /// True if a line before assigns in its rows, and there was none.
    pub(super) fn sets_from_no_row(&self) -> bool {
        let is_row = |packet: &String| packet.starts_with("Row ");
        zip(self.lines, self.before)
            .any(|(line, told)| line.contains(":=") && !told.iter().any(is_row))
    }

    /// True if one of the lines names the table that is not InnoDB's.
    pub(super) fn names_other_engine(&self) -> bool {
        let mut words = self.lines.iter().flat_map(|line| line.split([' ', '\'']));
        words.any(|word| word == "m")
    }

    /// True if the last line is a write, whose OK counts one more warning through the front door.
    pub(super) fn write_is_warned_through(&self) -> bool {
        let ([direct], [through]) = (self.direct, self.through) else {
            return false;
        };
        let writes = [
            "INSERT",
            "REPLACE",
            "UPDATE",
            "DELETE",
            "EXECUTE",
            "\\execute",
            "\\again",
        ];
        let writes = writes.iter().any(|word| self.last().starts_with(word));
        let begins = [direct, through].map(|told| ok_before_warnings(told));
        let same = begins[0].is_some() && begins[0] == begins[1];
        writes && same && through > direct && is_one_more(direct, through)
    }

    /// True if the only difference is that one of the answers tells of warning 6414, or counts it.
    pub(super) fn same_but_mixed_engines(&self) -> bool {
        // Without the numbers of packets.
        let rest = |answer: &[String]| {
            let rest = answer.iter().filter(|line| !line.contains("\\x046414"));
            let shown = |line: &String| match line.split_once("] ") {
                Some((_, shown)) => shown.to_owned(),
                None => line.clone(),
            };
            rest.map(shown).collect::<Vec<_>>()
        };
        let told =
            self.direct.len() != self.through.len() && rest(self.direct) == rest(self.through);
        let lists = ["SHOW WARNINGS", "SHOW ERRORS"];
        let counts = self.asks() && !lists.iter().any(|word| self.last().starts_with(word));
        let counted = |(direct, through): (&String, &String)| {
            let same = counts || ok_before_warnings(direct).is_some();
            direct == through
                || same
                    && ok_before_warnings(direct) == ok_before_warnings(through)
                    && is_one_more(direct, through)
        };
        // The row that it takes the place of is told where it is not.
        let tells = |answer: &[String]| answer.iter().any(|line| line.contains("\\x046414"));
        let others = |answer: &[String]| {
            let others = answer.iter().filter(|line| !line.starts_with("Row "));
            others.cloned().collect::<Vec<_>>()
        };
        let limited = self.last().contains(" LIMIT ")
            && tells(self.direct) != tells(self.through)
            && self.direct.len() == self.through.len()
            && others(self.direct) == others(self.through);
        told || !counts && limited
            || self.direct.len() == self.through.len()
                && zip(self.direct, self.through).all(counted)
    }

    /// True if no line before was answered with rows that `FOUND_ROWS()` counts.
    pub(super) fn found_nothing(&self) -> bool {
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
    pub(super) fn same_count(&self) -> bool {
        let begins = |told: &[String]| {
            told.first()
                .and_then(|told| told.split("] ").nth(1)?.get(..12).map(str::to_owned))
        };
        let [direct, through] = [self.direct, self.through].map(begins);
        direct.is_some() && direct == through
    }

    /// True if only one row differs.
    pub(super) fn same_rows_but_one(&self) -> bool {
        let differs = |pair: &(&String, &String)| pair.0 != pair.1;
        let different = zip(self.direct, self.through).filter(differs);
        let mut rows = different.map(|(direct, _)| direct.starts_with("Row "));
        self.direct.len() == self.through.len()
            && rows.next() == Some(true)
            && rows.next().is_none()
    }

    /// True if only rows differ, and what is told of the types of their columns.
    pub(super) fn same_but_values(&self) -> bool {
        let tells = |line: &String| line.starts_with("Row ") || line.starts_with("Column #");
        let same = |(direct, through): (&String, &String)| {
            direct == through || tells(direct) && tells(through)
        };
        self.direct.len() == self.through.len() && zip(self.direct, self.through).all(same)
    }

    /// True if the only difference is a number, which is 1 through the front door.
    pub(super) fn shows_one(&self) -> bool {
        self.same_rows_but_one() && self.through.iter().any(|line| line.contains(r"\x011"))
    }

    /// The lines before that were answered with an ERR.
    pub(super) fn refused(&self) -> impl Iterator<Item = &str> {
        let is_err = |told: &Vec<String>| told.last().is_some_and(|told| told.starts_with("Err"));
        zip(self.lines, self.before)
            .filter(move |(_, told)| is_err(told))
            .map(|(line, _)| line.as_str())
    }

    /// The lines before that were answered otherwise.
    pub(super) fn succeeded(&self) -> impl Iterator<Item = &str> {
        let is_err = |told: &Vec<String>| told.last().is_some_and(|told| told.starts_with("Err"));
        zip(self.lines, self.before)
            .filter(move |(_, told)| !is_err(told))
            .map(|(line, _)| line.as_str())
    }

    /// The lines behind the last one before that was answered with rows, or with anything else that has columns.
    pub(super) fn since_rows(&self) -> impl Iterator<Item = &str> {
        let has_columns =
            |told: &Vec<String>| told.iter().any(|packet| packet.starts_with("Column"));
        let lists = |line: &str| {
            ["SHOW WARNINGS", "SHOW ERRORS", "SHOW COUNT"]
                .iter()
                .any(|words| line.starts_with(words))
        };
        let lines = zip(self.lines, self.before).rev();
        // Conditions that are listed are no rows that are counted.
        let since = lines.take_while(move |(line, told)| lists(line) || !has_columns(told));
        since.map(|(line, _)| line.as_str())
    }

    /// True if an earlier line was answered with an ERR that the front door may have thought of.
    pub(super) fn was_refused_by_name(&self) -> bool {
        let begins = [
            "\\execute",
            "\\again",
            "\\cursor",
            "\\fetch",
            "\\reset ",
            "\\unknown",
            "\\bulk",
            "\\set_option",
        ];
        self.refused()
            .any(|line| begins.iter().any(|word| line.starts_with(word)))
    }
}

/// True if a text asks about the statement before it.
pub(super) fn asks(text: &str) -> bool {
    let words = ["SHOW ", "ROW_COUNT", "FOUND_ROWS", "_count", "GET "];
    words.iter().any(|word| text.contains(word))
}

/// The values of a row, but for what is too long to be shown in a warning; `None` of any other packet.
pub(super) fn row(line: &str) -> Option<Vec<String>> {
    let (_, shown) = line.strip_prefix("Row ")?.split_once("] ")?;
    let bytes = unescaped(shown)?;
    let (mut row, mut values) = (&bytes[..], Vec::new());
    while let Some((&len, rest)) = row.split_first() {
        // NULL has no length.
        let len = if len == 0xfb { 0 } else { usize::from(len) };
        let (value, rest) = rest.split_at(rest.len().min(len));
        values.push(value.escape_ascii().to_string());
        row = rest;
    }
    Some(values)
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

/// An OK packet up to its number of warnings; `None` of any other packet.
fn ok_before_warnings(line: &str) -> Option<Vec<u8>> {
    let shown = line.strip_prefix("Ok ")?;
    match shown.split_once("warnings: ") {
        Some((before, _)) => Some(before.into()),
        None => Some(unescaped(shown.split_once("] ")?.1)?.get(..5)?.to_vec()),
    }
}

/// True if nothing differs but a number, by one: in the packet, and in its words.
fn is_one_more(direct: &str, through: &str) -> bool {
    let digit = |(a, b): &(u8, u8)| a.is_ascii_digit() && b.is_ascii_digit() && a.abs_diff(*b) == 1;
    let differ = || zip(direct.bytes(), through.bytes()).filter(|(a, b)| a != b);
    direct.len() == through.len() && differ().count() <= 2 && differ().all(|pair| digit(&pair))
}
