//! An engine between clients and backends that are buffers: what a driver would move is moved by the bench.

use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::sync::Arc;

use accounts::Directory;
use engine::{Engine, Mail, Settings, Shared};
use events::{Close, Handle, Handler, Io, Peer, Span, Tag, Timestamp};
use sim::Backend;
use wire::{Capabilities, HandshakeResponse, Header, NATIVE_PASSWORD, write_packet};

/// The account of the simulated database that has no password.
const USER: &str = "batch";

const COM_STMT_CLOSE: u8 = 0x19;

const SLOTS: usize = 8;

/// As long as a turn of a busy worker.
const TURN: Span = Span::from_us(50);

/// A driver reads no more at a time.
const READ_MAX: usize = 64 << 10;

/// The end of a connection that the engine does not see.
enum End {
    Client,
    Backend(Box<Backend>),
}

/// A packet that backends answer without the simulated database, which would take most of the time.
struct Known {
    packet: Vec<u8>,
    stand_in: Vec<u8>,
    answer: Option<Vec<u8>>,
}

struct Connection {
    tag: Tag,
    end: End,
}

/// The engine's connections.
#[derive(Default)]
struct Buffers {
    outboxes: Vec<Vec<u8>>,
    /// Those that were written to in this turn, some of them twice.
    written: Vec<Handle>,
    /// Connections to backends, to be opened in this order.
    asked: VecDeque<(Handle, Tag)>,
}

pub(crate) struct FrontDoor {
    engine: Engine,
    io: Buffers,
    connections: Vec<Connection>,
    /// Places of the clients among the connections.
    clients: Vec<usize>,
    known: Vec<Known>,
    now: Timestamp,
    answer: Vec<u8>,
    sent: Vec<u8>,
}

/// A command in its packet.
pub(crate) fn command(command: u8, argument: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    write_packet(&mut packet, 0, &[&[command], argument].concat());
    packet
}

fn answers(backend: &mut Backend, packet: &[u8]) -> Vec<u8> {
    let answers = backend.answers(packet);
    assert!(answers.is_ok(), "{answers:?}");
    answers.unwrap_or_default()
}

impl FrontDoor {
    /// One worker, whose backends can be reached.
    pub(crate) fn new(lanes: bool) -> Self {
        let account = (USER.to_owned(), String::new().into());
        let mut settings = Settings {
            accounts: Directory::configured([account]).into(),
            ..Settings::default()
        };
        settings.lane_stall = settings.lane_stall.filter(|_| lanes);
        let mut door = Self {
            engine: Engine::new(Arc::new(settings), Shared::new(1, SLOTS), 0, [7; 32]),
            io: Buffers::default(),
            connections: Vec::new(),
            clients: Vec::new(),
            known: Vec::new(),
            now: Timestamp::ZERO,
            answer: Vec::new(),
            sent: Vec::new(),
        };
        door.settle();
        door
    }

    /// A client comes, whose number is how many came before it.
    pub(crate) fn log_in(&mut self, capabilities: Capabilities) {
        let handle = self.io.open();
        let peer = Peer::Tcp((Ipv4Addr::LOCALHOST, 40_000).into());
        let tag = self
            .engine
            .accepted(&mut self.io, handle, peer, [9; 32], self.now);
        self.clients.push(self.connections.len());
        self.connections.push(Connection {
            tag,
            end: End::Client,
        });
        let response = HandshakeResponse {
            capabilities: capabilities
                | Capabilities::PROTOCOL_41
                | Capabilities::SECURE_CONNECTION
                | Capabilities::PLUGIN_AUTH
                | Capabilities::CONNECT_WITH_DB,
            extended: wire::ExtendedCapabilities::empty(),
            max_packet_size: 1 << 24,
            collation: 45,
            user: USER.as_bytes(),
            auth_response: b"",
            schema: Some(b"a"),
            auth_plugin: NATIVE_PASSWORD,
            attributes: b"",
        };
        let mut packet = Vec::new();
        response.encode(&mut packet, 1);
        let client = self.clients.len() - 1;
        self.io.outboxes[handle.0 as usize].clear();
        let told = self.ask(client, &packet);
        assert_eq!(told.get(4), Some(&0), "no OK: {told:?}");
    }

    /// From now on all backends answer this packet as the first of them answers `stand_in`, which the simulated database
    /// knows.
    pub(crate) fn remember(&mut self, packet: &[u8], stand_in: &[u8]) {
        self.known.push(Known {
            packet: packet.to_vec(),
            stand_in: stand_in.to_vec(),
            answer: None,
        });
    }

    /// Backends answer this packet with that.
    pub(crate) fn answer_with(&mut self, packet: &[u8], answer: Vec<u8>) {
        self.known.push(Known {
            packet: packet.to_vec(),
            stand_in: Vec::new(),
            answer: Some(answer),
        });
    }

    /// A client sends something.
    pub(crate) fn say(&mut self, client: usize, packet: &[u8]) {
        let tag = self.connections[self.clients[client]].tag;
        self.engine.received(&mut self.io, tag, packet, self.now);
    }

    /// A client sends something, and all that follows from it happens. Returns what it is told.
    pub(crate) fn ask(&mut self, client: usize, packet: &[u8]) -> &[u8] {
        self.answer.clear();
        self.say(client, packet);
        self.settle();
        &self.answer
    }

    /// All backends answer what they were sent, and all clients take what they are told; those that were told something
    /// are added to `answered`.
    pub(crate) fn turn(&mut self, answered: &mut Vec<usize>) {
        self.end_turn();
        self.now = self.now + TURN;
        let mut written = std::mem::take(&mut self.io.written);
        for handle in written.drain(..) {
            let place = handle.0 as usize;
            if self.io.outboxes[place].is_empty() {
                continue;
            }
            match &mut self.connections[place].end {
                End::Client => {
                    self.io.outboxes[place].clear();
                    answered.push(self.clients.partition_point(|&client| client < place));
                }
                End::Backend(_) => self.reach_backend(place),
            }
        }
        written.append(&mut self.io.written);
        self.io.written = written;
    }

    /// The same until nothing is left to do; what clients are told is kept.
    fn settle(&mut self) {
        loop {
            self.end_turn();
            self.now = self.now + TURN;
            let Some(place) = self.io.next_written() else {
                return;
            };
            match &mut self.connections[place].end {
                End::Client => self.take_answer(place),
                End::Backend(_) => self.reach_backend(place),
            }
        }
    }

    fn end_turn(&mut self) {
        if self.engine.next_timer().is_some_and(|at| at <= self.now) {
            self.engine.timer(&mut self.io, self.now);
        }
        self.engine.turn_ended(&mut self.io, self.now);
        while let Some((handle, tag)) = self.io.asked.pop_front() {
            let (backend, greeting) = Backend::greeting();
            self.connections.push(Connection {
                tag,
                end: End::Backend(backend.into()),
            });
            assert_eq!(self.connections.len(), handle.0 as usize + 1);
            self.engine.connected(&mut self.io, tag, self.now);
            self.engine.received(&mut self.io, tag, &greeting, self.now);
        }
    }

    fn take_answer(&mut self, place: usize) {
        self.answer.extend_from_slice(&self.io.outboxes[place]);
        self.io.outboxes[place].clear();
    }

    /// A backend gets what is in its outbox, and answers.
    fn reach_backend(&mut self, place: usize) {
        let mut sent = std::mem::take(&mut self.sent);
        std::mem::swap(&mut sent, &mut self.io.outboxes[place]);
        let mut left = &sent[..];
        while let Some(header) = Header::parse(left) {
            let (packet, behind) = left.split_at(header.len + wire::HEADER_LEN);
            self.answer_packet(place, packet);
            left = behind;
        }
        sent.clear();
        self.sent = sent;
    }

    fn answer_packet(&mut self, place: usize, packet: &[u8]) {
        let connection = &mut self.connections[place];
        let End::Backend(backend) = &mut connection.end else {
            return;
        };
        if packet.get(wire::HEADER_LEN) == Some(&COM_STMT_CLOSE) {
            return;
        }
        let tag = connection.tag;
        let mut known = self.known.iter_mut();
        let Some(known) = known.find(|known| known.packet == packet) else {
            let answer = answers(backend, packet);
            return self.engine.received(&mut self.io, tag, &answer, self.now);
        };
        let answer = known
            .answer
            .get_or_insert_with(|| answers(backend, &known.stand_in));
        let in_parts = answer.len() > READ_MAX;
        for bytes in answer.chunks(READ_MAX) {
            self.engine.received(&mut self.io, tag, bytes, self.now);
            if in_parts {
                self.io.take(&self.clients);
            }
        }
    }
}

impl Buffers {
    /// These take what they are told.
    fn take(&mut self, clients: &[usize]) {
        for handle in &self.written {
            let place = handle.0 as usize;
            if clients.binary_search(&place).is_ok() {
                self.outboxes[place].clear();
            }
        }
    }

    /// The place of an outbox with something in it.
    fn next_written(&mut self) -> Option<usize> {
        loop {
            let place = self.written.pop()?.0 as usize;
            if !self.outboxes[place].is_empty() {
                return Some(place);
            }
        }
    }

    fn open(&mut self) -> Handle {
        self.outboxes.push(Vec::new());
        Handle(self.outboxes.len() as u64 - 1)
    }
}

impl Io<Mail> for Buffers {
    fn outbox(&mut self, handle: Handle) -> &mut Vec<u8> {
        let outbox = &mut self.outboxes[handle.0 as usize];
        if outbox.is_empty() {
            self.written.push(handle);
        }
        outbox
    }

    fn unsent(&self, handle: Handle) -> usize {
        self.outboxes[handle.0 as usize].len()
    }

    fn unsent_total(&self) -> usize {
        self.written.iter().map(|&handle| self.unsent(handle)).sum()
    }

    fn notify_drained(&mut self, _: Handle) {}

    fn pause_receive(&mut self, _: Handle) {}

    fn resume_receive(&mut self, _: Handle) {}

    fn connect(&mut self, tag: Tag) -> Handle {
        let handle = self.open();
        self.asked.push_back((handle, tag));
        handle
    }

    fn close(&mut self, handle: Handle, _: Close) {
        self.outboxes[handle.0 as usize].clear();
    }

    fn post(&mut self, _: usize, mail: Mail) -> Result<(), Mail> {
        Err(mail)
    }

    fn stop_accepting(&mut self) {}
}
