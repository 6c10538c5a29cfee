//! The routines that a text calls: procedures behind CALL, and functions that are not built in. Owns which names can
//! be asked about; where in a text a call stands is `expression`'s and `routine`'s to say.

use smallvec::SmallVec;

use super::classify::single;
use super::dialect::Dialect;
use super::identifier;
use super::reader::Reader;

/// So many calls of one text are followed.
const CALLS_MAX: usize = 16;

/// What texts call. Few call more: only those have memory allocated for it.
pub type CalledList<'a> = SmallVec<[Called<'a>; 4]>;

/// A routine that a text calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Called<'a> {
    /// The schema, if it is written.
    pub schema: Option<&'a [u8]>,
    /// Its name, of ASCII letters, digits, `_` and `$`.
    pub name: &'a [u8],
    /// A function, not a procedure.
    pub is_function: bool,
}

impl<'a> Called<'a> {
    /// The one with these names as written, quotes included. `None` if they are not of ASCII letters, digits, `_` and `$`.
    pub(super) fn new(schema: Option<&'a [u8]>, name: &'a [u8], is_function: bool) -> Option<Self> {
        Some(Self {
            schema: match schema {
                Some(schema) => Some(plain(schema)?),
                None => None,
            },
            name: plain(name)?,
            is_function,
        })
    }
}

fn plain(written: &[u8]) -> Option<&[u8]> {
    let name = identifier::plain(written)?;
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_$".contains(byte);
    (!name.is_empty() && name.iter().all(plain)).then_some(name)
}

/// What was noted so far.
#[derive(Default)]
pub(super) struct Calls<'a> {
    list: CalledList<'a>,
    untold: bool,
}

impl<'a> Calls<'a> {
    pub(super) fn note(&mut self, called: Option<Called<'a>>) {
        let Some(called) = called.filter(|_| self.list.len() < CALLS_MAX) else {
            self.untold = true;
            return;
        };
        if !self.list.contains(&called) {
            self.list.push(called);
        }
    }

    pub(super) fn told(self) -> Option<CalledList<'a>> {
        (!self.untold).then_some(self.list)
    }
}

/// The routines that a text calls, each once. `None` if they cannot be told, or are too many.
#[must_use]
pub fn called<'a>(text: &'a [u8], dialect: &Dialect) -> Option<CalledList<'a>> {
    let mut reader = Reader::noting(text, dialect);
    single(&mut reader);
    while reader.resume() {
        single(&mut reader);
    }
    reader.into_calls()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::Flavor;

    #[test]
    fn who_is_called() {
        let dialect = Dialect::new(Flavor::MariaDb, 101_119);
        let shown = |called: &Called<'_>| {
            let text = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
            let schema = called.schema.map(|schema| text(schema) + ".");
            let parentheses = if called.is_function { "()" } else { "" };
            schema.unwrap_or_default() + &text(called.name) + parentheses
        };
        for (text, expected) in [
            ("CALL p(1)", Some("p")),
            ("call `d` . p", Some("d.p")),
            ("CALL p(f(1), d.`f`(2), f(3))", Some("p f() d.f()")),
            ("CALL p(@o); SELECT @o, LOWER('x'); CALL q", Some("p q")),
            (
                "SELECT own(1), COUNT(*) FROM t WHERE other (a)",
                Some("own() other()"),
            ),
            ("INSERT INTO t (a) VALUES (own(1))", Some("own()")),
            ("UPDATE t SET a = t.b, c = own(d.e)", Some("own()")),
            ("SET @x = own(1)", Some("own()")),
            ("SELECT 1", Some("")),
            ("CALL `a b`()", None),
            ("CALL a.b.c()", None),
            ("SELECT a.b.c(1)", None),
            ("SELECT `a b`(1)", None),
            ("CALL", None),
            ("EXECUTE s", None),
            ("BEGIN NOT ATOMIC CALL p(); END", None),
            ("SELECT own(1), 'open", None),
        ] {
            let found = called(text.as_bytes(), &dialect);
            let found = found.map(|found| found.iter().map(shown).collect::<Vec<_>>().join(" "));
            assert_eq!(found.as_deref(), expected, "{text}");
        }
        let many: Vec<_> = (0..17).map(|n| format!("f{n}()")).collect();
        assert_eq!(
            called(format!("SELECT {}", many.join(",")).as_bytes(), &dialect),
            None
        );
    }
}
