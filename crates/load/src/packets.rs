//! Cutting what a connection receives into packets, whatever pieces it comes in.

use wire::{HEADER_LEN, Header};

/// The first packet of `bytes`, its header included, if all of it is there.
pub(crate) fn first_packet(bytes: &[u8]) -> Option<&[u8]> {
    let header = Header::parse(bytes)?;
    bytes.get(..HEADER_LEN + header.len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_counts_once_it_is_whole() {
        let bytes = b"\x02\0\0\x01abc";
        for cut in 0..6 {
            assert_eq!(first_packet(&bytes[..cut]), None);
        }
        assert_eq!(first_packet(bytes), Some(&bytes[..6]));
    }
}
