//! What the crowd leaves wherever it was: words and numbers that no session that is compared comes to by itself. One that is
//! told of them has another session's, however well its difference is known otherwise.

use super::case::Case;

/// Words of the crowd's values, columns, errors and tables, and its counts and ids as they stand in rows: in the text
/// protocol behind their length, in the binary one as BIGINT.
const MARKS: [&str; 7] = [
    "theirs",
    "THEIR",
    "\\x0243",
    "\\x0247",
    "\\x0766",
    "+\\x00\\x00\\x00\\x00\\x00\\x00\\x00",
    "/\\x00\\x00\\x00\\x00\\x00\\x00\\x00",
];

impl Case<'_> {
    /// True if the session was told of another one's words or numbers.
    pub(super) fn tells_theirs(&self) -> bool {
        let marks = |told: &[String], mark: &str| told.iter().any(|told| told.contains(mark));
        let only_through = |mark: &&str| marks(self.through, mark) && !marks(self.direct, mark);
        MARKS.iter().any(only_through)
    }
}

#[test]
fn what_is_the_crowds_is_seen_in_answers() {
    let tells = |direct: &str, through: &str| {
        let [direct, through] = [direct, through].map(|told| vec![told.to_owned()]);
        let case = Case {
            lines: &["\\login usual 45 -".to_owned()],
            direct: &direct,
            through: &through,
            before: &[],
        };
        case.tells_theirs()
    };
    let row = |value: &str| format!("Row #3 [4] {value}");
    assert!(tells(&row("\\x010"), &row("\\x0247")));
    assert!(!tells(&row("\\x0247"), &row("\\x0247")));
    assert!(!tells(&row("\\x010"), &row("\\x011")));
    assert!(tells("RowsEnd", "Row near 'THEIR STATEMENT'"));
}
