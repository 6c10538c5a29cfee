//! Handles of connections that are gone.

use std::io::{Read, Write};

use events::{Close, Handle};

use crate::stage::Setup;

#[test]
fn a_stale_handle_does_nothing() {
    let stage = Setup::default().start();
    let (_client, tag) = stage.client();
    stage.close(tag, Close::Abort);
    // Takes the same place in the driver's table.
    let (mut successor, successor_tag) = stage.client();
    stage.ask(move |puppet, io| {
        for stale in [puppet.handle(tag), Handle(u64::MAX), Handle(0xdead_beef)] {
            io.outbox(stale).extend_from_slice(b"lost");
            assert!(io.outbox(stale).is_empty());
            assert_eq!((io.unsent(stale), io.unsent_total()), (0, 0));
            io.notify_drained(stale);
            io.pause_receive(stale);
            io.resume_receive(stale);
            io.close(stale, Close::Flush);
            io.close(stale, Close::Abort);
        }
    });
    stage.hear_nothing();
    stage.send(successor_tag, b"found");
    let mut received = [0; 5];
    successor.read_exact(&mut received).unwrap();
    assert_eq!(&received, b"found");
    successor.write_all(b"too").unwrap();
    assert_eq!(stage.hear_bytes(successor_tag, 3), b"too");
    stage.end();
}

#[test]
fn a_gently_closed_handle_is_stale_too() {
    let stage = Setup::default().start();
    let (mut client, tag) = stage.client();
    stage.ask(move |puppet, io| {
        let handle = puppet.handle(tag);
        io.outbox(handle).extend_from_slice(b"said");
        io.close(handle, Close::Flush);
        io.outbox(handle).extend_from_slice(b"unsaid");
        io.close(handle, Close::Abort);
    });
    let mut received = Vec::new();
    client.read_to_end(&mut received).unwrap();
    assert_eq!(received, b"said");
    stage.end();
}
