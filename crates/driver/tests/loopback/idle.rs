//! Connections that say nothing for long, which a driver may treat in its own way: whatever comes
//! then, comes as ever.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::Duration;

use driver::Address;
use events::{Close, HangUp, Peer, Tag};
use rustix::io::Errno;
use rustix::net::sockopt::set_socket_linger;

use crate::puppet::{Habit, Heard};
use crate::stage::{PATIENCE, Setup, Stage, pattern, unix_client, until};

impl Stage {
    /// Waits until the driver has taken notice that all connections are silent.
    fn falls_silent(&self) {
        // What was heard last is counted.
        self.hear_nothing();
        let counters = &self.counters[0];
        until("silence is noticed", || counters.read().receiving == 0);
        self.hear_nothing();
    }
}

#[test]
fn silence_and_speech_take_turns() {
    let stage = Setup::default().start();
    let (mut client, tag) = stage.client();
    // Once, a few times, and then more than a buffer at once.
    for (times, much) in [(1, 12), (5, 12), (2, 100_000)] {
        stage.falls_silent();
        for _ in 0..times {
            client.write_all(&pattern(much)).unwrap();
            assert!(stage.hear_bytes(tag, much) == pattern(much));
            stage.send(tag, b"and to you");
            let mut answer = [0; 10];
            client.read_exact(&mut answer).unwrap();
            assert_eq!(&answer, b"and to you");
        }
    }
    stage.end();
}

#[test]
fn a_silent_client_that_goes() {
    let stage = Setup::default().start();
    let clients: Vec<_> = (0..3).map(|_| stage.client()).collect();
    stage.falls_silent();
    let reset = HangUp::Failed(Errno::CONNRESET.raw_os_error());
    let ends = [HangUp::Closed, reset, HangUp::Closed];
    for (number, ((client, tag), how)) in clients.into_iter().zip(ends).enumerate() {
        match number {
            0 => drop(client),
            1 => {
                set_socket_linger(&client, Some(Duration::ZERO)).unwrap();
                drop(client);
            }
            _ => client.shutdown(Shutdown::Write).unwrap(),
        }
        assert_eq!(stage.hear(), Heard::HungUp(tag, how));
        stage.hear_nothing();
        stage.close(tag, Close::Abort);
    }
    stage.end();
}

#[test]
fn the_last_words_of_a_silent_client_come_before_its_end() {
    let stage = Setup::default().start();
    let (mut client, tag) = stage.client();
    stage.falls_silent();
    client.write_all(b"farewell").unwrap();
    drop(client);
    assert_eq!(stage.hear_bytes(tag, 8), b"farewell");
    assert_eq!(stage.hear(), Heard::HungUp(tag, HangUp::Closed));
    stage.hear_nothing();
    stage.end();
}

#[test]
fn a_silent_connection_is_closed_in_every_way() {
    let stage = Setup::default().start();
    let clients: Vec<_> = (0..3).map(|_| stage.client()).collect();
    stage.falls_silent();
    let ways = [
        (Close::Abort, &b""[..]),
        (Close::Flush, b""),
        (Close::Flush, b"closing time"),
    ];
    for ((mut client, tag), (how, said)) in clients.into_iter().zip(ways) {
        stage.ask(move |puppet, io| {
            let handle = puppet.handle(tag);
            if !said.is_empty() {
                io.outbox(handle).extend_from_slice(said);
            }
            io.close(handle, how);
        });
        let mut received = Vec::new();
        client.read_to_end(&mut received).unwrap();
        assert_eq!(received, said);
        // The driver reads on until this side ends, too.
        drop(client);
        stage.hear_nothing();
    }
    stage.end();
}

#[test]
fn a_silent_connection_of_our_own() {
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
    stage.falls_silent();
    stage.send(tag, b"still there?");
    let mut question = [0; 12];
    backend.read_exact(&mut question).unwrap();
    backend.write_all(b"yes").unwrap();
    assert_eq!(stage.hear_bytes(tag, 3), b"yes");
    stage.falls_silent();
    drop(backend);
    assert_eq!(stage.hear(), Heard::HungUp(tag, HangUp::Closed));
    stage.end();
}

#[test]
fn a_silent_connection_pauses_and_resumes() {
    let stage = Setup::default().start();
    let (mut client, tag) = stage.client();
    stage.falls_silent();
    stage.pause(tag);
    client.write_all(b"unwanted").unwrap();
    stage.hear_nothing();
    stage.resume(tag);
    assert_eq!(stage.hear_bytes(tag, 8), b"unwanted");
    // Silent while paused, and then again while not.
    stage.pause(tag);
    stage.falls_silent();
    stage.resume(tag);
    client.write_all(b"wanted").unwrap();
    assert_eq!(stage.hear_bytes(tag, 6), b"wanted");
    stage.falls_silent();
    stage.pause(tag);
    drop(client);
    assert_eq!(stage.hear(), Heard::HungUp(tag, HangUp::Closed));
    stage.hear_nothing();
    stage.end();
}

#[test]
fn a_failing_send_to_a_silent_peer_is_reported_behind_its_last_words() {
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
    stage.falls_silent();
    // In one turn: the peer's words lie unread, the peer is gone, and the handler speaks.
    stage.ask(move |puppet, io| {
        client.write_all(b"goodbye").unwrap();
        drop(client);
        io.outbox(puppet.handle(tag))
            .extend_from_slice(b"are you there");
    });
    assert_eq!(stage.hear_bytes(tag, 7), b"goodbye");
    let heard = stage.hear();
    assert!(matches!(heard, Heard::HungUp(..)), "{heard:?}");
    stage.hear_nothing();
    assert_eq!(stage.unsent_total(), 0);
    stage.end();
}

/// While the driver is busy with taking notice, each of very many does something.
#[test]
fn things_happen_in_the_middle_of_falling_silent() {
    const CLIENTS: usize = 900;
    let stage = Setup {
        habit: Habit::Echo,
        ..Setup::default()
    }
    .start();
    let mut clients: Vec<_> = (0..CLIENTS)
        .map(|_| TcpStream::connect(stage.tcp()).unwrap())
        .collect();
    let counters = &stage.counters[0];
    until("all are in", || counters.read().accepts == CLIENTS as u64);
    let closing: Vec<_> = stage.ask(|puppet, _| {
        let mut tags: Vec<_> = puppet.handles.keys().copied().collect();
        tags.sort();
        tags.into_iter().step_by(3).collect::<Vec<Tag>>()
    });
    if crate::driver() == driver::Driver::IoUring {
        until("silence is noticed", || counters.read().idle_polls > 0);
        assert!(counters.read().receiving > 0, "it is over already");
    }
    // The handler closes some of them, a few at a time, while the others speak or go.
    for (some, spoken) in closing.chunks(30).zip(0..) {
        let some = some.to_vec();
        stage.ask(move |puppet, io| {
            for tag in some {
                let handle = puppet.handles.remove(&tag).unwrap();
                io.close(handle, Close::Flush);
            }
        });
        for client in clients.iter_mut().skip(spoken).step_by(10) {
            // Those that are closed by now may say so.
            let _ = client.write_all(b"hello");
        }
    }
    let mut answered = 0;
    for mut client in clients {
        client.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut answer = [0; 5];
        match client.read_exact(&mut answer).map_err(|error| error.kind()) {
            Ok(()) => {
                assert_eq!(&answer, b"hello");
                answered += 1;
            }
            Err(ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset) => {}
            Err(other) => panic!("neither answered nor closed: {other}"),
        }
    }
    assert!(
        answered >= CLIENTS - closing.len(),
        "{answered} of {CLIENTS}"
    );
    let held = || stage.ask(|puppet, _| puppet.handles.len());
    until("all are gone", || held() == 0);
    stage.end();
}
