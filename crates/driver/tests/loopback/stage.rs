//! Workers with a puppet each, and what the tests do with them.

use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use driver::{
    Address, Clock, Driver, DriverCounters, DriverError, Listeners, Postboxes, Worker, mailboxes,
};
use events::{Close, Io, Peer, Span, Tag, Timestamp};

use crate::puppet::{Habit, Heard, Order, Puppet};

/// Nothing in these tests takes longer unless it is broken.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Some workers with a puppet each, and the strings.
pub(crate) struct Stage {
    pub(crate) addresses: Vec<Address>,
    pub(crate) postboxes: Postboxes<Order>,
    pub(crate) counters: Vec<Arc<DriverCounters>>,
    heard: Vec<Receiver<Heard>>,
    threads: Vec<JoinHandle<Result<Puppet, DriverError>>>,
}

/// What a stage is made of.
pub(crate) struct Setup {
    pub(crate) workers: usize,
    pub(crate) habit: Habit,
    pub(crate) listen: Vec<Address>,
    /// If there is none, the stage itself.
    pub(crate) backend: Option<Vec<Address>>,
    pub(crate) driver: Driver,
}

impl Default for Setup {
    fn default() -> Self {
        let listen = vec![Address::Tcp("127.0.0.1:0".parse().unwrap())];
        Self {
            workers: 1,
            habit: Habit::Obey,
            listen,
            backend: Some(Vec::new()),
            driver: crate::driver(),
        }
    }
}

impl Setup {
    pub(crate) fn start(self) -> Stage {
        let listeners = Listeners::bind(&self.listen, 4096).unwrap();
        let (inboxes, postboxes) = mailboxes(self.workers).unwrap();
        let mut stage = Stage {
            addresses: listeners.local_addresses(),
            postboxes,
            counters: Vec::new(),
            heard: Vec::new(),
            threads: Vec::new(),
        };
        let backend = self.backend.unwrap_or_else(|| stage.addresses.clone());
        let (backend, clock) = (Arc::from(backend), Clock::start());
        for inbox in inboxes {
            let counters = Arc::new(DriverCounters::default());
            let worker = Worker {
                inbox,
                postboxes: stage.postboxes.clone(),
                listeners: listeners.clone(),
                backend: Arc::clone(&backend),
                sources: driver::Sources::default(),
                clock,
                driver: self.driver,
                counters: Arc::clone(&counters),
            };
            stage.counters.push(counters);
            stage.add(self.habit, worker);
        }
        stage
    }
}

impl Stage {
    fn add(&mut self, habit: Habit, worker: Worker<Order>) {
        let (told, heard) = channel();
        let puppet = Puppet::new(habit, told, worker.inbox.worker() as u64 * 1_000_000);
        self.heard.push(heard);
        self.threads
            .push(std::thread::spawn(|| driver::run(puppet, worker)));
    }

    pub(crate) fn tcp(&self) -> SocketAddr {
        match &self.addresses[0] {
            Address::Tcp(address) => *address,
            Address::Unix(path) => panic!("not a TCP address: {}", path.display()),
        }
    }

    /// A client that the first worker has accepted.
    pub(crate) fn client(&self) -> (TcpStream, Tag) {
        let client = TcpStream::connect(self.tcp()).unwrap();
        client.set_read_timeout(Some(PATIENCE)).unwrap();
        client.set_write_timeout(Some(PATIENCE)).unwrap();
        match self.hear() {
            Heard::Accepted(tag, peer) => {
                assert_eq!(peer, Peer::Tcp(client.local_addr().unwrap()));
                (client, tag)
            }
            other => panic!("expected a connection, heard {other:?}"),
        }
    }

    /// The next thing that the first worker hears.
    pub(crate) fn hear(&self) -> Heard {
        self.hear_at(0)
    }

    pub(crate) fn hear_at(&self, worker: usize) -> Heard {
        self.heard[worker]
            .recv_timeout(PATIENCE)
            .expect("the puppet hears nothing")
    }

    /// Bytes until there are `count`, which must come without anything else between.
    pub(crate) fn hear_bytes(&self, tag: Tag, count: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        while bytes.len() < count {
            match self.hear() {
                Heard::Received(of, more) if of == tag => bytes.extend(more),
                other => panic!("expected bytes, heard {other:?}"),
            }
        }
        bytes
    }

    /// Fails if the first worker has heard anything else before a turn from now.
    pub(crate) fn hear_nothing(&self) {
        // The first order may come in the middle of a turn; what followed from it has been told
        // before the third.
        for _ in 0..3 {
            self.ask(|_, _| ());
        }
        assert_eq!(self.heard[0].try_recv().ok(), None);
    }

    /// Has the first worker do something, and waits for the answer.
    pub(crate) fn ask<R: Send + 'static>(
        &self,
        order: impl FnOnce(&mut Puppet, &mut dyn Io<Order>) -> R + Send + 'static,
    ) -> R {
        self.ask_at(0, order)
    }

    pub(crate) fn ask_at<R: Send + 'static>(
        &self,
        worker: usize,
        order: impl FnOnce(&mut Puppet, &mut dyn Io<Order>) -> R + Send + 'static,
    ) -> R {
        let (answer, answered) = mpsc::channel();
        let order = Order::new(move |puppet, io| answer.send(order(puppet, io)).unwrap());
        assert!(self.postboxes.post(worker, order).is_ok());
        answered
            .recv_timeout(PATIENCE)
            .expect("the puppet does not answer")
    }

    pub(crate) fn close(&self, tag: Tag, how: Close) {
        self.ask(move |puppet, io| io.close(puppet.handle(tag), how));
    }

    pub(crate) fn send(&self, tag: Tag, bytes: &[u8]) {
        let bytes = bytes.to_vec();
        self.ask(move |puppet, io| io.outbox(puppet.handle(tag)).extend_from_slice(&bytes));
    }

    pub(crate) fn pause(&self, tag: Tag) {
        self.ask(move |puppet, io| io.pause_receive(puppet.handle(tag)));
    }

    pub(crate) fn resume(&self, tag: Tag) {
        self.ask(move |puppet, io| io.resume_receive(puppet.handle(tag)));
    }

    pub(crate) fn unsent_total(&self) -> usize {
        self.ask(|_, io| io.unsent_total())
    }

    /// Waits until the first worker has ended by itself, and says why.
    pub(crate) fn failure(mut self) -> DriverError {
        match self.threads.remove(0).join().unwrap() {
            Ok(_) => panic!("it ended well"),
            Err(error) => error,
        }
    }

    /// Has the first worker's puppet survive its panics, and panic upon hearing what `when` is true of, once.
    pub(crate) fn panic_once(&self, when: impl Fn(&Heard) -> bool + Send + 'static) {
        self.panic_while(when, |times| times == 0);
    }

    /// The same as long as `goes_on` says of how often it has panicked.
    pub(crate) fn panic_while(
        &self,
        when: impl Fn(&Heard) -> bool + Send + 'static,
        goes_on: impl Fn(u32) -> bool + Send + 'static,
    ) {
        let mut times = 0;
        self.ask(move |puppet, _| {
            puppet.recovers = || true;
            puppet.reflex = Some(Box::new(move |heard, _, _| {
                if when(heard) && goes_on(times) {
                    times += 1;
                    panic!("on purpose");
                }
            }));
        });
    }

    /// How often the first worker has panicked, as it has published.
    pub(crate) fn panics(&self) -> u64 {
        self.counters[0].read().worker_panics
    }

    /// Ends all workers and gives their puppets back.
    pub(crate) fn end(self) -> Vec<Puppet> {
        for worker in 0..self.threads.len() {
            let order = Order::new(|puppet, _| puppet.finish());
            assert!(self.postboxes.post(worker, order).is_ok());
        }
        self.threads
            .into_iter()
            .map(|thread| thread.join().unwrap().unwrap())
            .collect()
    }
}

/// Waits until `condition` holds, giving way to other threads meanwhile.
pub(crate) fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let clock = Clock::start();
    while !condition() {
        assert!(
            clock.now().since(Timestamp::ZERO) < Span::from(PATIENCE),
            "never: {what}"
        );
        std::thread::yield_now();
    }
}

pub(crate) fn unix_client(path: &Path) -> UnixStream {
    let client = UnixStream::connect(path).unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    client
}

/// Bytes that show where they belong.
pub(crate) fn pattern(count: usize) -> Vec<u8> {
    (0..count).map(|n| (n % 251) as u8).collect()
}
