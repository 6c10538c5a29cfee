//! Bytes in, bytes out.

use std::io::{Read, Write};
use std::thread;

use driver::Address;
use events::Peer;

use crate::puppet::{Habit, Heard};
use crate::stage::{Setup, Stage, pattern, unix_client, until};

fn echo_stage() -> Stage {
    Setup {
        habit: Habit::Echo,
        ..Setup::default()
    }
    .start()
}

#[test]
fn every_byte_comes_back_in_order() {
    let stage = echo_stage();
    let mut client = std::net::TcpStream::connect(stage.tcp()).unwrap();
    let mut writer = client.try_clone().unwrap();
    let sent = pattern(20 << 20);
    let expected = sent.clone();
    let writing = thread::spawn(move || {
        for piece in sent.chunks(999_983) {
            writer.write_all(piece).unwrap();
        }
        writer.shutdown(std::net::Shutdown::Write).unwrap();
    });
    let mut received = Vec::new();
    client.read_to_end(&mut received).unwrap();
    writing.join().unwrap();
    assert!(
        received == expected,
        "{} of {} bytes",
        received.len(),
        expected.len()
    );
    let counters = stage.counters[0].clone();
    stage.end();
    let counts = counters.read();
    assert_eq!(
        (counts.bytes_received, counts.bytes_sent),
        (20 << 20, 20 << 20)
    );
    assert_eq!(
        (counts.accepts, counts.accept_errors, counts.outbox_bytes),
        (1, 0, 0)
    );
    assert!(counts.turns > 0 && counts.loop_events > 0);
    let io_uring = crate::driver() == driver::Driver::IoUring;
    assert_eq!(counts.io_uring_enters > 0, io_uring);
}

#[test]
fn one_byte_at_a_time() {
    let stage = echo_stage();
    let mut client = std::net::TcpStream::connect(stage.tcp()).unwrap();
    for byte in 0..=255 {
        client.write_all(&[byte]).unwrap();
        let mut back = [0];
        client.read_exact(&mut back).unwrap();
        assert_eq!(back, [byte]);
    }
    stage.end();
}

#[test]
fn a_flooding_client_does_not_starve_another() {
    let stage = echo_stage();
    let mut flood = std::net::TcpStream::connect(stage.tcp()).unwrap();
    let mut sink = flood.try_clone().unwrap();
    let reading = thread::spawn(move || std::io::copy(&mut sink, &mut std::io::sink()));
    let mut other = flood.try_clone().unwrap();
    let writing = thread::spawn(move || while other.write_all(&[7; 1 << 20]).is_ok() {});
    let counters = stage.counters[0].clone();
    until("the flood runs", || {
        counters.read().bytes_received > 10 << 20
    });
    let mut client = std::net::TcpStream::connect(stage.tcp()).unwrap();
    for _ in 0..100 {
        client.write_all(b"ping").unwrap();
        let mut back = [0; 4];
        client.read_exact(&mut back).unwrap();
    }
    flood.shutdown(std::net::Shutdown::Both).unwrap();
    flood.flush().unwrap();
    writing.join().unwrap();
    let _ = reading.join().unwrap();
    stage.end();
}

#[test]
fn unix_sockets_and_both_families_of_tcp() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let listen = vec![
        Address::Unix(path.clone()),
        Address::Tcp("127.0.0.1:0".parse().unwrap()),
        Address::Tcp("[::1]:0".parse().unwrap()),
    ];
    let stage = Setup {
        listen,
        ..Setup::default()
    }
    .start();
    let mut client = unix_client(&path);
    let Heard::Accepted(tag, Peer::Unix) = stage.hear() else {
        panic!("no unix client")
    };
    client.write_all(b"over a file").unwrap();
    assert_eq!(stage.hear_bytes(tag, 11), b"over a file");
    stage.send(tag, b"yes");
    let mut back = [0; 3];
    client.read_exact(&mut back).unwrap();
    let mut clients = Vec::new();
    for address in &stage.addresses[1..] {
        let Address::Tcp(address) = address else {
            panic!("{address} is not TCP")
        };
        let client = std::net::TcpStream::connect(address).unwrap();
        let Heard::Accepted(_, peer) = stage.hear() else {
            panic!("no client")
        };
        assert_eq!(peer, Peer::Tcp(client.local_addr().unwrap()));
        clients.push(client);
    }
    stage.end();
    assert!(!path.exists());
}

#[test]
fn what_a_turn_says_leaves_in_one_piece() {
    let stage = Setup::default().start();
    let (mut client, tag) = stage.client();
    stage.ask(move |puppet, io| {
        let handle = puppet.handle(tag);
        for _ in 0..1_000 {
            io.outbox(handle).push(b'x');
        }
        assert_eq!((io.unsent(handle), io.unsent_total()), (1_000, 1_000));
    });
    let mut back = [0; 2_000];
    assert_eq!(client.read(&mut back).unwrap(), 1_000);
    assert_eq!(stage.unsent_total(), 0);
    stage.end();
}
