//! Many connections that come, speak and go in every way.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::puppet::Habit;
use crate::stage::{PATIENCE, Setup, until};

#[test]
fn two_thousand_connections_come_and_go() {
    let stage = Setup {
        workers: 2,
        habit: Habit::Echo,
        ..Setup::default()
    }
    .start();
    let address = stage.tcp();
    let threads: Vec<_> = (0..4_u32)
        .map(|thread| std::thread::spawn(move || (0..500).for_each(|n| visit(address, thread, n))))
        .collect();
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
    let held = |worker| stage.ask_at(worker, |puppet, _| puppet.handles.len());
    until("all are gone", || held(0) + held(1) == 0);
    assert_eq!(stage.ask_at(0, |_, io| io.unsent_total()), 0);
    let accepts: u64 = stage
        .counters
        .iter()
        .map(|counters| counters.read().accepts)
        .sum();
    assert_eq!(accepts, 2_000);
    stage.end();
}

fn visit(address: std::net::SocketAddr, thread: u32, n: u32) {
    let mut client = TcpStream::connect(address).unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    let said = vec![thread as u8; (n as usize * 97) % 3_000 + 1];
    client.write_all(&said).unwrap();
    match n % 4 {
        // Goes without waiting for the answer.
        0 => return,
        1 => client.shutdown(std::net::Shutdown::Write).unwrap(),
        2 => rustix::net::sockopt::set_socket_linger(&client, Some(std::time::Duration::ZERO))
            .unwrap(),
        _ => {}
    }
    let mut heard = vec![0; said.len()];
    client.read_exact(&mut heard).unwrap();
    assert_eq!(heard, said);
}

#[test]
fn hundreds_of_connections_at_a_time() {
    let stage = Setup {
        workers: 2,
        habit: Habit::Echo,
        ..Setup::default()
    }
    .start();
    let mut clients: Vec<_> = (0..600)
        .map(|_| TcpStream::connect(stage.tcp()).unwrap())
        .collect();
    for round in 0..3_u8 {
        for client in &mut clients {
            client.write_all(&[round; 64]).unwrap();
        }
        for client in &mut clients {
            let mut heard = [0; 64];
            client.read_exact(&mut heard).unwrap();
            assert_eq!(heard, [round; 64]);
        }
    }
    drop(clients);
    stage.end();
}
