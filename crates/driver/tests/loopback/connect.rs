//! Connections that the worker makes.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;

use driver::Address;
use events::{Close, ConnectError, HangUp};
use rustix::io::Errno;

use crate::puppet::Heard;
use crate::stage::{Setup, Stage};

fn stage(backend: Vec<Address>) -> Stage {
    Setup {
        backend: Some(backend),
        ..Setup::default()
    }
    .start()
}

fn tcp(listener: &TcpListener) -> Address {
    Address::Tcp(listener.local_addr().unwrap())
}

/// An address where nobody listens.
fn dead() -> Address {
    tcp(&TcpListener::bind("127.0.0.1:0").unwrap())
}

fn refused() -> ConnectError {
    ConnectError::Os(Errno::CONNREFUSED.raw_os_error())
}

#[test]
fn a_backend_that_speaks_first() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let stage = stage(vec![tcp(&listener)]);
    let tag = stage.ask(|puppet, io| puppet.connect(io));
    let (mut backend, _) = listener.accept().unwrap();
    backend.write_all(b"initial handshake").unwrap();
    assert_eq!(stage.hear(), Heard::Connected(tag));
    assert_eq!(stage.hear_bytes(tag, 17), b"initial handshake");
    stage.send(tag, b"response");
    let mut response = [0; 8];
    backend.read_exact(&mut response).unwrap();
    drop(backend);
    assert_eq!(stage.hear(), Heard::HungUp(tag, HangUp::Closed));
    stage.end();
}

#[test]
fn words_written_ahead_leave_once_the_connection_stands() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let stage = stage(vec![tcp(&listener)]);
    let tag = stage.ask(|puppet, io| {
        let tag = puppet.connect(io);
        io.outbox(puppet.handle(tag)).extend_from_slice(b"ahead");
        io.notify_drained(puppet.handle(tag));
        tag
    });
    let (mut backend, _) = listener.accept().unwrap();
    let mut ahead = [0; 5];
    backend.read_exact(&mut ahead).unwrap();
    assert_eq!(&ahead, b"ahead");
    assert_eq!(stage.hear(), Heard::Connected(tag));
    assert_eq!(stage.hear(), Heard::Drained(tag));
    stage.end();
}

#[test]
fn nobody_listens() {
    let stage = stage(vec![dead()]);
    let tag = stage.ask(|puppet, io| puppet.connect(io));
    assert_eq!(stage.hear(), Heard::ConnectFailed(tag, refused()));
    stage.hear_nothing();
    stage.end();
}

#[test]
fn the_addresses_are_tried_in_order() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let missing = Address::Unix("/nonexistent/socket".into());
    let stage = stage(vec![missing, dead(), tcp(&listener), dead()]);
    for _ in 0..10 {
        let tag = stage.ask(|puppet, io| puppet.connect(io));
        listener.accept().unwrap();
        assert_eq!(stage.hear(), Heard::Connected(tag));
        assert_eq!(stage.hear(), Heard::HungUp(tag, HangUp::Closed));
        stage.close(tag, Close::Flush);
    }
    stage.end();
}

#[test]
fn no_address_at_all() {
    let stage = stage(Vec::new());
    let tag = stage.ask(|puppet, io| puppet.connect(io));
    assert_eq!(
        stage.hear(),
        Heard::ConnectFailed(tag, ConnectError::Address)
    );
    stage.end();
}

#[test]
fn a_path_that_is_too_long_for_a_socket() {
    let stage = stage(vec![Address::Unix("x".repeat(200).into())]);
    let tag = stage.ask(|puppet, io| puppet.connect(io));
    let heard = stage.hear();
    assert!(matches!(heard, Heard::ConnectFailed(of, ConnectError::Os(_)) if of == tag));
    stage.end();
}

#[test]
fn a_unix_socket_and_its_full_backlog() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    let stage = stage(vec![Address::Unix(path)]);
    let first = stage.ask(|puppet, io| puppet.connect(io));
    assert_eq!(stage.hear(), Heard::Connected(first));
    let second = stage.ask(|puppet, io| puppet.connect(io));
    let full = ConnectError::Os(Errno::AGAIN.raw_os_error());
    assert_eq!(stage.hear(), Heard::ConnectFailed(second, full));
    let (mut backend, _) = listener.accept().unwrap();
    backend.write_all(b"hi").unwrap();
    assert_eq!(stage.hear_bytes(first, 2), b"hi");
    stage.end();
}

#[test]
fn an_attempt_that_is_given_up_says_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let stage = stage(vec![dead(), tcp(&listener)]);
    for how in [Close::Abort, Close::Flush] {
        stage.ask(move |puppet, io| {
            let tag = puppet.connect(io);
            io.outbox(puppet.handle(tag))
                .extend_from_slice(b"never sent");
            io.close(puppet.handle(tag), how);
        });
        stage.hear_nothing();
        assert_eq!(stage.unsent_total(), 0);
    }
    let tag = stage.ask(|puppet, io| puppet.connect(io));
    assert_eq!(stage.hear(), Heard::Connected(tag));
    stage.end();
}
