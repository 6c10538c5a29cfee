//! Headers of the PROXY protocol: whoever sends them and however they are cut, the same is made of them.

use wire::{Beginning, proxy_header};

/// The first bytes of a connection.
pub fn check(data: &[u8]) {
    let whole = proxy_header(data);
    if let Ok(Beginning::Header(header)) = whole {
        assert!(header.len <= data.len());
        // What follows is another's matter.
        assert_eq!(proxy_header(&data[..header.len]), whole);
    }
    for end in 0..data.len().min(4_096) {
        let part = proxy_header(&data[..end]);
        assert!(part == Ok(Beginning::TooShort) || part == whole, "{end}");
    }
}
