//! What connections say: the statement of each workload, and what its answer must be.

use std::io::Write;

use fastrand::Rng;
use wire::{Command, PacketWriter};

use crate::answer::Expectation;

/// What the connections do once all are logged in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// Reads one row by its primary key from the tables `sbtest1` … of sysbench; the answer must be
    /// one row with one value that is not NULL.
    PointSelect {
        /// How many tables there are.
        tables: u32,
        /// How many rows each has.
        rows: u32,
    },
    /// Asks for a text that no other statement of any connection asks for, and wants it back.
    Token,
    /// Says nothing until the end; then the connection must still answer a COM_PING.
    Idle,
}

/// Which statement it is: the connection's number and the statement's number on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) connection: u32,
    pub(crate) sequence: u64,
}

/// The text of one `token` statement; kept as numbers, so that keeping it costs no memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) origin: Origin,
    pub(crate) random: u64,
}

/// The longest text of a token: numbers of 10, 20 and 16 digits with what stands between them.
const TOKEN_MAX: usize = 50;

/// The text of a token, without memory of its own.
pub(crate) struct TokenText {
    bytes: [u8; TOKEN_MAX],
    len: usize,
}

impl Workload {
    /// Appends the next statement. Returns what its answer must be, or `None` if the workload has
    /// nothing to say.
    pub(crate) fn put_next(
        &self,
        out: &mut Vec<u8>,
        origin: Origin,
        rng: &mut Rng,
    ) -> Option<Expectation> {
        match *self {
            Self::PointSelect { tables, rows } => {
                let (table, id) = (rng.u32(1..=tables), rng.u32(1..=rows));
                put_query(out, |text| {
                    write!(text, "SELECT c FROM sbtest{table} WHERE id={id}")
                });
                Some(Expectation::OneValue)
            }
            Self::Token => {
                let token = Token {
                    origin,
                    random: rng.u64(..),
                };
                put_query(out, |text| {
                    text.extend_from_slice(b"SELECT '");
                    text.extend_from_slice(token.text().bytes());
                    text.push(b'\'');
                    Ok(())
                });
                Some(Expectation::Token(token))
            }
            Self::Idle => None,
        }
    }

    /// Whether there is nothing that could be asked for.
    pub(crate) fn is_empty(&self) -> bool {
        matches!(*self, Self::PointSelect { tables, rows } if tables == 0 || rows == 0)
    }
}

impl Token {
    /// Its text.
    pub(crate) fn text(&self) -> TokenText {
        let Origin {
            connection,
            sequence,
        } = self.origin;
        let mut bytes = [0; TOKEN_MAX];
        let mut rest = &mut bytes[..];
        let written = write!(rest, "c{connection}-s{sequence}-{:016x}", self.random);
        debug_assert!(written.is_ok(), "the longest numbers fit");
        let len = TOKEN_MAX - rest.len();
        TokenText { bytes, len }
    }
}

impl TokenText {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// Appends a COM_PING. Returns what its answer must be.
pub(crate) fn put_ping(out: &mut Vec<u8>) -> Expectation {
    wire::write_packet(out, 0, &[Command::Ping as u8]);
    Expectation::Pong
}

/// Appends a COM_QUIT.
pub(crate) fn put_quit(out: &mut Vec<u8>) {
    wire::write_packet(out, 0, &[Command::Quit as u8]);
}

fn put_query(out: &mut Vec<u8>, text: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) {
    let mut packet = PacketWriter::begin(out, 0);
    packet.payload().push(Command::Query as u8);
    let written = text(packet.payload());
    debug_assert!(written.is_ok(), "writing into memory cannot fail");
    packet.finish();
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORIGIN: Origin = Origin {
        connection: 7,
        sequence: 9,
    };

    fn next(workload: Workload) -> (Vec<u8>, Option<Expectation>) {
        let mut out = Vec::new();
        let expectation = workload.put_next(&mut out, ORIGIN, &mut Rng::with_seed(1));
        (out, expectation)
    }

    #[test]
    fn a_point_select_is_one_packet_within_its_bounds() {
        let (out, expectation) = next(Workload::PointSelect { tables: 1, rows: 1 });
        assert_eq!(out, b"\x21\0\0\0\x03SELECT c FROM sbtest1 WHERE id=1");
        assert_eq!(expectation, Some(Expectation::OneValue));
    }

    #[test]
    fn a_token_names_its_statement() {
        let (out, expectation) = next(Workload::Token);
        let Some(Expectation::Token(token)) = expectation else {
            panic!("{expectation:?}");
        };
        let text = token.text();
        assert!(text.bytes().starts_with(b"c7-s9-"));
        assert_eq!(&out[13..out.len() - 1], text.bytes());
    }

    #[test]
    fn the_longest_token_fits() {
        let origin = Origin {
            connection: u32::MAX,
            sequence: u64::MAX,
        };
        let random = u64::MAX;
        assert_eq!(Token { origin, random }.text().bytes().len(), TOKEN_MAX);
    }

    #[test]
    fn the_idle_say_nothing() {
        assert_eq!(next(Workload::Idle), (Vec::new(), None));
    }
}
