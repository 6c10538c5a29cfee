//! Readers and writers of different speed.

use std::io::{Read, Write};
use std::sync::mpsc::channel;

use crate::puppet::{Heard, Order};
use crate::stage::{PATIENCE, Setup, pattern, until};

#[test]
fn a_slow_reader_gets_ten_megabytes_and_the_handler_learns_when() {
    let stage = Setup::default().start();
    let (mut client, tag) = stage.client();
    let bytes = pattern(10 << 20);
    stage.send(tag, &bytes);
    stage.ask(move |puppet, io| io.notify_drained(puppet.handle(tag)));
    stage.hear_nothing();
    let unsent = stage.ask(move |puppet, io| io.unsent(puppet.handle(tag)));
    assert!(unsent > 0 && unsent < bytes.len(), "{unsent}");
    assert_eq!(stage.unsent_total(), unsent);
    let mut received = vec![0; bytes.len()];
    for piece in received.chunks_mut(100_003) {
        client.read_exact(piece).unwrap();
    }
    assert!(received == bytes);
    assert_eq!(stage.hear(), Heard::Drained(tag));
    stage.hear_nothing();
    assert_eq!(stage.unsent_total(), 0);
    stage.end();
}

/// The kernel takes more of an outbox only when a third of its own buffer is free, which is megabytes.
#[test]
fn what_a_slow_reader_takes_shows_before_the_kernel_takes_more() {
    let stage = Setup::default().start();
    let (mut client, tag) = stage.client();
    stage.send(tag, &pattern(20 << 20));
    let look = || {
        stage.ask(move |puppet, io| {
            let handle = puppet.handle(tag);
            (io.unsent(handle), io.untaken(handle))
        })
    };
    let mut before = look();
    until("both kernels are full", || {
        let last = std::mem::replace(&mut before, look());
        stage.hear_nothing();
        last == before && before == look()
    });
    assert!(before.0 < before.1, "{before:?}");
    let mut piece = [0; 4_096];
    until("the kernel says that some was taken", || {
        client.read_exact(&mut piece).unwrap();
        look().1 < before.1
    });
    assert_eq!(look().0, before.0, "the outbox shows it as well");
    stage.end();
}

#[test]
fn what_is_appended_behind_a_blocked_outbox_follows_in_order() {
    let stage = Setup::default().start();
    let (mut client, tag) = stage.client();
    let bytes = pattern(12 << 20);
    for piece in bytes.chunks(3 << 20) {
        stage.send(tag, piece);
    }
    let mut received = vec![0; bytes.len()];
    client.read_exact(&mut received).unwrap();
    assert!(received == bytes);
    stage.end();
}

#[test]
fn an_empty_outbox_is_drained_later_but_soon() {
    let stage = Setup::default().start();
    let (_client, tag) = stage.client();
    stage.ask(move |puppet, io| io.notify_drained(puppet.handle(tag)));
    assert_eq!(stage.hear(), Heard::Drained(tag));
    stage.ask(move |puppet, io| {
        let handle = puppet.handle(tag);
        io.outbox(handle).extend_from_slice(b"hello");
        io.notify_drained(handle);
        assert_eq!(io.unsent(handle), 5);
    });
    assert_eq!(stage.hear(), Heard::Drained(tag));
    stage.hear_nothing();
    stage.end();
}

#[test]
fn a_paused_connection_receives_nothing_until_it_is_resumed() {
    let stage = Setup::default().start();
    let (mut client, tag) = stage.client();
    stage.pause(tag);
    client.write_all(b"early").unwrap();
    stage.hear_nothing();
    stage.resume(tag);
    assert_eq!(stage.hear_bytes(tag, 5), b"early");
    client.write_all(b"late").unwrap();
    assert_eq!(stage.hear_bytes(tag, 4), b"late");
    stage.end();
}

#[test]
fn pausing_stops_a_flood_in_the_middle_and_the_writer_feels_it() {
    let stage = Setup::default().start();
    let (mut client, tag) = stage.client();
    // Pauses at the first bytes, from within the event.
    stage.ask(|puppet, _| {
        puppet.reflex = Some(Box::new(|heard, handles, io| {
            if let Heard::Received(tag, _) = heard {
                io.pause_receive(handles[tag]);
            }
        }));
    });
    client.set_nonblocking(true).unwrap();
    let bytes = pattern(64 << 20);
    let mut written = 0;
    let mut first = Vec::new();
    until("the writer is held up", || {
        match client.write(&bytes[written..]) {
            Ok(count) => {
                written += count;
                false
            }
            Err(_) => {
                if first.is_empty() {
                    first = match stage.hear() {
                        Heard::Received(_, bytes) => bytes,
                        other => panic!("heard {other:?}"),
                    };
                    return false;
                }
                true
            }
        }
    });
    assert!(written < bytes.len());
    assert!(
        first.len() <= 64 * 1024,
        "more than one buffer: {}",
        first.len()
    );
    stage.hear_nothing();
    stage.ask(|puppet, _| puppet.reflex = None);
    stage.resume(tag);
    let rest = stage.hear_bytes(tag, written - first.len());
    assert!([first, rest].concat() == bytes[..written]);
    stage.end();
}

#[test]
fn a_large_outbox_leaves_within_the_turn() {
    let stage = Setup::default().start();
    let (mut client, tag) = stage.client();
    let unsent = stage.ask(move |puppet, io| {
        let handle = puppet.handle(tag);
        let (told, heard) = channel();
        let write = Order::new(move |_, io| io.outbox(handle).resize(100_000, 1));
        let look = Order::new(move |_, io| told.send(io.unsent(handle)).unwrap());
        // Posted from within a turn, both are delivered in the next one.
        assert!(io.post(0, write).is_ok() && io.post(0, look).is_ok());
        heard
    });
    assert_eq!(unsent.recv_timeout(PATIENCE), Ok(0));
    client.read_exact(&mut vec![0; 100_000]).unwrap();
    stage.end();
}
