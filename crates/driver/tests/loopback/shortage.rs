//! More connections with input at the same time than there are buffers for.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::puppet::Habit;
use crate::stage::{PATIENCE, Setup, until};

/// Over io_uring a ring has 256 buffers.
const CLIENTS: u64 = 2_000;

#[test]
fn whoever_finds_no_buffer_is_served_when_there_is_one() {
    let stage = Setup {
        habit: Habit::Echo,
        ..Setup::default()
    }
    .start();
    let mut clients: Vec<_> = (0..CLIENTS)
        .map(|_| TcpStream::connect(stage.tcp()).unwrap())
        .collect();
    let counters = &stage.counters[0];
    until("all are in", || counters.read().accepts == CLIENTS);
    stage.ask(|puppet, io| {
        for handle in puppet.handles.values() {
            io.pause_receive(*handle);
        }
    });
    // The first byte may be taken though it is unwanted; after it nothing is.
    clients.iter_mut().for_each(|client| say(client, b"a"));
    until("nobody receives", || counters.read().receiving == 0);
    clients.iter_mut().for_each(|client| say(client, b"b"));
    stage.ask(|puppet, io| {
        for handle in puppet.handles.values() {
            io.resume_receive(*handle);
        }
    });
    for client in &mut clients {
        let mut heard = [0; 2];
        client.read_exact(&mut heard).unwrap();
        assert_eq!(&heard, b"ab");
    }
    stage.ask(|_, _| ());
    let counts = counters.read();
    assert_eq!(counts.bytes_received, 2 * CLIENTS);
    if crate::driver() == driver::Driver::IoUring {
        assert!(counts.buffer_shortages > 0, "nobody had to wait");
        // Hardly anybody waits twice.
        assert!(counts.buffer_shortages < CLIENTS * 5 / 4, "{counts:?}");
    }
    stage.end();
}

fn say(client: &mut TcpStream, word: &[u8]) {
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    client.write_all(word).unwrap();
}
