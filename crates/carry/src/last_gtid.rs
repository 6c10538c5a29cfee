//! `@@last_gtid` of MariaDB: the transaction that the session has written to the binary log last, for which an application may
//! wait on a replica (`MASTER_GTID_WAIT()`). The session tracker reports it with each write, and no client may set it: a text
//! that asks for it gets the session's value in its place.

use std::fmt;

/// A global transaction id. <https://mariadb.com/kb/en/gtid/>
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gtid {
    domain: u32,
    server: u32,
    /// Begins at 1: 0 of a session that has written nothing.
    sequence: u64,
}

impl Gtid {
    /// The variable that tells it.
    pub const VARIABLE: &'static [u8] = b"last_gtid";

    /// As the server writes it. `None` of anything else.
    pub fn read(text: &[u8]) -> Option<Self> {
        let mut parts = std::str::from_utf8(text).ok()?.splitn(3, '-');
        Some(Self {
            domain: parts.next()?.parse().ok()?,
            server: parts.next()?.parse().ok()?,
            sequence: parts.next()?.parse().ok()?,
        })
    }
}

impl fmt::Display for Gtid {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.sequence {
            0 => Ok(()),
            sequence => write!(out, "{}-{}-{sequence}", self.domain, self.server),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gtid_is_written_as_it_was_read() {
        for text in ["0-1-2", "4294967295-1-18446744073709551615"] {
            let gtid = Gtid::read(text.as_bytes()).expect(text);
            assert_eq!(gtid.to_string(), text);
        }
        assert_eq!(Gtid::default().to_string(), "");
        for text in ["", "0-1", "0-1-x", "0-1-2-3", "4294967296-1-1"] {
            assert_eq!(Gtid::read(text.as_bytes()), None, "{text}");
        }
    }
}
