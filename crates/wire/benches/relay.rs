//! What it costs to walk through an answer and to tell it to a client: `cargo bench --package wire`.

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use wire::{ClientDialect, OkPacket, ResponseWalk, Told, Translation, write_packet};

/// As sysbench's tables have it, in bytes.
const ROW: u8 = 120;

const ROWS: [usize; 4] = [0, 1, 100, 10_000];

fn main() {
    divan::main();
}

/// To a client that can do what backend connections can: packets are copied.
#[divan::bench(args = ROWS)]
fn as_it_came(bencher: Bencher<'_, '_>, rows: usize) {
    relays(bencher, rows, true);
}

/// To a client without `CLIENT_DEPRECATE_EOF`: the ends are other packets.
#[divan::bench(args = ROWS)]
fn with_eof_packets(bencher: Bencher<'_, '_>, rows: usize) {
    relays(bencher, rows, false);
}

fn relays(bencher: Bencher<'_, '_>, rows: usize, deprecate_eof: bool) {
    let answer = answer(rows);
    let dialect = ClientDialect {
        deprecate_eof,
        session_track: false,
        cache_metadata: false,
    };
    let mut out = Vec::with_capacity(2 * answer.len());
    bencher
        .counter(BytesCount::of_slice(&answer))
        .bench_local(|| {
            out.clear();
            assert!(relay(black_box(&answer), dialect, &mut out));
        });
}

/// The answer of a backend to a SELECT of one column that finds so many rows.
fn answer(rows: usize) -> Vec<u8> {
    let mut answer = Vec::new();
    write_packet(&mut answer, 1, &[1]);
    let column = b"\x03def\x06sbtest\x07sbtest1\x07sbtest1\x01c\x01c\x0c\x2d\x00\xe0\x01\x00\x00\xfe\x01\x00\x00\x00\x00";
    write_packet(&mut answer, 2, column);
    let mut row = vec![b'c'; usize::from(ROW) + 1];
    row[0] = ROW;
    let mut sequence_id = 3;
    for _ in 0..rows {
        sequence_id = write_packet(&mut answer, sequence_id, &row);
    }
    OkPacket::default().encode(&mut answer, sequence_id, 0xfe);
    answer
}

/// Tells an answer, all of which is there. True if that was its end.
fn relay(answer: &[u8], dialect: ClientDialect, out: &mut Vec<u8>) -> bool {
    let mut walk = ResponseWalk::new(true, 0);
    let mut translation = Translation::new(dialect, 0);
    let mut at = 0;
    while let Ok(Some(piece)) = walk.next(&answer[at..]) {
        at += piece.bytes().len();
        let told = Told {
            next_sequence_id: walk.next_sequence_id(),
            ..Told::default()
        };
        if translation.piece(&piece, &told, out).is_err() {
            return false;
        }
    }
    walk.is_done()
}
