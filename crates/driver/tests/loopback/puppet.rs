//! A handler that tells the test everything it hears and does what the test mails it.

use std::collections::{HashMap, HashSet};
use std::sync::mpsc::Sender;

use events::{Close, ConnectError, Handle, Handler, HangUp, Io, Peer, Tag, Timestamp};

/// What the puppet heard, for the test to look at.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    Accepted(Tag, Peer),
    Connected(Tag),
    ConnectFailed(Tag, ConnectError),
    Received(Tag, Vec<u8>),
    Drained(Tag),
    HungUp(Tag, HangUp),
    Timer,
    /// It has panicked, and is to give up so many connections.
    Recovering(usize),
}

/// An order of the test.
pub(crate) struct Order(Box<Script>);

type Script = dyn FnOnce(&mut Puppet, &mut dyn Io<Order>) + Send;

/// What the puppet does by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Habit {
    /// Tells and waits for orders.
    Obey,
    /// Sends back what it receives and closes what hung up, and tells nothing.
    Echo,
}

/// The handler. Tags are numbers in the order of events.
pub(crate) struct Puppet {
    habit: Habit,
    told: Sender<Heard>,
    pub(crate) handles: HashMap<Tag, Handle>,
    next_tag: u64,
    pub(crate) timer: Option<Timestamp>,
    pub(crate) now: Timestamp,
    /// What it does upon hearing something, before telling.
    pub(crate) reflex: Option<Reflex>,
    /// What it does after a panic, each time it is asked to recover.
    pub(crate) recovers: fn() -> bool,
    finished: bool,
}

/// Something done at once upon hearing.
pub(crate) type Reflex = Box<dyn FnMut(&Heard, &HashMap<Tag, Handle>, &mut dyn Io<Order>) + Send>;

impl Puppet {
    /// Tags start above `first_tag`.
    pub(crate) fn new(habit: Habit, told: Sender<Heard>, first_tag: u64) -> Self {
        Self {
            habit,
            told,
            handles: HashMap::new(),
            next_tag: first_tag,
            timer: None,
            now: Timestamp::ZERO,
            reflex: None,
            // An assertion of its own has failed.
            recovers: || false,
            finished: false,
        }
    }

    /// Ends the worker after this turn.
    pub(crate) fn finish(&mut self) {
        self.finished = true;
    }

    pub(crate) fn handle(&self, tag: Tag) -> Handle {
        self.handles[&tag]
    }

    pub(crate) fn connect(&mut self, io: &mut dyn Io<Order>) -> Tag {
        let tag = self.new_tag();
        self.handles.insert(tag, io.connect(tag));
        tag
    }

    fn new_tag(&mut self) -> Tag {
        self.next_tag += 1;
        Tag(self.next_tag)
    }

    fn tell(&mut self, io: &mut dyn Io<Order>, heard: Heard) {
        if let Some(reflex) = &mut self.reflex {
            reflex(&heard, &self.handles, io);
        }
        // The test may have ended already.
        let _ = self.told.send(heard);
    }
}

impl Handler for Puppet {
    type Mail = Order;

    fn accepted<I: Io<Order>>(
        &mut self,
        io: &mut I,
        handle: Handle,
        peer: Peer,
        nonce: [u8; 32],
        _: Timestamp,
    ) -> Tag {
        assert_ne!(nonce, [0; 32]);
        let tag = self.new_tag();
        self.handles.insert(tag, handle);
        if self.habit == Habit::Obey {
            self.tell(io, Heard::Accepted(tag, peer));
        }
        tag
    }

    fn connected<I: Io<Order>>(&mut self, io: &mut I, tag: Tag, _: Timestamp) {
        self.tell(io, Heard::Connected(tag));
    }

    fn connect_failed<I: Io<Order>>(
        &mut self,
        io: &mut I,
        tag: Tag,
        error: ConnectError,
        _: Timestamp,
    ) {
        self.tell(io, Heard::ConnectFailed(tag, error));
    }

    fn received<I: Io<Order>>(&mut self, io: &mut I, tag: Tag, bytes: &[u8], _: Timestamp) {
        match self.habit {
            Habit::Obey => self.tell(io, Heard::Received(tag, bytes.to_vec())),
            Habit::Echo => io.outbox(self.handles[&tag]).extend_from_slice(bytes),
        }
    }

    fn drained<I: Io<Order>>(&mut self, io: &mut I, tag: Tag, _: Timestamp) {
        self.tell(io, Heard::Drained(tag));
    }

    fn hung_up<I: Io<Order>>(&mut self, io: &mut I, tag: Tag, how: HangUp, _: Timestamp) {
        match self.habit {
            Habit::Obey => self.tell(io, Heard::HungUp(tag, how)),
            Habit::Echo => {
                let handle = self.handles.remove(&tag).expect("a second hang-up");
                io.close(handle, Close::Flush);
            }
        }
    }

    fn mail<I: Io<Order>>(&mut self, io: &mut I, order: Order, now: Timestamp) {
        assert!(now >= self.now);
        self.now = now;
        (order.0)(self, io);
    }

    fn timer<I: Io<Order>>(&mut self, io: &mut I, now: Timestamp) {
        assert!(self.timer.is_some_and(|at| at <= now), "a timer came early");
        self.now = now;
        self.tell(io, Heard::Timer);
        self.timer = None;
    }

    fn next_timer(&self) -> Option<Timestamp> {
        self.timer
    }

    fn turn_ended<I: Io<Order>>(&mut self, _: &mut I, _: Timestamp) {}

    fn recover<I: Io<Order>>(
        &mut self,
        io: &mut I,
        suspects: &mut Vec<Handle>,
        _: Timestamp,
    ) -> Option<HashSet<Handle>> {
        let given_up = self.handles.extract_if(|_, handle| suspects.contains(handle));
        for (_, handle) in given_up {
            io.close(handle, Close::Abort);
        }
        self.tell(io, Heard::Recovering(suspects.len()));
        (self.recovers)().then(|| self.handles.values().copied().collect())
    }

    fn finished(&self) -> bool {
        self.finished
    }
}

impl Order {
    pub(crate) fn new(
        order: impl FnOnce(&mut Puppet, &mut dyn Io<Order>) + Send + 'static,
    ) -> Self {
        Self(Box::new(order))
    }
}
