//! Writes out the scope of system variables that are assigned as `@@x`: MariaDB's session tracker tells
//! only of those that are written with one.

use super::assignments::{Sets, Target};
use super::dialect::Dialect;
use super::variables::Scope;

/// The text with `@@session.x` in place of each `@@x` that a SET assigns. `None` if there is none, or the
/// text cannot be read with certainty.
#[must_use]
pub fn scoped(text: &[u8], dialect: &Dialect) -> Option<Vec<u8>> {
    let mut sets = Sets::new(text, dialect);
    let (mut out, mut copied) = (Vec::new(), 0);
    while let Some(assigned) = sets.next() {
        if matches!(assigned.target, Target::Variable { at: true, .. })
            && assigned.scope == Scope::Unscoped
        {
            out.extend_from_slice(&text[copied..assigned.behind]);
            out.extend_from_slice(b"session.");
            copied = assigned.behind;
        }
    }
    if sets.in_doubt() || copied == 0 {
        return None;
    }
    out.extend_from_slice(&text[copied..]);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::Flavor;

    #[test]
    fn only_what_is_assigned_without_a_scope_changes() {
        for (text, expected) in [
            ("SET @@sql_mode = ''", Some("SET @@session.sql_mode = ''")),
            (
                "SET @x = @@a, @@b=@@c, @@global.d=1, @@`e`:=2",
                Some("SET @x = @@a, @@session.b=@@c, @@global.d=1, @@session.`e`:=2"),
            ),
            ("SET @@session.a = 1", None),
            ("SELECT @@a", None),
            (
                "SELECT 1; SET @@a=IF(1,@@b,2)",
                Some("SELECT 1; SET @@session.a=IF(1,@@b,2)"),
            ),
            ("SET @@a = 'open", None),
        ] {
            let dialect = Dialect::new(Flavor::MariaDb, 101_119);
            let scoped = scoped(text.as_bytes(), &dialect);
            assert_eq!(scoped.as_deref(), expected.map(str::as_bytes), "{text}");
        }
    }
}
