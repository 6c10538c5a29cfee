//! Handlers that panic: who is concerned is closed, everybody else goes on.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

use driver::DriverError;
use events::{Tag, Timestamp};

use crate::puppet::{Heard, Order};
use crate::stage::{Setup, Stage, until};

/// Says something and gets it back.
fn assert_served(stage: &Stage, client: &mut TcpStream, tag: Tag) {
    client.write_all(b"still?").unwrap();
    assert_eq!(stage.hear_bytes(tag, 6), b"still?");
    stage.send(tag, b"still!");
    let mut answer = [0; 6];
    client.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"still!");
}

/// The connection has ended, and nothing came over it.
fn assert_cut(client: &mut TcpStream) {
    let mut received = Vec::new();
    match client.read_to_end(&mut received) {
        Ok(_) => {}
        Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
    }
    assert_eq!(received, b"");
}

fn is_bytes(heard: &Heard, bytes: &[u8]) -> bool {
    matches!(heard, Heard::Received(_, received) if received == bytes)
}

#[test]
fn the_connection_that_an_event_is_about_is_closed_and_no_other() {
    let stage = Setup::default().start();
    let (mut unlucky, _) = stage.client();
    let (mut other, tag) = stage.client();
    stage.panic_once(|heard| is_bytes(heard, b"now"));
    unlucky.write_all(b"now").unwrap();
    assert_eq!(stage.hear(), Heard::Recovering(1));
    assert_cut(&mut unlucky);
    assert_served(&stage, &mut other, tag);
    until("the panic is counted", || stage.panics() == 1);
    assert_eq!(stage.unsent_total(), 0);
    let (mut next, tag) = stage.client();
    assert_served(&stage, &mut next, tag);
    stage.end();
}

#[test]
fn what_an_event_has_written_to_is_closed_and_nothing_of_it_leaves() {
    let stage = Setup::default().start();
    let (mut unlucky, _) = stage.client();
    let (mut half, written_to) = stage.client();
    let (mut other, tag) = stage.client();
    stage.ask(move |puppet, _| {
        puppet.recovers = || true;
        puppet.reflex = Some(Box::new(move |heard, handles, io| {
            if is_bytes(heard, b"now") {
                io.outbox(handles[&written_to]).extend(b"half of someth");
                // Whoever is written to in between is written to all the same.
                io.outbox(handles[&tag]);
                io.outbox(handles[&written_to]).extend(b"in");
                panic!("on purpose");
            }
        }));
    });
    unlucky.write_all(b"now").unwrap();
    assert!(matches!(stage.hear(), Heard::Recovering(3..=4)));
    for client in [&mut unlucky, &mut half, &mut other] {
        assert_cut(client);
    }
    assert_eq!(stage.unsent_total(), 0);
    stage.end();
}

#[test]
fn what_was_written_before_still_leaves() {
    let stage = Setup::default().start();
    let (mut other, tag) = stage.client();
    stage.ask(move |puppet, io| {
        puppet.recovers = || true;
        io.outbox(puppet.handle(tag)).extend(b"hello");
    });
    // Mostly in the same turn.
    let order = Order::new(|_, _| panic!("on purpose"));
    assert!(stage.postboxes.post(0, order).is_ok());
    assert_eq!(stage.hear(), Heard::Recovering(0));
    let mut answer = [0; 5];
    other.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"hello");
    assert_served(&stage, &mut other, tag);
    stage.end();
}

#[test]
fn a_connection_may_panic_as_it_comes() {
    let stage = Setup::default().start();
    stage.panic_once(|heard| matches!(heard, Heard::Accepted(..)));
    let mut unlucky = TcpStream::connect(stage.tcp()).unwrap();
    assert_eq!(stage.hear(), Heard::Recovering(1));
    assert_cut(&mut unlucky);
    let (mut client, tag) = stage.client();
    assert_served(&stage, &mut client, tag);
    stage.end();
}

#[test]
fn a_connection_may_panic_as_it_ends() {
    let stage = Setup::default().start();
    let (client, _) = stage.client();
    stage.panic_once(|heard| matches!(heard, Heard::HungUp(..)));
    drop(client);
    assert_eq!(stage.hear(), Heard::Recovering(1));
    assert_eq!(stage.ask(|puppet, _| puppet.handles.len()), 0);
    let (mut client, tag) = stage.client();
    assert_served(&stage, &mut client, tag);
    stage.end();
}

#[test]
fn a_connection_may_panic_when_all_is_sent() {
    let stage = Setup::default().start();
    let (_client, tag) = stage.client();
    stage.panic_once(|heard| matches!(heard, Heard::Drained(_)));
    stage.ask(move |puppet, io| io.notify_drained(puppet.handle(tag)));
    assert_eq!(stage.hear(), Heard::Recovering(1));
    assert_eq!(stage.ask(|puppet, _| puppet.handles.len()), 0);
    stage.end();
}

#[test]
fn a_connection_may_panic_when_it_stands() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = driver::Address::Tcp(listener.local_addr().unwrap());
    let stage = Setup {
        backend: Some(vec![address]),
        ..Setup::default()
    }
    .start();
    stage.panic_once(|heard| matches!(heard, Heard::Connected(_)));
    stage.ask(|puppet, io| puppet.connect(io));
    assert_eq!(stage.hear(), Heard::Recovering(1));
    let (mut other_end, _) = listener.accept().unwrap();
    assert_cut(&mut other_end);
    stage.end();
}

#[test]
fn connecting_in_vain_may_panic() {
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = driver::Address::Tcp(nobody.local_addr().unwrap());
    drop(nobody);
    let stage = Setup {
        backend: Some(vec![address]),
        ..Setup::default()
    }
    .start();
    stage.panic_once(|heard| matches!(heard, Heard::ConnectFailed(..)));
    stage.ask(|puppet, io| puppet.connect(io));
    assert!(matches!(stage.hear(), Heard::Recovering(_)));
    until("it is counted", || stage.panics() == 1);
    let (mut client, tag) = stage.client();
    assert_served(&stage, &mut client, tag);
    stage.end();
}

#[test]
fn connections_that_an_event_has_asked_for_are_given_up() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = driver::Address::Tcp(listener.local_addr().unwrap());
    let stage = Setup {
        backend: Some(vec![address]),
        ..Setup::default()
    }
    .start();
    stage.ask(|puppet, _| puppet.recovers = || true);
    let order = Order::new(|puppet, io| {
        puppet.connect(io);
        panic!("on purpose");
    });
    assert!(stage.postboxes.post(0, order).is_ok());
    assert_eq!(stage.hear(), Heard::Recovering(1));
    assert_eq!(stage.ask(|puppet, _| puppet.handles.len()), 0);
    stage.hear_nothing();
    stage.end();
}

#[test]
fn letters_that_panic_one_after_the_other_close_nobody() {
    let stage = Setup::default().start();
    let (mut client, tag) = stage.client();
    stage.ask(|puppet, _| puppet.recovers = || true);
    for panics in 1..10 {
        let order = Order::new(|_, _| panic!("on purpose"));
        assert!(stage.postboxes.post(0, order).is_ok());
        assert_eq!(stage.hear(), Heard::Recovering(0));
        until("it is counted", || stage.panics() == panics);
    }
    assert_served(&stage, &mut client, tag);
    stage.end();
}

#[test]
fn a_timer_that_panics_turn_by_turn_closes_all_once() {
    let stage = Setup::default().start();
    let (mut client, _) = stage.client();
    stage.panic_while(|heard| *heard == Heard::Timer, |times| times < 4);
    // It is due again until it has been dealt with.
    stage.ask(|puppet, _| puppet.timer = Some(Timestamp::ZERO));
    for concerned in [0, 0, 0, 1] {
        assert_eq!(stage.hear(), Heard::Recovering(concerned));
    }
    assert_eq!(stage.hear(), Heard::Timer);
    assert_cut(&mut client);
    stage.end();
}

#[test]
fn records_that_are_not_in_order_cost_all_connections() {
    let stage = Setup::default().start();
    let (mut unlucky, _) = stage.client();
    let (mut other, _) = stage.client();
    stage.panic_once(|heard| is_bytes(heard, b"now"));
    stage.ask(|puppet, _| {
        puppet.recovers = || {
            use std::cell::Cell;
            thread_local!(static ASKED: Cell<u32> = const { Cell::new(0) });
            ASKED.replace(ASKED.get() + 1) > 0
        };
    });
    unlucky.write_all(b"now").unwrap();
    assert_eq!(stage.hear(), Heard::Recovering(1));
    // One more if the kernel still works for the first.
    assert!(matches!(stage.hear(), Heard::Recovering(1..=2)));
    assert_cut(&mut unlucky);
    assert_cut(&mut other);
    let (mut next, tag) = stage.client();
    assert_served(&stage, &mut next, tag);
    stage.end();
}

#[test]
fn a_worker_that_cannot_recover_ends() {
    let ways: [fn() -> bool; 2] = [|| false, || panic!("on purpose, too")];
    for recovers in ways {
        let stage = Setup::default().start();
        let (mut client, _) = stage.client();
        stage.panic_once(|heard| is_bytes(heard, b"now"));
        stage.ask(move |puppet, _| puppet.recovers = recovers);
        client.write_all(b"now").unwrap();
        assert!(matches!(stage.failure(), DriverError::Panicked));
        assert_cut(&mut client);
    }
}
