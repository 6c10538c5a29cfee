//! More connections than the process may have open files. A test binary of its own, because the
//! limit is the process's.

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc::{Sender, channel};
    use std::time::Duration;

    use driver::{Address, Clock, Driver, DriverCounters, Listeners, Worker, mailboxes, run};
    use events::{Close, ConnectError, Handle, Handler, HangUp, Io, Peer, Tag, Timestamp};
    use rustix::process::{Resource, Rlimit, setrlimit};

    const OPEN_FILES: u64 = 60;
    /// Each of them has both of its ends in this process.
    const CONNECTIONS: u64 = 500;
    /// While it is made, a connection is an open file; so it is until it has been accepted.
    const AT_ONCE: u64 = 8;
    const OURS: u64 = 1 << 32;

    enum Mail {
        Begin,
        End,
    }

    /// Connects to itself, says its number on each connection and hears it come back, then keeps
    /// all of them open, and in the end closes them.
    struct Mirror {
        handles: Vec<Handle>,
        begun: u64,
        heard: Vec<usize>,
        accepted: Vec<Handle>,
        hung_up: u64,
        told: Sender<Result<(), String>>,
        done: bool,
    }

    impl Mirror {
        fn connect<I: Io<Mail>>(&mut self, io: &mut I) {
            if self.begun < CONNECTIONS {
                let handle = io.connect(Tag(OURS | self.begun));
                self.handles.push(handle);
                self.heard.push(0);
                self.begun += 1;
            }
        }

        fn word(number: u64) -> [u8; 8] {
            number.to_be_bytes()
        }
    }

    impl Handler for Mirror {
        type Mail = Mail;

        fn accepted<I: Io<Mail>>(
            &mut self,
            _: &mut I,
            handle: Handle,
            _: Peer,
            _: [u8; 32],
            _: Timestamp,
        ) -> Tag {
            self.accepted.push(handle);
            Tag(self.accepted.len() as u64 - 1)
        }

        fn connected<I: Io<Mail>>(&mut self, io: &mut I, tag: Tag, _: Timestamp) {
            let number = tag.0 & !OURS;
            io.outbox(self.handles[number as usize])
                .extend_from_slice(&Self::word(number));
        }

        fn connect_failed<I: Io<Mail>>(
            &mut self,
            _: &mut I,
            tag: Tag,
            error: ConnectError,
            _: Timestamp,
        ) {
            let what = format!("connection {}: {error:?}", tag.0 & !OURS);
            self.told.send(Err(what)).unwrap();
        }

        fn received<I: Io<Mail>>(&mut self, io: &mut I, tag: Tag, bytes: &[u8], _: Timestamp) {
            if tag.0 & OURS == 0 {
                io.outbox(self.accepted[tag.0 as usize])
                    .extend_from_slice(bytes);
                return;
            }
            let number = tag.0 & !OURS;
            let heard = &mut self.heard[number as usize];
            assert_eq!(bytes, &Self::word(number)[*heard..*heard + bytes.len()]);
            *heard += bytes.len();
            if *heard < 8 {
                return;
            }
            self.connect(io);
            if self.heard.iter().filter(|&&heard| heard == 8).count() as u64 == CONNECTIONS {
                self.told.send(Ok(())).unwrap();
            }
        }

        fn drained<I: Io<Mail>>(&mut self, _: &mut I, _: Tag, _: Timestamp) {}

        fn hung_up<I: Io<Mail>>(&mut self, io: &mut I, tag: Tag, _: HangUp, _: Timestamp) {
            io.close(self.accepted[tag.0 as usize], Close::Flush);
            self.hung_up += 1;
            self.done = self.hung_up == CONNECTIONS;
        }

        fn mail<I: Io<Mail>>(&mut self, io: &mut I, mail: Mail, _: Timestamp) {
            match mail {
                Mail::Begin => (0..AT_ONCE).for_each(|_| self.connect(io)),
                Mail::End => {
                    for handle in &self.handles {
                        io.close(*handle, Close::Flush);
                    }
                }
            }
        }

        fn timer<I: Io<Mail>>(&mut self, _: &mut I, _: Timestamp) {}

        fn next_timer(&self) -> Option<Timestamp> {
            None
        }

        fn turn_ended<I: Io<Mail>>(&mut self, _: &mut I, _: Timestamp) {}

        fn finished(&self) -> bool {
            self.done
        }
    }

    #[test]
    fn io_uring_holds_more_connections_than_there_may_be_open_files() {
        if let Err(error) = Driver::IoUring.probe() {
            println!("io_uring is not tested, it is refused here: {error}");
            return;
        }
        let (current, maximum) = (Some(OPEN_FILES), Some(OPEN_FILES));
        setrlimit(Resource::Nofile, Rlimit { current, maximum }).unwrap();
        let listen = [Address::Tcp("127.0.0.1:0".parse().unwrap())];
        let listeners = Listeners::bind(&listen, 64).unwrap();
        let (mut inboxes, postboxes) = mailboxes(1).unwrap();
        let counters = Arc::new(DriverCounters::default());
        let worker = Worker {
            sources: driver::Sources::default(),
            inbox: inboxes.remove(0),
            postboxes: postboxes.clone(),
            backend: listeners.local_addresses().into(),
            listeners,
            clock: Clock::start(),
            driver: Driver::IoUring,
            counters: Arc::clone(&counters),
        };
        let (told, hears) = channel();
        let mirror = Mirror {
            handles: Vec::new(),
            begun: 0,
            heard: Vec::new(),
            accepted: Vec::new(),
            hung_up: 0,
            told,
            done: false,
        };
        let thread = std::thread::spawn(|| run(mirror, worker));
        assert!(postboxes.post(0, Mail::Begin).is_ok());
        let outcome = hears.recv_timeout(Duration::from_secs(20));
        assert_eq!(outcome.expect("it takes too long"), Ok(()));
        assert_eq!(counters.read().accepts, CONNECTIONS);
        assert!(postboxes.post(0, Mail::End).is_ok());
        assert_eq!(thread.join().unwrap().unwrap().hung_up, CONNECTIONS);
    }
}
