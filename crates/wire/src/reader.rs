//! Fields inside of a payload: integers and strings, of fixed and of encoded length.
//!
//! Source: MySQL manual, "Protocol Data Types".

use crate::Malformed;

/// Reads fields from the front of a payload.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// A reader at the beginning of `payload`.
    pub fn new(payload: &'a [u8]) -> Self {
        Self { rest: payload }
    }

    /// What has not been read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// True when everything has been read.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// `n` bytes.
    pub fn bytes(&mut self, n: usize, field: &'static str) -> Result<&'a [u8], Malformed> {
        let (bytes, rest) = self
            .rest
            .split_at_checked(n)
            .ok_or(Malformed::Truncated(field))?;
        self.rest = rest;
        Ok(bytes)
    }

    /// One byte.
    pub fn u8(&mut self, field: &'static str) -> Result<u8, Malformed> {
        self.bytes(1, field).map(|bytes| bytes[0])
    }

    /// Two bytes, little end first.
    pub fn u16(&mut self, field: &'static str) -> Result<u16, Malformed> {
        self.bytes(2, field)
            .map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]]))
    }

    /// Four bytes, little end first.
    pub fn u32(&mut self, field: &'static str) -> Result<u32, Malformed> {
        let bytes = self.bytes(4, field)?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// Bytes up to a NUL, which is read and dropped.
    pub fn nul_terminated(&mut self, field: &'static str) -> Result<&'a [u8], Malformed> {
        let end = self
            .rest
            .iter()
            .position(|&b| b == 0)
            .ok_or(Malformed::Truncated(field))?;
        let bytes = &self.rest[..end];
        self.rest = &self.rest[end + 1..];
        Ok(bytes)
    }

    /// A length-encoded integer.
    pub fn lenenc_int(&mut self, field: &'static str) -> Result<u64, Malformed> {
        let width = match self.u8(field)? {
            0xfc => 2,
            0xfd => 3,
            0xfe => 8,
            0xfb | 0xff => return Err(Malformed::Invalid(field)),
            small => return Ok(u64::from(small)),
        };
        let bytes = self.bytes(width, field)?;
        Ok(bytes
            .iter()
            .rev()
            .fold(0, |value, &byte| value << 8 | u64::from(byte)))
    }

    /// A string with a length-encoded length.
    pub fn lenenc_bytes(&mut self, field: &'static str) -> Result<&'a [u8], Malformed> {
        let len = self.lenenc_int(field)?;
        self.bytes(usize::try_from(len).unwrap_or(usize::MAX), field)
    }

    /// A column of a text row: `None` for NULL.
    pub fn text_column(&mut self, field: &'static str) -> Result<Option<&'a [u8]>, Malformed> {
        if self.rest.first() == Some(&0xfb) {
            self.rest = &self.rest[1..];
            return Ok(None);
        }
        self.lenenc_bytes(field).map(Some)
    }
}

/// Appends a length-encoded integer.
pub fn put_lenenc_int(out: &mut Vec<u8>, value: u64) {
    let bytes = value.to_le_bytes();
    match value {
        0..0xfb => out.push(bytes[0]),
        0xfb..0x1_0000 => {
            out.push(0xfc);
            out.extend_from_slice(&bytes[..2]);
        }
        0x1_0000..0x100_0000 => {
            out.push(0xfd);
            out.extend_from_slice(&bytes[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&bytes);
        }
    }
}

/// Appends a string with a length-encoded length.
pub fn put_lenenc_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_lenenc_int(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_encoded_integers_survive_a_round_trip() {
        for value in [
            0,
            250,
            251,
            252,
            0xffff,
            0x1_0000,
            0xff_ffff,
            0x100_0000,
            u64::MAX,
        ] {
            let mut out = Vec::new();
            put_lenenc_int(&mut out, value);
            let mut reader = Reader::new(&out);
            assert_eq!(reader.lenenc_int("value"), Ok(value));
            assert!(reader.is_empty());
            for cut in 0..out.len() {
                assert!(Reader::new(&out[..cut]).lenenc_int("value").is_err());
            }
        }
    }

    #[test]
    fn strings_that_reach_past_the_end_are_refused() {
        assert_eq!(
            Reader::new(b"\x05abc").lenenc_bytes("x"),
            Err(Malformed::Truncated("x"))
        );
        assert_eq!(
            Reader::new(b"abc").nul_terminated("x"),
            Err(Malformed::Truncated("x"))
        );
        assert_eq!(
            Reader::new(b"\xfe\xff\xff\xff\xff\xff\xff\xff\xffa").lenenc_bytes("x"),
            Err(Malformed::Truncated("x"))
        );
    }

    #[test]
    fn null_is_not_an_empty_string() {
        let mut reader = Reader::new(b"\xfb\x00\x01a");
        assert_eq!(reader.text_column("c"), Ok(None));
        assert_eq!(reader.text_column("c"), Ok(Some(&b""[..])));
        assert_eq!(reader.text_column("c"), Ok(Some(&b"a"[..])));
    }
}
