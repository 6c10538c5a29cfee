//! Listeners that several workers share, and their end.

use std::net::TcpStream;

use crate::puppet::{Habit, Heard};
use crate::stage::{PATIENCE, Setup, until};

#[test]
fn two_workers_share_the_connections_evenly() {
    let stage = Setup {
        workers: 2,
        habit: Habit::Echo,
        ..Setup::default()
    }
    .start();
    // One after the other, each known to a worker before the next: the kernel alone would give
    // nearly all of them to one worker.
    let mut clients = Vec::new();
    for count in 1..=200 {
        clients.push(TcpStream::connect(stage.tcp()).unwrap());
        let accepts = || stage.counters.iter().map(|c| c.read().accepts).sum::<u64>();
        until("the connection is accepted", || accepts() == count);
    }
    let held = [0, 1].map(|worker| stage.ask_at(worker, |puppet, _| puppet.handles.len()));
    assert_eq!(held[0] + held[1], 200);
    assert!(held[0].abs_diff(held[1]) <= 20, "{held:?}");
    stage.end();
}

#[test]
fn eight_connections_on_two_workers_are_four_and_four() {
    let stage = Setup {
        workers: 2,
        habit: Habit::Echo,
        ..Setup::default()
    }
    .start();
    let held = || [0, 1].map(|worker| stage.ask_at(worker, |puppet, _| puppet.handles.len()));
    // All at once, so that both workers accept and neither waits for what the other did.
    let clients: Vec<_> = (0..8)
        .map(|_| TcpStream::connect(stage.tcp()).unwrap())
        .collect();
    until("all are known", || held().iter().sum::<usize>() == 8);
    assert_eq!(held(), [4, 4]);
    drop(clients);
    stage.end();
}

#[test]
fn a_worker_that_ended_is_dealt_nothing() {
    let stage = Setup {
        workers: 2,
        habit: Habit::Echo,
        ..Setup::default()
    }
    .start();
    stage.ask_at(1, |_, io| io.stop_accepting());
    let clients: Vec<_> = (0..50)
        .map(|_| TcpStream::connect(stage.tcp()).unwrap())
        .collect();
    until("all are accepted", || {
        stage.counters[0].read().accepts == 50
    });
    assert_eq!(stage.ask_at(0, |puppet, _| puppet.handles.len()), 50);
    drop(clients);
    stage.end();
}

#[test]
fn after_the_last_worker_stopped_accepting_nobody_answers() {
    let stage = Setup {
        workers: 2,
        ..Setup::default()
    }
    .start();
    let kept = TcpStream::connect(stage.tcp()).unwrap();
    until("it is accepted", || {
        stage.counters.iter().any(|c| c.read().accepts == 1)
    });
    for worker in 0..2 {
        stage.ask_at(worker, |_, io| {
            io.stop_accepting();
            io.stop_accepting();
        });
    }
    assert!(TcpStream::connect_timeout(&stage.tcp(), PATIENCE).is_err());
    drop(kept);
    stage.end();
}

#[test]
fn a_connection_may_be_closed_as_soon_as_it_is_accepted() {
    let stage = Setup::default().start();
    stage.ask(|puppet, _| {
        puppet.reflex = Some(Box::new(|heard, handles, io| {
            if let Heard::Accepted(tag, _) = heard {
                io.outbox(handles[tag]).extend_from_slice(b"full");
                io.close(handles[tag], events::Close::Flush);
            }
        }));
    });
    for _ in 0..20 {
        let (mut client, _) = stage.client();
        let mut said = String::new();
        std::io::Read::read_to_string(&mut client, &mut said).unwrap();
        assert_eq!(said, "full");
    }
    stage.hear_nothing();
    stage.end();
}
