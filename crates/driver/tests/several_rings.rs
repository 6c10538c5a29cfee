//! A worker whose connections are in the tables of several rings. A test binary of its own, because
//! the limit of open files, which says how large a table is, is the process's.

#[cfg(test)]
#[allow(dead_code, reason = "each test binary uses some of it")]
#[path = "loopback/puppet.rs"]
mod puppet;
#[cfg(test)]
#[allow(dead_code, reason = "each test binary uses some of it")]
#[path = "loopback/stage.rs"]
mod stage;

#[cfg(test)]
fn driver() -> driver::Driver {
    driver::Driver::IoUring
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::io::Write;
    use std::net::TcpStream;
    use std::sync::mpsc::channel;

    use driver::Driver;
    use events::Tag;
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    use crate::puppet::{Heard, Order};
    use crate::stage::{PATIENCE, Setup, Stage, until};

    /// How many connections the table of a ring holds.
    const SLOTS: usize = 60;
    const RINGS: usize = 4;

    type Client = (TcpStream, Tag);

    /// A worker with connections in several rings, the first one's first. All of them have been
    /// silent for long, so that nothing wakes the worker but what comes.
    fn silent_stage() -> (Stage, Vec<Client>) {
        let limit = getrlimit(Resource::Nofile);
        let low = Rlimit {
            current: Some(SLOTS as u64),
            ..limit
        };
        setrlimit(Resource::Nofile, low).unwrap();
        let stage = Setup::default().start();
        // It has made its first ring.
        stage.ask(|_, _| ());
        setrlimit(Resource::Nofile, limit).unwrap();
        let count = SLOTS * RINGS;
        let clients: Vec<_> = (0..count).map(|_| stage.client()).collect();
        until("all are silent", || stage.counters[0].read().receiving == 0);
        stage.hear_nothing();
        (stage, clients)
    }

    #[test]
    fn what_comes_on_later_rings_only_is_heard() {
        if let Err(error) = Driver::IoUring.probe() {
            println!("io_uring is not tested, it is refused here: {error}");
            return;
        }
        let (stage, mut clients) = silent_stage();
        one_on_each_ring(&stage, &mut clients);
        many_at_once(&stage, &mut clients);
        stage.end();
    }

    fn one_on_each_ring(stage: &Stage, clients: &mut [Client]) {
        for ring in (0..RINGS).rev() {
            let (client, tag) = &mut clients[ring * SLOTS];
            client.write_all(b"hello").unwrap();
            assert_eq!(stage.hear_bytes(*tag, 5), b"hello");
        }
    }

    /// The kernel does a part of what there is to do at a time.
    fn many_at_once(stage: &Stage, clients: &mut [Client]) {
        let (go, wait) = channel();
        let busy = Order::new(move |_, _| wait.recv_timeout(PATIENCE).unwrap());
        assert!(stage.postboxes.post(0, busy).is_ok());
        let mut speaking = HashSet::new();
        for (client, tag) in &mut clients[SLOTS..] {
            client.write_all(b"now").unwrap();
            speaking.insert(*tag);
        }
        go.send(()).unwrap();
        while !speaking.is_empty() {
            match stage.hear() {
                Heard::Received(tag, bytes) if bytes == b"now" => {
                    assert!(speaking.remove(&tag));
                }
                other => panic!("heard {other:?}"),
            }
        }
    }
}
