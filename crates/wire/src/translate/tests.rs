//! What clients of each dialect are told.

use super::*;
use crate::packet::write_packet;
use crate::response::ResponseWalk;

const OLD: ClientDialect = ClientDialect {
    deprecate_eof: false,
    session_track: false,
};
const NEW: ClientDialect = ClientDialect {
    deprecate_eof: true,
    session_track: false,
};

fn ok(out: &mut Vec<u8>, sequence_id: u8, header: u8, block: &'static [u8]) {
    let ok = OkPacket {
        status: ServerStatus::AUTOCOMMIT | ServerStatus::SESSION_STATE_CHANGED,
        warnings: 3,
        state_changes: block,
        ..OkPacket::default()
    };
    ok.encode(out, sequence_id, header);
}

/// What a client of `dialect` is told for an answer.
fn told(answer: &[u8], dialect: ClientDialect) -> Vec<u8> {
    let (mut walk, mut translation) = (ResponseWalk::new(true, 0), Translation::new(dialect, 0));
    let (mut at, mut out) = (0, Vec::new());
    while let Some(piece) = walk.next(&answer[at..]).expect("well-formed") {
        at += piece.bytes().len();
        let told = Told {
            status: ServerStatus::AUTOCOMMIT,
            next_sequence_id: walk.next_sequence_id(),
            ..Told::default()
        };
        translation
            .piece(&piece, &told, &mut out)
            .expect("well-formed");
    }
    assert!(walk.is_done());
    out
}

#[test]
fn an_old_client_gets_both_eof_packets_and_ids_without_gaps() {
    let mut answer = Vec::new();
    for (sequence_id, payload) in [(1, &b"\x01"[..]), (2, b"def"), (3, b"\x01a")] {
        write_packet(&mut answer, sequence_id, payload);
    }
    ok(&mut answer, 4, 0xfe, b"");
    let mut expected = Vec::new();
    for (sequence_id, payload) in [
        (1, &b"\x01"[..]),
        (2, b"def"),
        // With the flags that the end of the rows has.
        (3, b"\xfe\0\0\x02\0"),
        (4, b"\x01a"),
        (5, b"\xfe\x03\0\x02\0"),
    ] {
        write_packet(&mut expected, sequence_id, payload);
    }
    assert_eq!(told(&answer, OLD), expected);
    assert_eq!(told(&answer, NEW), answer);
}

#[test]
fn a_block_that_nobody_asked_for_is_left_out_with_its_flag() {
    let mut answer = Vec::new();
    ok(&mut answer, 1, 0x00, b"\x02\x02\x011");
    assert_eq!(told(&answer, NEW), b"\x07\0\0\x01\0\0\0\x02\0\x03\0");
    // MariaDB sends an empty block when BEGIN ends a transaction that did nothing.
    let empty = b"\x09\0\0\x01\0\0\0\x02\x40\x03\0\0\0";
    assert_eq!(told(empty, NEW), b"\x07\0\0\x01\0\0\0\x02\0\x03\0");
}

#[test]
fn the_eof_before_the_rows_gets_the_flags_of_the_end_while_it_is_at_hand() {
    let mut answer = Vec::new();
    for (sequence_id, payload) in [(1, &b"\x01"[..]), (2, b"def"), (3, b"\x01a")] {
        write_packet(&mut answer, sequence_id, payload);
    }
    let end = OkPacket {
        status: ServerStatus::AUTOCOMMIT | ServerStatus::NO_INDEX_USED,
        ..OkPacket::default()
    };
    end.encode(&mut answer, 4, 0xfe);
    let told = told(&answer, OLD);
    let eof = b"\x05\0\0\x03\xfe\0\0\x22\0";
    assert!(
        told.windows(eof.len()).any(|packet| packet == eof),
        "{told:?}"
    );
}
