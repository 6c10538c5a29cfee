//! Closing: what was said must arrive, and it must not last for ever.

use std::io::{Read, Write};
use std::net::TcpListener;

use driver::Address;
use events::{Close, Handler, Io};

use crate::puppet::Heard;
use crate::stage::{Setup, pattern};

#[test]
fn a_gentle_close_delivers_every_byte_to_a_slow_reader() {
    let stage = Setup::default().start();
    let (mut client, tag) = stage.client();
    stage.send(tag, &pattern(10 << 20));
    stage.close(tag, Close::Flush);
    let mut received = Vec::new();
    client.read_to_end(&mut received).unwrap();
    assert!(received == pattern(10 << 20));
    drop(client);
    stage.hear_nothing();
    stage.end();
}

#[test]
fn an_answer_survives_input_that_nobody_reads() {
    let stage = Setup::default().start();
    let (mut client, tag) = stage.client();
    stage.pause(tag);
    client.write_all(&pattern(500_000)).unwrap();
    stage.send(tag, b"go away");
    stage.close(tag, Close::Flush);
    // Still writing when the other side has closed.
    client.write_all(&pattern(500_000)).unwrap();
    let mut received = Vec::new();
    client.read_to_end(&mut received).unwrap();
    assert_eq!(received, b"go away");
    stage.hear_nothing();
    stage.end();
}

#[test]
fn a_peer_that_never_closes_is_left_after_a_while() {
    let stage = Setup::default().start();
    let (mut client, tag) = stage.client();
    stage.send(tag, b"bye");
    stage.close(tag, Close::Flush);
    let mut received = Vec::new();
    client.read_to_end(&mut received).unwrap();
    assert_eq!(received, b"bye");
    // Writing works while the driver lingers, and fails once it has closed.
    crate::stage::until("the connection is gone", || {
        client.write_all(b"still here?").is_err()
    });
    stage.end();
}

#[test]
fn aborting_drops_what_is_unsent() {
    let stage = Setup::default().start();
    let (mut client, tag) = stage.client();
    stage.ask(move |puppet, io| {
        let handle = puppet.handle(tag);
        io.outbox(handle).extend_from_slice(b"never said");
        io.close(handle, Close::Abort);
        assert_eq!(io.unsent_total(), 0);
    });
    let mut received = Vec::new();
    client.read_to_end(&mut received).unwrap();
    assert_eq!(received, b"");
    stage.hear_nothing();
    stage.end();
}

#[test]
fn nothing_is_heard_of_a_closed_connection() {
    let stage = Setup::default().start();
    for how in [Close::Flush, Close::Abort] {
        let (mut client, tag) = stage.client();
        stage.ask(move |puppet, io| {
            let handle = puppet.handle(tag);
            io.outbox(handle).extend_from_slice(b"bye");
            io.notify_drained(handle);
            io.close(handle, how);
            io.notify_drained(handle);
            io.resume_receive(handle);
        });
        // The peer may have been told already that nobody listens.
        let _ = client.write_all(b"anyone?");
        drop(client);
        stage.hear_nothing();
    }
    stage.end();
}

#[test]
fn closing_in_one_event_silences_the_others_of_the_same_turn() {
    let stage = Setup::default().start();
    let clients: Vec<_> = (0..10).map(|_| stage.client()).collect();
    // Whoever is heard first ends all.
    stage.ask(|puppet, _| {
        puppet.reflex = Some(Box::new(|heard, handles, io| {
            if let Heard::Received(..) = heard {
                handles
                    .values()
                    .for_each(|handle| io.close(*handle, Close::Abort));
            }
        }));
    });
    stage.ask(move |_, _| {
        for (mut client, _) in clients {
            client.write_all(b"me").unwrap();
        }
    });
    assert!(matches!(stage.hear(), Heard::Received(..)));
    stage.hear_nothing();
    stage.end();
}

#[test]
fn the_end_of_the_worker_waits_for_gentle_closes_and_aborts_the_rest() {
    let stage = Setup::default().start();
    let (mut gentle, tag) = stage.client();
    let (mut rest, _) = stage.client();
    stage.send(tag, &pattern(10 << 20));
    stage.close(tag, Close::Flush);
    let reading = std::thread::spawn(move || {
        let mut received = Vec::new();
        gentle.read_to_end(&mut received).unwrap();
        received.len()
    });
    let puppets = stage.end();
    assert!(puppets[0].finished());
    assert_eq!(reading.join().unwrap(), 10 << 20);
    assert_eq!(rest.read(&mut [0; 8]).unwrap(), 0);
}

#[test]
fn an_ended_backend_connection_is_closed_on_both_sides() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let backend = vec![Address::Tcp(listener.local_addr().unwrap())];
    let stage = Setup {
        backend: Some(backend),
        ..Setup::default()
    }
    .start();
    let tag = stage.ask(|puppet, io| puppet.connect(io));
    let (mut backend, _) = listener.accept().unwrap();
    assert_eq!(stage.hear(), Heard::Connected(tag));
    stage.ask(move |puppet, io: &mut dyn Io<_>| {
        let handle = puppet.handle(tag);
        io.outbox(handle).extend_from_slice(b"quit");
        io.close(handle, Close::Flush);
    });
    let mut received = Vec::new();
    backend.read_to_end(&mut received).unwrap();
    assert_eq!(received, b"quit");
    stage.end();
}
