//! What the last line of a session asks about conditions, and which of two answers tells of more of them.

use super::case::{Case, row};

/// What lists or counts conditions.
const ASKS: [&str; 4] = ["SHOW WARNINGS", "SHOW ERRORS", "SHOW COUNT", "_count"];

/// What asks for conditions and puts what it was told into variables: its own answer tells nothing of them.
const GETS: &str = "GET DIAGNOSTICS";

/// MySQL's warning that a capability flag will be given up.
const OF_FLAG: &str = "4128";

impl Case<'_> {
    /// True if the last line counts conditions, or lists them and only those about capability flags differ.
    pub(super) fn same_but_warnings_of_flags(&self) -> bool {
        let is_other = |row: &Vec<String>| row.get(1).is_none_or(|code| code != OF_FLAG);
        let rest = |answer| {
            let rows = rows(answer).into_iter();
            rows.filter(is_other).collect::<Vec<_>>()
        };
        let lists = ["SHOW WARNINGS", "SHOW ERRORS"].contains(&self.last());
        let is_counted = |call| self.last().contains(call) && !self.last().starts_with("GET ");
        let counts_rows = ["ROW_COUNT", "FOUND_ROWS"].map(is_counted);
        !counts_rows.contains(&true) && (!lists || rest(self.direct) == rest(self.through))
    }

    /// True if the last line asks about conditions, and the direct answer tells of fewer.
    pub(super) fn directly_fewer_conditions(&self) -> bool {
        self.asks_conditions(self.direct, self.through)
    }

    /// True if the last line asks about conditions, and the answer of the front door tells of fewer.
    pub(super) fn fewer_conditions(&self) -> bool {
        self.asks_conditions(self.through, self.direct)
    }

    fn asks_conditions(&self, fewer: &[String], more: &[String]) -> bool {
        let asked = self.text_that_runs();
        let asks = ASKS.iter().any(|word| asked.contains(word));
        let gets = self.last().starts_with(GETS);
        gets || asks && is_part(&rows(fewer), &rows(more))
    }
}

/// The values of all rows.
fn rows(answer: &[String]) -> Vec<Vec<String>> {
    answer.iter().filter_map(|line| row(line)).collect()
}

/// True if some rows of a list are missing and none are others, or if no count is higher.
fn is_part(fewer: &[Vec<String>], more: &[Vec<String>]) -> bool {
    let number = |value: &String| value.parse::<u64>().ok();
    let numbers = |row: &[String]| row.iter().map(number).collect::<Option<Vec<_>>>();
    if let ([fewer], [more]) = (fewer, more)
        && let (Some(fewer), Some(more)) = (numbers(fewer), numbers(more))
    {
        return fewer.len() == more.len() && fewer.iter().zip(&more).all(|(a, b)| a <= b);
    }
    fewer.len() < more.len() && fewer.iter().all(|row| more.contains(row))
}

#[test]
fn fewer_conditions_are_part_of_more() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let fewer = |session: &str, direct: &str, through: &str| {
        let (session, direct, through) = (lines(session), lines(direct), lines(through));
        let case = Case {
            lines: &session,
            direct: &direct,
            through: &through,
            before: &[],
        };
        case.directly_fewer_conditions()
    };
    let row = |code: u16| format!(r"Row #3 [9] \x07Warning\x04{code}\x01x");
    let (one, two) = (row(1234), format!("{}\n{}", row(1292), row(1234)));
    assert!(fewer("SHOW WARNINGS", "End", &one));
    assert!(fewer("SHOW WARNINGS", &one, &two));
    assert!(!fewer("SHOW WARNINGS", &two, &one));
    assert!(!fewer("SHOW WARNINGS", &row(1235), &two));
    assert!(!fewer("SELECT ROW_COUNT()", "End", &one));
    let (none, some) = (r"Row #3 [4] \x010\x010", r"Row #3 [4] \x012\x010");
    assert!(fewer("SELECT @@warning_count, @@error_count", none, some));
    assert!(!fewer("SELECT @@warning_count, @@error_count", some, none));
}
