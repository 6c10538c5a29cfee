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
/// Where the types of a COM_STMT_BULK_EXECUTE stand, behind two bytes of flags.
const BULK_TYPES: usize = 7;

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
        Ok(Self { id, parameters })
    }
}

/// What an execution says of the types of its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterTypes<'a> {
    /// There are no parameters, or the packet ends before it says so.
    Nothing,
    /// The types, two bytes for each.
    Given(&'a [u8]),
    /// They are those of the execution before.
    Omitted,
}

/// What an execution says of the types of so many parameters.
pub fn parameter_types(payload: &[u8], parameters: u16) -> ParameterTypes<'_> {
    let Some(at) = types_at(payload, parameters) else {
        return ParameterTypes::Nothing;
    };
    match payload.get(at.flag) {
        None => ParameterTypes::Nothing,
        Some(flag) if flag & at.mask == 0 => ParameterTypes::Omitted,
        Some(_) => match payload.get(at.types) {
            Some(types) => ParameterTypes::Given(types),
            None => ParameterTypes::Nothing,
        },
    }
}

/// The same execution with these types, where it omits them.
pub fn with_parameter_types(payload: &[u8], parameters: u16, types: &[u8]) -> Vec<u8> {
    let place = types_at(payload, parameters).filter(|at| at.types.start <= payload.len());
    let Some(at) = place else {
        return payload.to_vec();
    };
    let (before, behind) = payload.split_at(at.types.start);
    let mut with = [before, types, behind].concat();
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
    types: Range<usize>,
}

fn types_at(payload: &[u8], parameters: u16) -> Option<Place> {
    let count = usize::from(parameters);
    let bulk = payload.first() == Some(&(Command::StmtBulkExecute as u8));
    let (flag, (mask, has), start) = match bulk {
        true => (FLAGS, (BULK_HAS_TYPES, BULK_HAS_TYPES), BULK_TYPES),
        false => {
            let flag = BITMAP + count.div_ceil(8);
            (flag, (u8::MAX, 1), flag + 1)
        }
    };
    (count > 0).then_some(Place {
        flag,
        mask,
        has,
        types: start..start + count * TYPE_LEN,
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

    #[test]
    fn types_are_found_and_put_in() {
        let given = ParameterTypes::Given(&[8, 0, 3, 0]);
        assert_eq!(parameter_types(WITH, 2), given);
        assert_eq!(parameter_types(WITHOUT, 2), ParameterTypes::Omitted);
        assert_eq!(with_parameter_types(WITHOUT, 2, &[8, 0, 3, 0]), WITH);
        for (payload, parameters) in [(WITH, 0), (&WITH[..12], 2), (&WITH[..10], 2), (b"", 1)] {
            let found = parameter_types(payload, parameters);
            assert_eq!(found, ParameterTypes::Nothing, "{payload:?}");
        }
        // Nine parameters have two bytes of bitmap.
        let types = [8, 0].repeat(9);
        let omitted = [&[0x17, 7, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0][..], &[1; 8]].concat();
        let with = with_parameter_types(&omitted, 9, &types);
        assert_eq!(parameter_types(&with, 9), ParameterTypes::Given(&types));
        assert!(with.ends_with(&[1; 8]));
    }

    #[test]
    fn the_answer_to_a_prepare() {
        let payload = [0, 7, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0];
        let told = PrepareOk {
            id: 7,
            parameters: 2,
        };
        assert_eq!(PrepareOk::parse(&payload), Ok(told));
        assert!(PrepareOk::parse(&payload[..8]).is_err());
        assert_eq!(PrepareOk::ID, 5..9);
    }

    #[test]
    fn many_rows_have_their_types_in_front() {
        let with = &[0xfa, 7, 0, 0, 0, 128 | 64, 0, 8, 0, 0, 42];
        let without = &[0xfa, 7, 0, 0, 0, 64, 0, 0, 42];
        assert_eq!(parameter_types(with, 1), ParameterTypes::Given(&[8, 0]));
        assert_eq!(parameter_types(without, 1), ParameterTypes::Omitted);
        assert_eq!(with_parameter_types(without, 1, &[8, 0]), with);
    }
}
