//! Connection attributes: what a client says of itself, names and values in turn.
//!
//! Source: MySQL manual, "Protocol::HandshakeResponse41". Nothing of them is kept: a client's are
//! only seen to be sound.

use crate::reader::put_lenenc_bytes;
use crate::{Malformed, Reader};

/// Servers take no more.
const BYTES_MAX: usize = 64 << 10;

const FIELD: &str = "connection attributes";

/// Reads a block of attributes and sees that names and values are complete.
pub(crate) fn read_attributes<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], Malformed> {
    let block = reader.lenenc_bytes(FIELD)?;
    if block.len() > BYTES_MAX {
        return Err(Malformed::Invalid(FIELD));
    }
    let mut pairs = Reader::new(block);
    while !pairs.is_empty() {
        pairs.lenenc_bytes(FIELD)?;
        pairs.lenenc_bytes(FIELD)?;
    }
    Ok(block)
}

/// The block of these attributes, names first, without its own length.
pub fn encode_attributes(pairs: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in pairs {
        put_lenenc_bytes(&mut block, name.as_bytes());
        put_lenenc_bytes(&mut block, value.as_bytes());
    }
    block
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(block: &[u8]) -> Result<usize, Malformed> {
        let mut payload = Vec::new();
        put_lenenc_bytes(&mut payload, block);
        read_attributes(&mut Reader::new(&payload)).map(<[u8]>::len)
    }

    #[test]
    fn whole_pairs_are_read_and_nothing_else() {
        let block = encode_attributes(&[("_os", "Linux"), ("empty", "")]);
        assert_eq!(block, b"\x03_os\x05Linux\x05empty\0");
        assert_eq!(read(&block), Ok(block.len()));
        assert_eq!(read(b""), Ok(0));
        for cut in [1, 4, 5, 9, 12, 16] {
            assert!(read(&block[..cut]).is_err(), "cut at {cut}");
        }
        assert!(read(&vec![0; BYTES_MAX + 2]).is_err());
        assert!(read_attributes(&mut Reader::new(b"\x05\x01a")).is_err());
    }
}
