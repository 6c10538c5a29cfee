//! Bytes of a backend that answer no command. They would be taken for the answer to the next command, and each answer would go
//! to the wrong command: so Myriad closes the connection. An ERR packet says why the server closes it (ERR 4031 after a long
//! silence, ERR 1053 before a shutdown), and the client is told.

use events::Io;
use wire::{ErrPacket, HEADER_LEN, Header, whole_packet};

use crate::record::backend::Backend;
use crate::record::shared::Mail;

/// The log shows so many bytes of an ERR packet's payload: its code, its SQLSTATE, and three letters.
const SHOWN_OF_ERR: usize = 12;

/// What bytes are that answer no command.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unasked<'a> {
    /// The server closes the connection, and says why.
    Farewell(ErrPacket<'a>),
    /// The beginning of such a packet, or less than says what packet it is.
    Beginning,
    /// Anything else.
    Stray,
}

impl<'a> Unasked<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        if let Some(first) = bytes.get(HEADER_LEN)
            && *first != 0xff
        {
            return Self::Stray;
        }
        match whole_packet(bytes) {
            Err(_) => Self::Beginning,
            Ok(packet) => {
                let payload = HEADER_LEN..packet.consumed;
                let error = bytes.get(payload).map(ErrPacket::parse);
                error
                    .and_then(Result::ok)
                    .map_or(Self::Stray, Self::Farewell)
            }
        }
    }
}

impl Backend {
    /// True if an answer may come now: the oldest command under way has left. What was written in this turn leaves at
    /// its end, unless it is much, so nothing that has come by now answers it.
    pub(crate) fn may_answer<I: Io<Mail>>(&self, io: &I) -> bool {
        let turn = self.turns.now();
        let oldest = self.exchanges.front();
        oldest.is_some_and(|oldest| oldest.turn != turn || io.unsent(self.handle) == 0)
    }
}

/// The header and the first byte as hexadecimal digits; more of an ERR packet only, for all others may be part of a row.
pub(crate) fn shown(bytes: &[u8]) -> String {
    let len = Header::parse(bytes).map_or(0, |header| header.len);
    let of_payload = match bytes.get(HEADER_LEN) {
        Some(0xff) => len.min(SHOWN_OF_ERR),
        _ => 1,
    };
    let shown = bytes.iter().take(HEADER_LEN + of_payload);
    let digits = shown.map(|byte| format!("{byte:02x}"));
    digits.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const OK: &[u8] = b"\x07\0\0\x01\0\0\0\x02\0\0\0";
    const SILENT: &[u8] = b"\x0b\0\0\0\xff\xbf\x0f#HY000No";
    const ROW: &[u8] = b"\x07\0\0\x01\x06secret";

    #[test]
    fn only_an_err_packet_is_a_farewell() {
        let Unasked::Farewell(error) = Unasked::new(SILENT) else {
            panic!("no farewell");
        };
        assert_eq!((error.code, error.message), (4031, &b"No"[..]));
        for (bytes, expected) in [
            (OK, Unasked::Stray),
            (&OK[..5], Unasked::Stray),
            (&OK[..4], Unasked::Beginning),
            (ROW, Unasked::Stray),
            (&SILENT[..9], Unasked::Beginning),
            (b"\x01\0\0\0\xff", Unasked::Stray),
        ] {
            assert_eq!(Unasked::new(bytes), expected, "{bytes:?}");
        }
    }

    #[test]
    fn the_log_shows_few_bytes_and_no_values() {
        assert_eq!(shown(OK), "07 00 00 01 00");
        assert_eq!(shown(ROW), "07 00 00 01 06");
        assert_eq!(
            shown(b"\x03\0\0\x02\xff\x01\x02secret"),
            "03 00 00 02 ff 01 02"
        );
        let long = [b"\x40\0\0\x01\xff", &[b'x'; 64][..]].concat();
        assert_eq!(shown(&long).len(), 3 * (HEADER_LEN + SHOWN_OF_ERR) - 1);
        assert_eq!(shown(b"\x01"), "01");
    }
}
