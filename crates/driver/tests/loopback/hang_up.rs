//! The peer's end, in every phase of a connection.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

use driver::Address;
use events::{Close, HangUp, Peer};
use rustix::io::Errno;

use crate::puppet::Heard;
use crate::stage::{Setup, pattern, unix_client};

fn reset(client: TcpStream) {
    rustix::net::sockopt::set_socket_linger(&client, Some(std::time::Duration::ZERO)).unwrap();
    drop(client);
}

fn connection_reset() -> HangUp {
    HangUp::Failed(Errno::CONNRESET.raw_os_error())
}

#[test]
fn an_idle_client_that_closes() {
    let stage = Setup::default().start();
    let (client, tag) = stage.client();
    drop(client);
    assert_eq!(stage.hear(), Heard::HungUp(tag, HangUp::Closed));
    stage.hear_nothing();
    stage.close(tag, Close::Abort);
    stage.hear_nothing();
    stage.end();
}

#[test]
fn an_idle_client_that_resets() {
    let stage = Setup::default().start();
    let (client, tag) = stage.client();
    reset(client);
    assert_eq!(stage.hear(), Heard::HungUp(tag, connection_reset()));
    stage.hear_nothing();
    stage.end();
}

#[test]
fn the_last_bytes_come_before_the_hang_up() {
    let stage = Setup::default().start();
    for count in [1, 65_535, 65_536, 65_537, 300_000] {
        let (mut client, tag) = stage.client();
        client.write_all(&pattern(count)).unwrap();
        drop(client);
        assert!(stage.hear_bytes(tag, count) == pattern(count));
        assert_eq!(stage.hear(), Heard::HungUp(tag, HangUp::Closed));
    }
    stage.end();
}

#[test]
fn a_client_that_only_stops_sending_still_gets_its_answer() {
    let stage = Setup::default().start();
    let (mut client, tag) = stage.client();
    client.write_all(b"last words").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!(stage.hear_bytes(tag, 10), b"last words");
    assert_eq!(stage.hear(), Heard::HungUp(tag, HangUp::Closed));
    stage.send(tag, b"heard");
    stage.close(tag, Close::Flush);
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).unwrap();
    assert_eq!(answer, b"heard");
    stage.end();
}

#[test]
fn a_paused_connection_hears_of_it_at_once_also_with_bytes_unread() {
    let stage = Setup::default().start();
    let (client, tag) = stage.client();
    stage.pause(tag);
    drop(client);
    assert_eq!(stage.hear(), Heard::HungUp(tag, HangUp::Closed));
    let (mut client, tag) = stage.client();
    stage.pause(tag);
    client.write_all(b"never read").unwrap();
    stage.hear_nothing();
    drop(client);
    assert_eq!(stage.hear(), Heard::HungUp(tag, HangUp::Closed));
    stage.resume(tag);
    stage.hear_nothing();
    stage.end();
}

#[test]
fn a_paused_connection_hears_of_a_reset() {
    let stage = Setup::default().start();
    let (client, tag) = stage.client();
    stage.pause(tag);
    reset(client);
    assert_eq!(stage.hear(), Heard::HungUp(tag, connection_reset()));
    stage.hear_nothing();
    stage.end();
}

#[test]
fn pausing_upon_the_last_bytes_does_not_hide_the_hang_up() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let listen = vec![Address::Unix(path.clone())];
    let stage = Setup {
        listen,
        ..Setup::default()
    }
    .start();
    stage.ask(|puppet, _| {
        puppet.reflex = Some(Box::new(|heard, handles, io| {
            if let Heard::Received(tag, _) = heard {
                io.pause_receive(handles[tag]);
            }
        }));
    });
    let mut client = unix_client(&path);
    let Heard::Accepted(tag, Peer::Unix) = stage.hear() else {
        panic!("no client")
    };
    client.write_all(&pattern(150_000)).unwrap();
    drop(client);
    let first = stage.hear();
    assert!(matches!(&first, Heard::Received(_, bytes) if bytes.len() <= 65_536));
    assert_eq!(stage.hear(), Heard::HungUp(tag, HangUp::Closed));
    stage.hear_nothing();
    stage.end();
}

#[test]
fn a_client_that_goes_while_much_is_unsent() {
    let stage = Setup::default().start();
    let (client, tag) = stage.client();
    stage.send(tag, &pattern(10 << 20));
    stage.ask(move |puppet, io| io.notify_drained(puppet.handle(tag)));
    reset(client);
    let heard = stage.hear();
    assert!(
        matches!(heard, Heard::HungUp(_, HangUp::Failed(_))),
        "{heard:?}"
    );
    stage.send(tag, b"into the void");
    stage.hear_nothing();
    stage.close(tag, Close::Flush);
    assert_eq!(stage.unsent_total(), 0);
    stage.end();
}

#[test]
fn a_failing_send_is_reported_once_and_behind_the_input() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let listen = vec![Address::Unix(path.clone())];
    let stage = Setup {
        listen,
        ..Setup::default()
    }
    .start();
    let mut client = unix_client(&path);
    let Heard::Accepted(tag, Peer::Unix) = stage.hear() else {
        panic!("no client")
    };
    // In one turn: the peer's words lie unread, the peer is gone, and the handler speaks.
    stage.ask(move |puppet, io| {
        client.write_all(b"goodbye").unwrap();
        drop(client);
        io.outbox(puppet.handle(tag))
            .extend_from_slice(b"are you there");
    });
    assert_eq!(stage.hear_bytes(tag, 7), b"goodbye");
    let heard = stage.hear();
    assert!(
        matches!(heard, Heard::HungUp(_, HangUp::Closed | HangUp::Failed(_))),
        "{heard:?}"
    );
    stage.hear_nothing();
    assert_eq!(stage.unsent_total(), 0);
    stage.end();
}

#[test]
fn a_peer_that_only_stops_reading_is_found_by_the_failing_send() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let listen = vec![Address::Unix(path.clone())];
    let stage = Setup {
        listen,
        ..Setup::default()
    }
    .start();
    let client = unix_client(&path);
    let Heard::Accepted(tag, Peer::Unix) = stage.hear() else {
        panic!("no client")
    };
    client.shutdown(Shutdown::Read).unwrap();
    stage.hear_nothing();
    stage.send(tag, b"not listening");
    let broken_pipe = HangUp::Failed(Errno::PIPE.raw_os_error());
    assert_eq!(stage.hear(), Heard::HungUp(tag, broken_pipe));
    stage.send(tag, b"still not");
    stage.hear_nothing();
    assert_eq!(stage.unsent_total(), 0);
    stage.end();
}
