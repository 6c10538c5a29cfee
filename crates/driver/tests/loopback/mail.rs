//! Mail from other threads and between workers.

use std::io::Write;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use events::Span;

use crate::puppet::Order;
use crate::stage::{PATIENCE, Setup, until};

#[test]
fn mail_wakes_a_sleeping_worker() {
    let stage = Setup::default().start();
    for _ in 0..1_000 {
        stage.ask(|_, _| ());
    }
    stage.end();
}

#[test]
fn a_worker_without_work_sleeps() {
    let stage = Setup::default().start();
    stage.ask(|_, _| ());
    // Each order costs a turn or two; a loop that spins would have made far more.
    for _ in 0..100 {
        stage.ask(|_, _| ());
    }
    let turns = stage.counters[0].read().turns;
    assert!(turns <= 300, "{turns} turns");
    stage.end();
}

/// What came while the loop was busy is told late, and whoever measures times must know.
#[test]
fn the_loop_knows_how_late_it_tells() {
    const BUSY: Duration = Duration::from_millis(20);
    let stage = Setup::default().start();
    stage.ask(|_, _| ());
    let (began, busy) = channel();
    let order = Order::new(move |_, _| {
        began.send(()).unwrap();
        let end = Instant::now() + BUSY;
        while Instant::now() < end {
            std::hint::spin_loop();
        }
    });
    assert!(stage.postboxes.post(0, order).is_ok());
    busy.recv_timeout(PATIENCE).unwrap();
    // Posted while it is busy, told in the turn after.
    let late = stage.ask(|_, io| io.told_late());
    assert!(late >= Span::from(BUSY), "{late:?}");
    let (later, all) = stage.ask(|_, io| (io.told_late(), io.has_told_all()));
    assert!(later < late && all, "{later:?} after {late:?}");
    stage.end();
}

/// A client that says something because of what it saw at another worker is heard after what that worker has posted.
#[test]
fn mail_is_told_before_what_arrives_later() {
    let stage = Setup::default().start();
    let (mut client, tag) = stage.client();
    let (told, heard) = channel();
    let bytes = told.clone();
    stage.ask(move |puppet, _| {
        puppet.reflex = Some(Box::new(move |_, _, _| bytes.send("bytes").unwrap()));
    });
    let (began, busy) = channel();
    let (release, released) = channel();
    let first = Order::new(move |_, _| {
        began.send(()).unwrap();
        released.recv_timeout(PATIENCE).unwrap();
    });
    assert!(stage.postboxes.post(0, first).is_ok());
    busy.recv_timeout(PATIENCE).unwrap();
    let second = Order::new(move |_, _| told.send("mail").unwrap());
    assert!(stage.postboxes.post(0, second).is_ok());
    client.write_all(b"later").unwrap();
    release.send(()).unwrap();
    let order = [(); 2].map(|()| heard.recv_timeout(PATIENCE).unwrap());
    assert_eq!(order, ["mail", "bytes"]);
    assert_eq!(stage.hear_bytes(tag, 5), b"later");
    stage.end();
}

#[test]
fn mail_keeps_its_order_and_none_is_lost() {
    let stage = Setup {
        workers: 2,
        ..Setup::default()
    }
    .start();
    let (told, heard) = channel();
    let senders: Vec<_> = (0..4_u32)
        .map(|sender| {
            let (postboxes, told) = (stage.postboxes.clone(), told.clone());
            std::thread::spawn(move || {
                for n in 0..5_000_u32 {
                    let told = told.clone();
                    let order = Order::new(move |_, _| told.send((sender, n)).unwrap());
                    assert!(postboxes.post(1, order).is_ok());
                }
            })
        })
        .collect();
    let mut next = [0; 4];
    for _ in 0..20_000 {
        let (sender, n) = heard.recv_timeout(PATIENCE).unwrap();
        assert_eq!(next[sender as usize], n);
        next[sender as usize] += 1;
    }
    senders
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
    stage.end();
}

#[test]
fn workers_post_to_each_other_and_to_themselves() {
    let stage = Setup {
        workers: 2,
        ..Setup::default()
    }
    .start();
    let (told, heard) = channel();
    stage.ask(move |_, io| {
        let back = told.clone();
        let answer = Order::new(move |_, _| back.send("back").unwrap());
        let there = Order::new(move |_, io| assert!(io.post(0, answer).is_ok()));
        assert!(io.post(1, there).is_ok());
        let own = Order::new(move |_, _| told.send("own").unwrap());
        assert!(io.post(0, own).is_ok());
    });
    let mut answers = [(); 2].map(|()| heard.recv_timeout(PATIENCE).unwrap());
    answers.sort_unstable();
    assert_eq!(answers, ["back", "own"]);
    stage.end();
}

#[test]
fn mail_to_an_ended_worker_comes_back() {
    let stage = Setup::default().start();
    let postboxes = stage.postboxes.clone();
    stage.end();
    assert!(postboxes.post(0, Order::new(|_, _| ())).is_err());
    assert!(postboxes.post(1, Order::new(|_, _| ())).is_err());
    assert_eq!(postboxes.workers(), 1);
}

#[test]
fn mail_that_arrives_during_a_gentle_end_is_refused() {
    let stage = Setup::default().start();
    let (client, tag) = stage.client();
    stage.send(tag, b"bye");
    stage.close(tag, events::Close::Flush);
    let postboxes = stage.postboxes.clone();
    let ending = std::thread::spawn(|| stage.end());
    until("it is refused", || {
        postboxes.post(0, Order::new(|_, _| ())).is_err()
    });
    drop(client);
    ending.join().unwrap();
}
