//! What clients of each dialect are told.

use super::*;
use crate::packet::write_packet;
use crate::response::ResponseWalk;

const OLD: ClientDialect = ClientDialect {
    deprecate_eof: false,
    session_track: false,
    cache_metadata: false,
};
const NEW: ClientDialect = ClientDialect {
    deprecate_eof: true,
    session_track: false,
    cache_metadata: false,
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
    told_by(answer, Translation::new(dialect, 0))
}

/// The same, whether rows are told one by one or as many as there are.
fn told_by(answer: &[u8], translation: Translation) -> Vec<u8> {
    let one_by_one = told_rows(answer, translation.clone(), false);
    let in_runs = told_rows(answer, translation, true);
    assert_eq!(one_by_one, in_runs);
    in_runs
}

fn told_rows(answer: &[u8], mut translation: Translation, in_runs: bool) -> Vec<u8> {
    let mut walk = ResponseWalk::new(true, 0);
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
        if in_runs && matches!(piece, Piece::Row(_)) {
            let (rows, _) = walk.rows(&answer[at..]);
            at += rows.len();
            translation.rows(rows, &mut out);
        }
    }
    assert!(walk.is_done());
    out
}

/// What clients are told that keep column definitions, for the same answer, cut at `cut`, twice in turn.
fn told_twice(answer: &[u8], dialect: ClientDialect, cut: usize) -> [Vec<u8>; 2] {
    let mut known = None;
    [(); 2].map(|()| {
        let mut walk = ResponseWalk::new(true, 0);
        let mut translation = Translation::new(dialect, 0).with_kept(known);
        let (mut at, mut out) = (0, Vec::new());
        for end in [cut, answer.len()] {
            while let Some(piece) = walk.next(&answer[at..end]).expect("well-formed") {
                at += piece.bytes().len();
                let told = Told {
                    next_sequence_id: walk.next_sequence_id(),
                    ..Told::default()
                };
                let done = translation.piece(&piece, &told, &mut out);
                done.expect("well-formed");
            }
            translation.flushed();
        }
        known = translation.kept();
        out
    })
}

#[test]
fn definitions_that_a_client_has_are_taken_back_while_they_are_at_hand() {
    let mut answer = Vec::new();
    for (id, payload) in [(1, &b"\x02"[..]), (2, b"def1"), (3, b"def2"), (4, b"\0\0a")] {
        write_packet(&mut answer, id, payload);
    }
    encode_ok_at_end(&mut answer, 5);
    let packets = |out: &[u8]| {
        let (mut at, mut packets) = (0, Vec::new());
        while let Ok(packet) = crate::whole_packet(&out[at..]) {
            packets.push((packet.sequence_id, packet.payload.bytes().to_vec()));
            at += packet.consumed;
        }
        packets
    };
    for deprecate_eof in [true, false] {
        let dialect = ClientDialect {
            deprecate_eof,
            session_track: false,
            cache_metadata: true,
        };
        for cut in 1..answer.len() {
            let [first, second] = told_twice(&answer, dialect, cut).map(|out| packets(&out));
            assert_eq!(first[0], (1, vec![2, 1]), "cut at {cut}");
            assert_eq!(first[1..3], [(2, b"def1".to_vec()), (3, b"def2".to_vec())]);
            // Part of them may have been sent.
            let at_hand = !(5..5 + 2 * 8).contains(&cut);
            let left_out = usize::from(at_hand) * 2;
            assert_eq!(second[0], (1, vec![2, u8::from(!at_hand)]), "cut at {cut}");
            assert_eq!(second.len(), first.len() - left_out, "cut at {cut}");
            for (place, (id, _)) in second.iter().enumerate() {
                assert_eq!(usize::from(*id), place + 1, "cut at {cut}");
            }
            assert_eq!(
                second.last().map(|last| &last.1),
                first.last().map(|last| &last.1)
            );
        }
    }
}

fn encode_ok_at_end(answer: &mut Vec<u8>, sequence_id: u8) {
    ok(answer, sequence_id, 0xfe, b"");
}

#[test]
fn an_error_behind_columns_follows_their_end_unless_a_cursor_was_to_be_opened() {
    const ERR: &[u8] = b"\xff\x56\x05#HY000no";
    let columns = || {
        let mut out = Vec::new();
        write_packet(&mut out, 1, b"\x01");
        write_packet(&mut out, 2, b"def");
        out
    };
    let (mut answer, mut ended) = (columns(), columns());
    write_packet(&mut answer, 3, ERR);
    encode_eof(&mut ended, 3, 0, ServerStatus::AUTOCOMMIT);
    write_packet(&mut ended, 4, ERR);
    let translation = || Translation::new(OLD, 0);
    assert_eq!(told_by(&answer, translation()), ended);
    assert_eq!(told_by(&answer, translation().with_cursor()), answer);
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

/// As MySQL ends a result set in a routine that has caught the error which cut it off.
#[test]
fn an_eof_packet_in_place_of_the_last_ok_packet_stays_one() {
    let partial = [
        (1, &b"\x01"[..]),
        (2, b"def"),
        (3, b"\xfe\0\0\x0a\0"),
        (4, b"\0\0\0\x02\0\0\0"),
    ];
    let written = |packets: &[(u8, &[u8])]| {
        let mut out = Vec::new();
        for (sequence_id, payload) in packets {
            write_packet(&mut out, *sequence_id, payload);
        }
        out
    };
    let [count, definition, eof, ok] = partial;
    assert_eq!(told(&written(&partial), NEW), written(&partial));
    let old = [count, definition, eof, (4, eof.1), (5, ok.1)];
    assert_eq!(told(&written(&partial), OLD), written(&old));
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

/// The packet at the end of an answer can tell another number of warnings than the backend has counted.
#[test]
fn an_ok_packet_tells_the_number_of_warnings_that_is_known() {
    for (dialect, header) in [(OLD, 0x00), (NEW, 0x00), (NEW, 0xfe), (OLD, 0xfe)] {
        let mut packet = Vec::new();
        ok(&mut packet, 1, header, b"");
        let piece = match header {
            0x00 => Piece::Ok(&packet),
            _ => Piece::RowsEnd(&packet),
        };
        for (counted, warnings) in [(None, 3), (Some(3), 3), (Some(70), 70)] {
            let told = Told {
                counted,
                ..Told::default()
            };
            let mut out = Vec::new();
            let mut translation = Translation::new(dialect, 0);
            translation
                .piece(&piece, &told, &mut out)
                .expect("well-formed");
            let end = OkPacket::parse(&out[HEADER_LEN..]).expect("well-formed");
            let found = match (dialect.deprecate_eof, header) {
                (false, 0xfe) => u16::from_le_bytes([out[5], out[6]]),
                _ => end.warnings,
            };
            assert_eq!(found, warnings, "{header:#x} {counted:?}");
        }
    }
}
