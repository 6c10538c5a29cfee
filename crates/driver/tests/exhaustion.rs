//! A process without descriptors left. A test binary of its own, because the limit is the
//! process's.

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read;
    use std::net::TcpStream;
    use std::sync::Arc;
    use std::time::Instant;

    use driver::{Address, Clock, Driver, DriverCounters, Listeners, Worker, mailboxes, run};
    use events::{Close, ConnectError, Handle, Handler, HangUp, Io, Peer, Tag, Timestamp};
    use rustix::process::{Resource, Rlimit, setrlimit};

    #[derive(Debug, PartialEq, Eq)]
    enum Mail {
        WakeUp,
        End,
    }

    /// Says one word to whoever comes, and ends when told.
    struct Usher {
        done: bool,
    }

    impl Handler for Usher {
        type Mail = Mail;

        fn accepted<I: Io<Mail>>(
            &mut self,
            io: &mut I,
            handle: Handle,
            _: Peer,
            _: [u8; 32],
            _: Timestamp,
        ) -> Tag {
            io.outbox(handle).extend_from_slice(b"welcome");
            io.close(handle, Close::Flush);
            Tag(0)
        }

        fn connected<I: Io<Mail>>(&mut self, _: &mut I, _: Tag, _: Timestamp) {}

        fn connect_failed<I: Io<Mail>>(
            &mut self,
            _: &mut I,
            _: Tag,
            _: ConnectError,
            _: Timestamp,
        ) {
        }

        fn received<I: Io<Mail>>(&mut self, _: &mut I, _: Tag, _: &[u8], _: Timestamp) {}

        fn drained<I: Io<Mail>>(&mut self, _: &mut I, _: Tag, _: Timestamp) {}

        fn hung_up<I: Io<Mail>>(&mut self, _: &mut I, _: Tag, _: HangUp, _: Timestamp) {}

        fn mail<I: Io<Mail>>(&mut self, _: &mut I, mail: Mail, _: Timestamp) {
            self.done = mail == Mail::End;
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
    fn a_client_waits_until_there_is_a_descriptor_and_nothing_spins() {
        setrlimit(
            Resource::Nofile,
            Rlimit {
                current: Some(100),
                maximum: Some(100),
            },
        )
        .unwrap();
        for driver in [Driver::Epoll, Driver::IoUring] {
            match driver.probe() {
                Ok(()) => exhaust(driver),
                Err(error) => println!("{driver} is not tested, it is refused here: {error}"),
            }
        }
    }

    fn exhaust(driver: Driver) {
        let listen = [Address::Tcp("127.0.0.1:0".parse().unwrap())];
        let listeners = Listeners::bind(&listen, 16).unwrap();
        let Address::Tcp(address) = listeners.local_addresses().remove(0) else {
            panic!()
        };
        let (mut inboxes, postboxes) = mailboxes(1).unwrap();
        let counters = Arc::new(DriverCounters::default());
        let worker = Worker {
            inbox: inboxes.remove(0),
            postboxes: postboxes.clone(),
            listeners,
            backend: Arc::new([]),
            sources: driver::Sources::default(),
            clock: Clock::start(),
            driver,
            counters: Arc::clone(&counters),
        };
        let thread = std::thread::spawn(|| run(Usher { done: false }, worker));
        postboxes.post(0, Mail::WakeUp).unwrap();
        wait_for(|| counters.read().turns > 0);

        let mut hoard = Vec::new();
        while let Ok(file) = File::open("/dev/null") {
            hoard.push(file);
        }
        hoard.pop();
        let client = TcpStream::connect(address).unwrap();
        wait_for(|| counters.read().accept_errors >= 3);
        let turns = counters.read().turns;
        wait_for(|| counters.read().accept_errors >= 5);
        assert!(counters.read().turns - turns < 20);
        drop(hoard);
        assert!(welcomed(client));
        postboxes.post(0, Mail::End).unwrap();
        assert!(thread.join().unwrap().unwrap().done);
    }

    fn welcomed(mut client: TcpStream) -> bool {
        let mut word = String::new();
        client.read_to_string(&mut word).is_ok() && word == "welcome"
    }

    fn wait_for(mut condition: impl FnMut() -> bool) {
        let start = Instant::now();
        while !condition() {
            assert!(start.elapsed().as_secs() < 20, "it never happened");
            std::thread::yield_now();
        }
    }
}
