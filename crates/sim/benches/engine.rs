//! What whole commands cost inside the engine, without any I/O: `cargo bench --package sim --bench engine`.
//!
//! Bytes of a client go in, those for a backend come out, its answer goes in, and the client's answer comes out. Backends
//! are set up by the simulated database; from then on a table of packets answers for it.

mod front_door;

use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use wire::{Capabilities, OkPacket, ServerStatus, write_packet};

use front_door::{FrontDoor, command};

const POINT_SELECT: &str = "SELECT v FROM kv WHERE k=3";

/// Texts to prepare; the simulated database answers for each as for the point select.
const POINT: &str = "SELECT c FROM sbtest1 WHERE id=?";
const INSERT: &str = "INSERT INTO sbtest1 (id, k, c, pad) VALUES (?, ?, ?, ?)";
const JOIN: &str = "SELECT o.id, o.placed_at, o.total, c.name, c.email FROM orders o JOIN customers c ON c.id = o.customer_id \
     WHERE o.state = ? AND o.placed_at > ? ORDER BY o.placed_at DESC LIMIT ?";

/// As sysbench's tables have it, in bytes.
const ROW: u8 = 120;

const COM_QUERY: u8 = 0x03;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_CLOSE: u8 = 0x19;

/// What most drivers can do.
const MODERN: Capabilities = Capabilities::DEPRECATE_EOF;

fn main() {
    divan::main();
}

/// So many clients, each of which has a statement under way all the time; each backend runs one at a time.
#[divan::bench(args = [1, 1_000])]
fn point_select(bencher: Bencher<'_, '_>, clients: usize) {
    point_selects(bencher, clients, false);
}

/// The same where sessions share backends.
#[divan::bench(args = [1, 1_000])]
fn point_select_in_lanes(bencher: Bencher<'_, '_>, clients: usize) {
    point_selects(bencher, clients, true);
}

fn point_selects(bencher: Bencher<'_, '_>, clients: usize, lanes: bool) {
    let mut door = FrontDoor::new(lanes);
    let select = command(COM_QUERY, POINT_SELECT.as_bytes());
    door.remember(&select, &select);
    (0..clients).for_each(|_| door.log_in(MODERN));
    // From here on: each login waits until all that was said is answered.
    (0..clients).for_each(|client| door.say(client, &select));
    let mut answered = Vec::new();
    let mut round = || {
        let mut count = 0;
        while count < clients {
            door.turn(&mut answered);
            count += answered.len();
            for client in answered.drain(..) {
                door.say(client, &select);
            }
        }
    };
    // Until what is learned of the read, and of how many backends are good for it, is learned.
    (0..5_000_usize.div_ceil(clients)).for_each(|_| round());
    bencher.counter(ItemsCount::new(clients)).bench_local(round);
}

/// COM_STMT_PREPARE of a text that another session has prepared already, and COM_STMT_CLOSE.
#[divan::bench(args = ["point", "insert", "join"])]
fn prepare_known(bencher: Bencher<'_, '_>, name: &str) {
    let text = match name {
        "point" => POINT,
        "insert" => INSERT,
        _ => JOIN,
    };
    let mut door = FrontDoor::new(false);
    let prepare = command(COM_STMT_PREPARE, text.as_bytes());
    door.remember(
        &prepare,
        &command(COM_STMT_PREPARE, POINT_SELECT.as_bytes()),
    );
    door.log_in(MODERN);
    door.log_in(MODERN);
    door.ask(0, &prepare);
    let mut close = command(COM_STMT_CLOSE, &[0; 4]);
    bencher.bench_local(|| {
        let id = statement_id(door.ask(1, black_box(&prepare)));
        close[5..].copy_from_slice(&id);
        door.say(1, &close);
    });
}

/// Where the answer to COM_STMT_PREPARE has it.
fn statement_id(answer: &[u8]) -> [u8; 4] {
    answer[5..9].try_into().unwrap_or_default()
}

/// An answer of so many rows, as it came.
#[divan::bench(args = [1, 100, 10_000])]
fn relay(bencher: Bencher<'_, '_>, rows: usize) {
    relays(bencher, rows, MODERN);
}

/// The same to a client that is told EOF packets.
#[divan::bench(args = [1, 100, 10_000])]
fn relay_with_eof_packets(bencher: Bencher<'_, '_>, rows: usize) {
    relays(bencher, rows, Capabilities::empty());
}

fn relays(bencher: Bencher<'_, '_>, rows: usize, capabilities: Capabilities) {
    let mut door = FrontDoor::new(false);
    let select = command(COM_QUERY, b"SELECT c FROM sbtest1");
    let answer = answer(rows);
    let bytes = BytesCount::of_slice(&answer);
    door.answer_with(&select, answer);
    // The tables of a front door are not empty.
    for _ in 0..1_000 {
        door.log_in(capabilities);
    }
    bencher.counter(bytes).bench_local(|| {
        door.ask(500, black_box(&select));
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
    let end = OkPacket {
        status: ServerStatus::AUTOCOMMIT,
        ..OkPacket::default()
    };
    end.encode(&mut answer, sequence_id, 0xfe);
    answer
}
