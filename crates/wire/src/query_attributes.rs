//! Query attributes: named values that a client of MySQL sends along with a statement. Found here is how far they
//! reach, so that the text behind them can be read. What they say is between client and server.
//!
//! Source: "COM_QUERY" in the MySQL manual. What a server refuses or would read in another way than it was meant
//! is refused here, too: a text must never be taken for another one than the server's.

use crate::{Malformed, Reader};

/// What stands before a text without attributes: none of them, in one set.
pub const NO_ATTRIBUTES: &[u8] = b"\x00\x01";

const FIELD: &str = "query attributes";

/// Where they begin, behind the command byte.
const BEGIN: usize = 1;

/// How many bytes of attributes stand between the command byte and the text of a COM_QUERY of somebody who has
/// negotiated CLIENT_QUERY_ATTRIBUTES.
pub fn query_attributes(payload: &[u8]) -> Result<usize, Malformed> {
    let behind = payload.get(BEGIN..).unwrap_or_default();
    if behind.starts_with(NO_ATTRIBUTES) {
        return Ok(NO_ATTRIBUTES.len());
    }
    let mut reader = Reader::new(behind);
    let count = reader.lenenc_int(FIELD)?;
    if reader.lenenc_int(FIELD)? != 1 {
        return Err(Malformed::Invalid(FIELD));
    }
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    if count > 0 {
        skip(&mut reader, count)?;
    }
    Ok(behind.len() - reader.rest().len())
}

/// Skips bitmap, types, names and values.
fn skip(reader: &mut Reader<'_>, count: usize) -> Result<(), Malformed> {
    let nulls = reader.bytes(count.div_ceil(8), FIELD)?;
    // Attributes have no types of before.
    if reader.u8(FIELD)? == 0 {
        return Err(Malformed::Invalid(FIELD));
    }
    let mut types = *reader;
    for _ in 0..count {
        reader.u16(FIELD)?;
        reader.lenenc_bytes(FIELD)?;
    }
    for place in 0..count {
        let kind = types.u16(FIELD)?;
        types.lenenc_bytes(FIELD)?;
        if nulls[place / 8] & 1 << (place % 8) == 0 {
            skip_value(reader, kind)?;
        }
    }
    Ok(())
}

/// Skips a value as the server does, which knows fewer types than the protocol has.
fn skip_value(reader: &mut Reader<'_>, kind: u16) -> Result<(), Malformed> {
    const UNSIGNED: u16 = 1 << 15;
    let width = match kind & !UNSIGNED {
        1 => 1,
        2 => 2,
        3 | 4 => 4,
        5 | 8 => 8,
        _ => {
            let len = reader.lenenc_int(FIELD)?;
            // Of a longer length it reads the first four bytes only.
            usize::try_from(u32::try_from(len).map_err(|_| Malformed::Invalid(FIELD))?)
                .unwrap_or(usize::MAX)
        }
    };
    reader.bytes(width, FIELD).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = b"SELECT 1";

    fn text(attributes: &[u8]) -> Result<Vec<u8>, Malformed> {
        let payload = [b"\x03", attributes, TEXT].concat();
        query_attributes(&payload).map(|len| payload[1 + len..].to_vec())
    }

    #[test]
    fn the_text_is_found_behind_attributes_of_each_type() {
        for attributes in [
            &b"\x00\x01"[..],
            b"\x01\x01\x00\x01\xfd\x00\x01n\x03val",
            b"\x01\x01\x01\x01\xfd\x00\x01n",
            b"\x01\x01\x00\x01\x01\x80\x01n\x05",
            b"\x01\x01\x00\x01\x02\x00\x01n\x05\0",
            b"\x01\x01\x00\x01\x03\x00\x01n\x05\0\0\0",
            b"\x01\x01\x00\x01\x05\x00\x01n\x05\0\0\0\0\0\0\0",
            b"\x01\x01\x00\x01\x0a\x00\x01n\x04\xe6\x07\x01\x02",
            b"\x01\x01\x00\x01\xfd\x00\x00\xfc\x03\x00val",
            b"\x03\x01\x02\x01\xfd\x00\x01a\xfd\x00\x01b\x08\x00\x01c\x01x\x01\0\0\0\0\0\0\0",
        ] {
            assert_eq!(text(attributes).as_deref(), Ok(TEXT), "{attributes:?}");
        }
    }

    #[test]
    fn nine_attributes_have_two_bytes_of_bitmap() {
        let types = b"\xfd\x00\x01n".repeat(9);
        let attributes = [b"\x09\x01\xfe\x00\x01", &types[..], b"\x01x\x01y"].concat();
        assert_eq!(text(&attributes).as_deref(), Ok(TEXT));
    }

    #[test]
    fn what_the_server_refuses_is_refused() {
        for attributes in [
            &b"\x00\x02"[..],
            b"\x00\x00",
            b"\x00\xfb",
            b"\xfb\x01",
            b"\xfd\xff\xff\xff\x01",
            b"\x01\x01\x00\x00\xfd\x00\x01n\x03val",
            b"\x01\x01\x00\x01\xfd\x00\x01n\x7fval",
            b"\x01\x01\x00\x01\xfd\x00\x01n\xfe\x01\0\0\0\x01\0\0\0v",
        ] {
            assert!(text(attributes).is_err(), "{attributes:?}");
        }
        let whole = b"\x03\x01\x01\x00\x01\xfd\x00\x01n\x03val";
        for cut in 0..whole.len() {
            assert!(query_attributes(&whole[..cut]).is_err(), "cut at {cut}");
        }
    }
}
