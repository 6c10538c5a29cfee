//! User variables (`@x`) as a session has them: their values as expressions that say the same on every
//! backend, whatever its character set and `sql_mode`. Owns how they are asked for and written.

use std::collections::BTreeMap;
use std::sync::Arc;

/// A value: an expression in ASCII that has its type, its collation and all its digits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UserValue {
    /// It is NULL, of the type that `sample` has.
    null: bool,
    sample: Box<[u8]>,
}

/// The type of a column of a backend's answer, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// BIGINT.
    Integer,
    /// BIGINT UNSIGNED.
    Unsigned,
    /// DECIMAL.
    Decimal,
    /// DOUBLE.
    Double,
    /// Text, or bytes.
    Text,
}

/// What a backend said of a variable: its value as the text protocol has it, its bytes in hexadecimal,
/// its character set and its collation.
#[derive(Clone, Copy, Debug)]
pub struct Told<'a> {
    /// The type of the first.
    pub column: ColumnType,
    /// The value, `None` for NULL.
    pub value: Option<&'a [u8]>,
    /// `HEX()` of it.
    pub hex: &'a [u8],
    /// `CHARSET()` of it.
    pub charset: &'a [u8],
    /// `COLLATION()` of it.
    pub collation: &'a [u8],
}

impl UserValue {
    /// What a variable that was never set becomes when it must not have another session's value.
    pub fn nothing() -> Self {
        Self {
            null: true,
            sample: (*b"X''").into(),
        }
    }

    /// The value that a backend told; `None` if it is not what servers say.
    pub fn told(told: &Told<'_>) -> Option<Self> {
        let sample = match (told.column, told.value) {
            (ColumnType::Text, _) => text(told)?,
            (column, Some(value)) => number(column, value)?,
            (column, None) => number(column, b"0")?,
        };
        Some(Self {
            null: told.value.is_none(),
            sample: sample.into(),
        })
    }

    /// The value, if it is a whole number that is not negative.
    pub fn as_unsigned(&self) -> Option<u64> {
        let sample = str::from_utf8(&self.sample).ok().filter(|_| !self.null)?;
        let inner = sample.strip_prefix("CAST(");
        let inner = inner.and_then(|rest| rest.strip_suffix(" AS UNSIGNED)"));
        inner.unwrap_or(sample).parse().ok()
    }

    /// The text that the value is, if it is one of ASCII.
    pub fn ascii(&self) -> Option<Vec<u8>> {
        let from = self.sample.iter().position(|&byte| byte == b'\'')? + 1;
        let digits = self.sample.get(from..)?;
        let digits = &digits[..digits.iter().position(|&byte| byte == b'\'')?];
        let plain = |byte: &u8| byte.is_ascii() && *byte != 0;
        bytes_of(digits).filter(|text| !self.null && text.iter().all(plain))
    }

    /// Appends the assignment of the value to `name`. What type a NULL has depends, on MySQL, on what
    /// was assigned before.
    fn assign(&self, name: &[u8], to: &mut Vec<u8>) {
        let begin = |to: &mut Vec<u8>| {
            to.extend_from_slice(if to.is_empty() { b"SET @`" } else { b",@`" });
            to.extend_from_slice(name);
            to.extend_from_slice(b"`=");
        };
        begin(to);
        to.extend_from_slice(&self.sample);
        if self.null {
            begin(to);
            to.extend_from_slice(b"IF(0,");
            to.extend_from_slice(&self.sample);
            to.extend_from_slice(b",NULL)");
        }
    }
}

fn number(column: ColumnType, value: &[u8]) -> Option<Vec<u8>> {
    let digits = value.strip_prefix(b"-").unwrap_or(value);
    let known = |byte: &u8| byte.is_ascii_digit() || b".e+-".contains(byte);
    if !digits.first()?.is_ascii_digit() || !digits.iter().all(known) {
        return None;
    }
    let has = |byte: u8| digits.contains(&byte);
    Some(match column {
        // The literal without its sign would be one too large.
        ColumnType::Integer if value == b"-9223372036854775808" => {
            b"-9223372036854775807-1".to_vec()
        }
        ColumnType::Unsigned => [b"CAST(", value, b" AS UNSIGNED)"].concat(),
        ColumnType::Decimal if !has(b'.') => [value, b"."].concat(),
        ColumnType::Double if !has(b'e') => [value, b"e0"].concat(),
        _ => value.to_vec(),
    })
}

fn bytes_of(digits: &[u8]) -> Option<Vec<u8>> {
    let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
    digits.chunks(2).map(byte).collect()
}

/// False of text that servers take from a client, with a warning, and that they refuse behind `_utf8mb3`.
fn is_well_formed(told: &Told<'_>) -> bool {
    let longest = match told.charset {
        b"utf8mb4" => 4,
        b"utf8mb3" | b"utf8" => 3,
        _ => return true,
    };
    let fits = |text: &str| text.chars().all(|char| char.len_utf8() <= longest);
    bytes_of(told.hex).is_some_and(|bytes| str::from_utf8(&bytes).is_ok_and(fits))
}

fn text(told: &Told<'_>) -> Option<Vec<u8>> {
    let is_name = |name: &[u8]| {
        let plain = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        !name.is_empty() && name.iter().all(plain)
    };
    let is_known = is_name(told.charset) && is_name(told.collation);
    if !is_known || !told.hex.iter().all(u8::is_ascii_hexdigit) || !is_well_formed(told) {
        return None;
    }
    Some(match told.collation {
        b"binary" => [b"X'", told.hex, b"'"].concat(),
        collation => {
            let parts: [&[u8]; 6] = [
                b"_",
                told.charset,
                b" X'",
                told.hex,
                b"' COLLATE ",
                collation,
            ];
            parts.concat()
        }
    })
}

/// The variables of a session that were set, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct UserVariables {
    values: BTreeMap<Box<[u8]>, UserValue>,
}

impl UserVariables {
    /// How many bytes of names and values one session may have.
    pub const BYTES_MAX: usize = 16 << 10;

    /// Sets a variable.
    pub fn set(&mut self, name: &[u8], value: UserValue) {
        self.values.insert(name.into(), value);
    }

    /// A variable's value, if it was set.
    pub fn get(&self, name: &[u8]) -> Option<&UserValue> {
        self.values.get(name)
    }

    /// The names of all that were set.
    pub fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.values.keys().map(|name| &**name)
    }

    /// Bytes that names and values take.
    pub fn bytes(&self) -> usize {
        let values = self.values.iter();
        values
            .map(|(name, value)| name.len() + value.sample.len())
            .sum()
    }
}

/// Appends to a `SET`, or begins one, what brings a backend that holds `from` to `to`. Calls `cleared`
/// with each variable that is NULL afterwards because `to` does not have it.
pub fn put_user_variables(
    set: &mut Vec<u8>,
    (from, to): (Option<&Arc<UserVariables>>, Option<&Arc<UserVariables>>),
    mut cleared: impl FnMut(&[u8]),
) {
    if same_user_variables(from, to) {
        return;
    }
    let find =
        |of: Option<&Arc<UserVariables>>, name: &[u8]| of.and_then(|of| of.get(name).cloned());
    for name in from.into_iter().flat_map(|from| from.names()) {
        if find(to, name).is_none() {
            UserValue::nothing().assign(name, set);
            cleared(name);
        }
    }
    for (name, value) in to.into_iter().flat_map(|to| &to.values) {
        if find(from, name).as_ref() != Some(value) {
            value.assign(name, set);
        }
    }
}

/// True if two sets are the same.
pub fn same_user_variables(a: Option<&Arc<UserVariables>>, b: Option<&Arc<UserVariables>>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => Arc::ptr_eq(a, b) || a == b,
        (a, b) => a.is_none() && b.is_none(),
    }
}

/// The statement that asks for variables: [`Told`] of each, in a row that is there only if none is
/// too long to be carried.
pub fn ask_for_user_variables<'a>(names: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let (mut columns, mut lengths) = (b"SELECT ".to_vec(), b" FROM DUAL WHERE 0".to_vec());
    for (place, name) in names.enumerate() {
        if place > 0 {
            columns.push(b',');
        }
        let variable = [b"@`", name, b"`"].concat();
        columns.extend_from_slice(&variable);
        for function in [&b"HEX"[..], b"CHARSET", b"COLLATION"] {
            columns.push(b',');
            columns.extend_from_slice(function);
            columns.push(b'(');
            columns.extend_from_slice(&variable);
            columns.push(b')');
        }
        lengths.extend_from_slice(b"+IFNULL(LENGTH(");
        lengths.extend_from_slice(&variable);
        lengths.extend_from_slice(b"),0)");
    }
    // With a limit of its own it does not depend on `sql_select_limit`.
    let end = format!("<={} LIMIT 1", UserVariables::BYTES_MAX / 2);
    [&columns[..], &lengths, end.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(column: ColumnType, value: Option<&str>) -> Option<UserValue> {
        UserValue::told(&Told {
            column,
            value: value.map(str::as_bytes),
            hex: b"616263",
            charset: b"latin1",
            collation: b"latin1_bin",
        })
    }

    fn assigned(value: &UserValue) -> String {
        let mut set = Vec::new();
        value.assign(b"x", &mut set);
        String::from_utf8_lossy(&set).into_owned()
    }

    #[test]
    fn values_keep_their_type() {
        for (column, told, expected) in [
            (ColumnType::Integer, "-5", "-5"),
            (
                ColumnType::Integer,
                "-9223372036854775808",
                "-9223372036854775807-1",
            ),
            (ColumnType::Unsigned, "5", "CAST(5 AS UNSIGNED)"),
            (ColumnType::Decimal, "1.50", "1.50"),
            (ColumnType::Decimal, "-7", "-7."),
            (ColumnType::Double, "0.5", "0.5e0"),
            (ColumnType::Double, "-1e-300", "-1e-300"),
            (
                ColumnType::Text,
                "abc",
                "_latin1 X'616263' COLLATE latin1_bin",
            ),
        ] {
            let value = value(column, Some(told)).unwrap();
            assert_eq!(assigned(&value), format!("SET @`x`={expected}"));
        }
        let text = value(ColumnType::Text, Some("abc")).unwrap();
        assert_eq!(text.ascii().as_deref(), Some(&b"abc"[..]));
        let null = value(ColumnType::Double, None).unwrap();
        assert_eq!((null.ascii(), null.as_unsigned()), (None, None));
        assert_eq!(assigned(&null), "SET @`x`=0e0,@`x`=IF(0,0e0,NULL)");
    }

    #[test]
    fn what_no_server_says_is_not_believed() {
        for told in ["", "x", "1'", "-", "0x5", "inf"] {
            assert_eq!(value(ColumnType::Integer, Some(told)), None, "{told}");
        }
        let told = Told {
            column: ColumnType::Text,
            value: Some(b""),
            hex: b"6",
            charset: b"latin1",
            collation: b"a b",
        };
        assert_eq!(UserValue::told(&told), None);
    }

    #[test]
    fn text_that_its_character_set_does_not_have_is_not_carried() {
        let carried = |charset: &str, hex: &str| {
            let collation = format!("{charset}_bin");
            let told = Told {
                column: ColumnType::Text,
                value: Some(b"as it may be"),
                hex: hex.as_bytes(),
                charset: charset.as_bytes(),
                collation: collation.as_bytes(),
            };
            UserValue::told(&told).is_some()
        };
        let (grin, cut, umlaut) = ("F09F9880", "E282", "C3A4");
        for (charset, hex, expected) in [
            ("utf8mb3", grin, false),
            ("utf8mb3", cut, false),
            ("utf8mb3", umlaut, true),
            ("utf8", grin, false),
            ("utf8mb4", grin, true),
            ("utf8mb4", cut, false),
            ("latin1", cut, true),
        ] {
            assert_eq!(carried(charset, hex), expected, "{charset} {hex}");
        }
    }

    #[test]
    fn only_what_differs_is_set() {
        let set = |of: &[(&str, &str)]| {
            let mut set = UserVariables::default();
            for (name, told) in of {
                let value = value(ColumnType::Integer, Some(told)).unwrap();
                set.set(name.as_bytes(), value);
            }
            Arc::new(set)
        };
        let from = set(&[("a", "1"), ("b", "2"), ("c", "3")]);
        let to = set(&[("a", "1"), ("b", "5"), ("d", "4")]);
        let (mut text, mut cleared) = (Vec::new(), Vec::new());
        put_user_variables(&mut text, (Some(&from), Some(&to)), |name| {
            cleared.push(name.to_vec());
        });
        let expected = "SET @`c`=X'',@`c`=IF(0,X'',NULL),@`b`=5,@`d`=4";
        assert_eq!(String::from_utf8_lossy(&text), expected);
        assert_eq!(cleared, [b"c".to_vec()]);
        text.clear();
        put_user_variables(&mut text, (Some(&to), Some(&to.clone())), |_| {});
        put_user_variables(&mut text, (None, None), |_| {});
        assert!(text.is_empty());
    }

    #[test]
    fn several_are_asked_for_at_once() {
        let names = [&b"a"[..], b"b"];
        let text = ask_for_user_variables(names.into_iter());
        let expected = "SELECT @`a`,HEX(@`a`),CHARSET(@`a`),COLLATION(@`a`),\
            @`b`,HEX(@`b`),CHARSET(@`b`),COLLATION(@`b`) FROM DUAL \
            WHERE 0+IFNULL(LENGTH(@`a`),0)+IFNULL(LENGTH(@`b`),0)<=8192 LIMIT 1";
        assert_eq!(String::from_utf8_lossy(&text), expected);
    }
}
