//! COM_STMT_EXECUTE and COM_STMT_BULK_EXECUTE as far as they must be looked into when the statement is
//! another one's, too: its id, whether a cursor is asked for, and the types of the parameters. Owns no
//! values.
//!
//! Source: "COM_STMT_EXECUTE" in the MySQL manual; "COM_STMT_BULK_EXECUTE" in the MariaDB knowledge base.

use std::ops::Range;

use crate::{Command, HEADER_LEN, Malformed, Reader};

/// Where the flags stand, behind the command byte and the id.
const FLAGS: usize = 5;
/// Where the NULL bitmap of a COM_STMT_EXECUTE stands, behind the flags and the number of iterations.
const BITMAP: usize = 10;
/// Bytes of a COM_STMT_BULK_EXECUTE before its types: the command byte, the statement's id, and two bytes of flags.
pub const BULK_EXECUTE_HEADER_LEN: usize = 7;

/// Any of these flags asks for a cursor.
const CURSOR_FLAGS: u8 = 0x07;
/// A COM_STMT_BULK_EXECUTE has the types of the parameters.
const BULK_HAS_TYPES: u8 = 128;

/// A type and a flag per parameter.
const TYPE_LEN: usize = 2;

/// The id in a command that names a prepared statement.
pub fn statement_id(payload: &[u8]) -> Option<u32> {
    payload
        .get(1..FLAGS)?
        .first_chunk()
        .copied()
        .map(u32::from_le_bytes)
}

/// The number of the parameter that a COM_STMT_SEND_LONG_DATA is for; `None` if it is cut off.
pub fn long_data_parameter(payload: &[u8]) -> Option<u16> {
    let number = payload.get(FLAGS..)?.first_chunk();
    number.copied().map(u16::from_le_bytes)
}

/// True for a COM_STMT_EXECUTE that asks for a cursor.
pub fn asks_for_cursor(payload: &[u8]) -> bool {
    let execute = payload.first() == Some(&(Command::StmtExecute as u8));
    execute
        && payload
            .get(FLAGS)
            .is_some_and(|flags| flags & CURSOR_FLAGS != 0)
}

/// What a COM_STMT_PREPARE is answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrepareOk {
    /// The backend's name for the statement.
    pub id: u32,
    /// How many parameters it has.
    pub parameters: u16,
    /// How many warnings preparing it gave.
    pub warnings: u16,
}

impl PrepareOk {
    /// Where the id stands in its packet, behind the header and the first byte.
    pub const ID: Range<usize> = HEADER_LEN + 1..HEADER_LEN + FLAGS;

    /// What a payload says. Source: "COM_STMT_PREPARE Response" in the MySQL manual.
    pub fn parse(payload: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        reader.bytes(1, "header")?;
        let id = reader.u32("statement id")?;
        reader.u16("number of columns")?;
        let parameters = reader.u16("number of parameters")?;
        reader.bytes(1, "filler")?;
        let warnings = reader.u16("number of warnings")?;
        Ok(Self {
            id,
            parameters,
            warnings,
        })
    }
}

/// The parameters of an execution, as far as it does not tell them itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParameterList {
    /// How many the statement has.
    pub parameters: u16,
    /// CLIENT_QUERY_ATTRIBUTES was negotiated: the packet of MySQL has a number of its own, attributes behind the
    /// parameters, and a name with each type.
    pub attributes: bool,
}

/// What an execution says of the types of its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterTypes<'a> {
    /// There are no parameters, or the packet ends before it says so.
    Nothing,
    /// The types.
    Given(TypeList<'a>),
    /// They are those of the execution before.
    Omitted,
}

/// The types of parameters, as they stand in an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeList<'a> {
    bytes: &'a [u8],
    parameters: u16,
    named: bool,
}

impl<'a> TypeList<'a> {
    /// These types, two bytes for each.
    pub fn of(types: &'a [u8]) -> Self {
        Self {
            bytes: types,
            parameters: u16::try_from(types.len() / TYPE_LEN).unwrap_or(u16::MAX),
            named: false,
        }
    }

    /// The types and flags, two bytes for each.
    pub fn pairs(self) -> impl Iterator<Item = &'a [u8]> {
        let mut reader = Reader::new(self.bytes);
        (0..self.parameters).map_while(move |_| {
            let pair = reader.bytes(TYPE_LEN, "type").ok()?;
            if self.named {
                reader.lenenc_bytes("name").ok()?;
            }
            Some(pair)
        })
    }

    /// True if these are the types, two bytes for each.
    pub fn are(self, types: &[u8]) -> bool {
        self.pairs().eq(types.chunks(TYPE_LEN))
    }
}

/// What an execution says of the types of these parameters.
pub fn parameter_types(payload: &[u8], list: ParameterList) -> ParameterTypes<'_> {
    let Some(at) = types_at(payload, list) else {
        return ParameterTypes::Nothing;
    };
    let types = match payload.get(at.flag) {
        None => return ParameterTypes::Nothing,
        Some(flag) if flag & at.mask == 0 => return ParameterTypes::Omitted,
        Some(_) => payload.get(at.types..).unwrap_or_default(),
    };
    let types = TypeList {
        bytes: types,
        parameters: list.parameters,
        named: at.named,
    };
    match types.pairs().count() == usize::from(list.parameters) {
        true => ParameterTypes::Given(types),
        false => ParameterTypes::Nothing,
    }
}

/// The value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParameterValue<'a> {
    /// NULL.
    Null,
    /// A whole number; one without sign that is too large for this is negative.
    Integer(i64),
    /// A DOUBLE.
    Double(f64),
    /// A string of bytes, which a DECIMAL is, too.
    Bytes(&'a [u8]),
}

/// The values of an execution whose parameters have these types, without long data. `None` if there are attributes
/// besides, types that are not looked at, or fewer values than there should be.
pub fn parameter_values<'a>(
    payload: &'a [u8],
    list: ParameterList,
    types: TypeList<'_>,
) -> Option<Vec<ParameterValue<'a>>> {
    let at = types_at(payload, list)?;
    let is_execute = payload.first() == Some(&(Command::StmtExecute as u8));
    if !is_execute || at.count != usize::from(list.parameters) {
        return None;
    }
    let has_types = payload.get(at.flag)? & at.mask != 0;
    let mut reader = Reader::new(payload.get(at.types..)?);
    for _ in 0..at.count * usize::from(has_types) {
        reader.bytes(TYPE_LEN, "type").ok()?;
        if at.named {
            reader.lenenc_bytes("name").ok()?;
        }
    }
    let nulls = payload.get(at.flag - at.count.div_ceil(8)..at.flag)?;
    let value = |(place, pair): (usize, &[u8])| match nulls[place / 8] & 1 << (place % 8) {
        0 => parameter_value(&mut reader, pair[0]),
        _ => Some(ParameterValue::Null),
    };
    let values: Option<Vec<_>> = types.pairs().enumerate().map(value).collect();
    values.filter(|values| values.len() == at.count)
}

/// A value of that type. Source: "Binary Protocol Value" in the MySQL manual.
fn parameter_value<'a>(reader: &mut Reader<'a>, kind: u8) -> Option<ParameterValue<'a>> {
    let mut bytes = |len| reader.bytes(len, "value").ok();
    Some(match kind {
        1 => ParameterValue::Integer(i8::from_le_bytes(*bytes(1)?.first_chunk()?).into()),
        2 | 13 => ParameterValue::Integer(i16::from_le_bytes(*bytes(2)?.first_chunk()?).into()),
        3 | 9 => ParameterValue::Integer(i32::from_le_bytes(*bytes(4)?.first_chunk()?).into()),
        5 => ParameterValue::Double(f64::from_le_bytes(*bytes(8)?.first_chunk()?)),
        6 => ParameterValue::Null,
        8 => ParameterValue::Integer(i64::from_le_bytes(*bytes(8)?.first_chunk()?)),
        0 | 15 | 246 | 249..=254 => ParameterValue::Bytes(reader.lenenc_bytes("value").ok()?),
        _ => return None,
    })
}

/// The same execution with these types, two bytes for each, where it omits them.
pub fn with_parameter_types(payload: &[u8], list: ParameterList, types: &[u8]) -> Vec<u8> {
    // The types of attributes cannot be omitted: the server refuses that.
    let place = types_at(payload, list)
        .filter(|at| at.types <= payload.len() && at.count == usize::from(list.parameters));
    let Some(at) = place else {
        return payload.to_vec();
    };
    let (before, behind) = payload.split_at(at.types);
    let mut with = Vec::with_capacity(payload.len() + types.len() / TYPE_LEN * (TYPE_LEN + 1));
    with.extend_from_slice(before);
    for pair in types.chunks(TYPE_LEN) {
        with.extend_from_slice(pair);
        if at.named {
            // Its name, which is empty.
            with.push(0);
        }
    }
    with.extend_from_slice(behind);
    with[at.flag] |= at.has;
    with
}

/// Where a packet says whether it has types, and where they are or would be.
struct Place {
    flag: usize,
    /// The bits that say so.
    mask: u8,
    /// What is written there to say so.
    has: u8,
    types: usize,
    /// How many values there are, attributes included.
    count: usize,
    /// Each type has a name.
    named: bool,
}

fn types_at(payload: &[u8], list: ParameterList) -> Option<Place> {
    let parameters = usize::from(list.parameters);
    if parameters == 0 {
        return None;
    }
    if payload.first() == Some(&(Command::StmtBulkExecute as u8)) {
        return Some(Place {
            flag: FLAGS,
            mask: BULK_HAS_TYPES,
            has: BULK_HAS_TYPES,
            types: BULK_EXECUTE_HEADER_LEN,
            count: parameters,
            named: false,
        });
    }
    let (mut bitmap, mut count) = (BITMAP, parameters);
    if list.attributes {
        let mut reader = Reader::new(payload.get(BITMAP..)?);
        count = usize::try_from(reader.lenenc_int("number of parameters").ok()?).ok()?;
        bitmap = payload.len() - reader.rest().len();
    }
    let flag = (count >= parameters).then(|| bitmap.saturating_add(count.div_ceil(8)))?;
    Some(Place {
        flag,
        mask: u8::MAX,
        has: 1,
        types: flag.saturating_add(1),
        count,
        named: list.attributes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const WITH: &[u8] = &[0x17, 7, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 8, 0, 3, 0, 42, 9];
    const WITHOUT: &[u8] = &[0x17, 7, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 42, 9];

    #[test]
    fn ids_and_cursors_are_read_from_the_payload() {
        let execute = |flags| [0x17, 7, 0, 0, 0, flags, 1, 0, 0, 0];
        assert_eq!(statement_id(&execute(0)), Some(7));
        assert!(!asks_for_cursor(&execute(0)));
        assert!(!asks_for_cursor(&execute(8)));
        assert!(asks_for_cursor(&execute(1)));
        assert_eq!(statement_id(b"\x19\x07\0"), None);
    }

    fn plain(parameters: u16) -> ParameterList {
        ParameterList {
            parameters,
            attributes: false,
        }
    }

    fn named(parameters: u16) -> ParameterList {
        ParameterList {
            parameters,
            attributes: true,
        }
    }

    /// The types that an execution gives.
    fn given(payload: &[u8], list: ParameterList) -> Option<Vec<u8>> {
        match parameter_types(payload, list) {
            ParameterTypes::Given(types) => Some(types.pairs().flatten().copied().collect()),
            ParameterTypes::Nothing | ParameterTypes::Omitted => None,
        }
    }

    #[test]
    fn types_are_found_and_put_in() {
        assert_eq!(given(WITH, plain(2)), Some(vec![8, 0, 3, 0]));
        assert_eq!(parameter_types(WITHOUT, plain(2)), ParameterTypes::Omitted);
        assert_eq!(with_parameter_types(WITHOUT, plain(2), &[8, 0, 3, 0]), WITH);
        for (payload, parameters) in [(WITH, 0), (&WITH[..12], 2), (&WITH[..10], 2), (b"", 1)] {
            let found = parameter_types(payload, plain(parameters));
            assert_eq!(found, ParameterTypes::Nothing, "{payload:?}");
        }
        // Nine parameters have two bytes of bitmap.
        let types = [8, 0].repeat(9);
        let omitted = [&[0x17, 7, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0][..], &[1; 8]].concat();
        let with = with_parameter_types(&omitted, plain(9), &types);
        assert_eq!(given(&with, plain(9)), Some(types));
        assert!(with.ends_with(&[1; 8]));
    }

    #[test]
    fn types_are_found_and_put_in_beside_names_and_attributes() {
        let begin = &[0x17, 7, 0, 0, 0, 8, 1, 0, 0, 0][..];
        let with = [begin, b"\x01\x00\x01\x08\x00\x00\x2a"].concat();
        let without = [begin, b"\x01\x00\x00\x2a"].concat();
        assert_eq!(given(&with, named(1)), Some(vec![8, 0]));
        assert_eq!(parameter_types(&without, named(1)), ParameterTypes::Omitted);
        assert_eq!(with_parameter_types(&without, named(1), &[8, 0]), with);
        let attribute = b"\x02\x00\x01\x08\x00\x00\xfd\x00\x01n\x2a\x03val";
        let two = [begin, attribute].concat();
        assert_eq!(given(&two, named(1)), Some(vec![8, 0]));
        let ParameterTypes::Given(list) = parameter_types(&two, named(1)) else {
            panic!("no types in {two:?}");
        };
        assert!(list.are(&[8, 0]) && !list.are(&[3, 0]) && !list.are(&[8, 0, 3, 0]));
        // Of what the server refuses nothing is changed.
        let omitted = [begin, b"\x02\x00\x00\x2a\x03val"].concat();
        assert_eq!(with_parameter_types(&omitted, named(1), &[8, 0]), omitted);
        for cut in 0..with.len() - 1 {
            let found = parameter_types(&with[..cut], named(1));
            assert_eq!(found, ParameterTypes::Nothing, "cut at {cut}");
        }
        let fewer = [begin, b"\x00"].concat();
        assert_eq!(parameter_types(&fewer, named(1)), ParameterTypes::Nothing);
    }

    #[test]
    fn the_answer_to_a_prepare() {
        let payload = [0, 7, 0, 0, 0, 1, 0, 2, 0, 0, 3, 0];
        let told = PrepareOk {
            id: 7,
            parameters: 2,
            warnings: 3,
        };
        assert_eq!(PrepareOk::parse(&payload), Ok(told));
        assert!(PrepareOk::parse(&payload[..8]).is_err());
        assert_eq!(PrepareOk::ID, 5..9);
    }

    #[test]
    fn many_rows_have_their_types_in_front() {
        let with = &[0xfa, 7, 0, 0, 0, 128 | 64, 0, 8, 0, 0, 42];
        let without = &[0xfa, 7, 0, 0, 0, 64, 0, 0, 42];
        assert_eq!(given(with, plain(1)), Some(vec![8, 0]));
        assert_eq!(parameter_types(without, plain(1)), ParameterTypes::Omitted);
        assert_eq!(with_parameter_types(without, plain(1), &[8, 0]), with);
    }

    #[test]
    fn values_are_read_by_their_types() {
        use ParameterValue::{Bytes, Double, Integer, Null};
        let header = [0x17, 7, 0, 0, 0, 0, 1, 0, 0, 0];
        let values = |bitmap: &[u8], types: &[u8], values: &[u8]| {
            let list = plain((types.len() / TYPE_LEN) as u16);
            let with = [&header, bitmap, &[1], types, values].concat();
            let without = [&header, bitmap, &[0], values].concat();
            let read = parameter_values(&with, list, TypeList::of(types)).map(|v| format!("{v:?}"));
            let known = parameter_values(&without, list, TypeList::of(types));
            assert_eq!(read, known.as_ref().map(|v| format!("{v:?}")));
            read
        };
        let shown = |values: &[ParameterValue<'_>]| Some(format!("{values:?}"));
        let text = b"\x04lock\x0a\0\0\0\0\0\0\0";
        let expected = [Bytes(b"lock"), Integer(10)];
        assert_eq!(values(&[0], &[253, 0, 8, 0], text), shown(&expected));
        let double = [&b"\x01a"[..], &(-1.0_f64).to_le_bytes()].concat();
        assert_eq!(
            values(&[0], &[254, 0, 5, 0], &double),
            shown(&[Bytes(b"a"), Double(-1.0)])
        );
        assert_eq!(
            values(&[2], &[253, 0, 3, 0], b"\x01a"),
            shown(&[Bytes(b"a"), Null])
        );
        assert_eq!(values(&[0], &[1, 0], &[0xff]), shown(&[Integer(-1)]));
        assert_eq!(values(&[0], &[12, 0], &[0]), None, "a time");
        assert_eq!(values(&[0], &[8, 0], &[0]), None, "cut off");
        let named = [&header[..], &[1, 0, 1, 253, 0, 0, 1, b'a']].concat();
        let list = ParameterList {
            parameters: 1,
            attributes: true,
        };
        let types = TypeList::of(&[253, 0]);
        assert_eq!(
            parameter_values(&named, list, types),
            Some(vec![Bytes(b"a")])
        );
    }
}
