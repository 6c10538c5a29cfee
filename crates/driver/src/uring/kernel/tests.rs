//! A ring by itself.

use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use events::Handle;

use super::{Completion, Ring};

/// How many of what is ready the kernel deals with at a time is its own affair; it is less than this.
const MANY: u32 = 200;

/// One that is told of by its signal, as all but a worker's first are; nothing if refused.
fn signalled_ring() -> Option<Ring> {
    match Ring::new(MANY) {
        Ok(mut ring) => {
            ring.make_signal().unwrap();
            Some(ring)
        }
        Err(error) => {
            println!("io_uring is not tested, it is refused here: {error}");
            None
        }
    }
}

#[test]
fn a_ring_is_due_until_it_has_told_everything() {
    let Some(mut ring) = signalled_ring() else {
        return;
    };
    let pairs = (0..MANY).map(|_| UnixStream::pair().unwrap());
    let (ours, mut theirs): (Vec<_>, Vec<_>) = pairs.unzip();
    for (socket, number) in ours.into_iter().zip(0..) {
        let slot = ring.seat(&OwnedFd::from(socket)).unwrap();
        ring.receive(slot, Handle(number));
    }
    ring.enter(0, None).unwrap();
    assert!(ring.take().is_none());
    for peer in &mut theirs {
        peer.write_all(b"now").unwrap();
    }
    let mut heard = 0;
    while ring.is_due() {
        ring.enter(0, None).unwrap();
        while let Some(completion) = ring.take() {
            if let Completion::Received {
                outcome: Ok(Some(filled)),
                ..
            } = completion
            {
                assert_eq!(filled.bytes(), b"now");
                ring.give_back(filled);
                heard += 1;
            }
        }
    }
    assert_eq!(heard, MANY);
}
