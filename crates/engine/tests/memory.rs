//! What a client costs in memory: every byte that the engine allocates is counted, the pages of
//! its slabs and the room left in its tables included. The driver's part is asserted there.

use std::net::Ipv4Addr;
use std::sync::Arc;

use accounts::Directory;
use allocation_counter::measure;
use engine::{Engine, Mail, Settings, Shared};
use events::{Close, ConnectError, Handle, Handler, Io, Peer, Tag, Timestamp};

const CLIENTS: u64 = 10_000;

/// What an idle client, logged in, may cost the engine; docs/MEMORY.md has the whole budget.
const IDLE_MAX: u64 = 448;
/// The same while a small statement of it waits or runs.
const EXECUTING_MAX: u64 = 640;

/// Sends nothing anywhere, and has no backend.
#[derive(Default)]
struct Nowhere {
    out: Vec<u8>,
    asked: Vec<Tag>,
    closed: u64,
}

impl Io<Mail> for Nowhere {
    fn outbox(&mut self, _: Handle) -> &mut Vec<u8> {
        self.out.clear();
        &mut self.out
    }

    fn unsent(&self, _: Handle) -> usize {
        0
    }

    fn unsent_total(&self) -> usize {
        0
    }

    fn notify_drained(&mut self, _: Handle) {}

    fn pause_receive(&mut self, _: Handle) {}

    fn resume_receive(&mut self, _: Handle) {}

    fn connect(&mut self, tag: Tag) -> Handle {
        self.asked.push(tag);
        Handle(u64::MAX)
    }

    fn close(&mut self, _: Handle, _: Close) {
        self.closed += 1;
    }

    fn post(&mut self, _: usize, mail: Mail) -> Result<(), Mail> {
        Err(mail)
    }

    fn stop_accepting(&mut self) {}
}

struct Stage {
    engine: Engine,
    io: Nowhere,
    clients: Vec<Tag>,
}

const NOW: Timestamp = Timestamp::ZERO;

impl Stage {
    /// An engine that knows that its backend cannot be reached, so that it greets clients itself.
    fn new() -> Self {
        let account = ("app".to_owned(), String::new().into());
        let settings = Settings {
            accounts: Directory::configured([account]).into(),
            ..Settings::default()
        };
        let engine = Engine::new(Arc::new(settings), Shared::new(1, 32), 0, [7; 32]);
        let mut stage = Self {
            engine,
            io: Nowhere::default(),
            clients: Vec::with_capacity(2 * CLIENTS as usize),
        };
        stage.turn();
        stage
    }

    fn turn(&mut self) {
        self.engine.turn_ended(&mut self.io, NOW);
        for tag in std::mem::take(&mut self.io.asked) {
            let error = ConnectError::Os(111);
            self.engine.connect_failed(&mut self.io, tag, error, NOW);
        }
    }

    fn log_in(&mut self) {
        let peer = Peer::Tcp((Ipv4Addr::LOCALHOST, 40_000).into());
        let handle = Handle(self.clients.len() as u64);
        let tag = self
            .engine
            .accepted(&mut self.io, handle, peer, [9; 32], NOW);
        self.say(tag, &handshake_response());
        // An OK.
        assert_eq!(self.io.out.get(4), Some(&0), "{:?}", self.io.out);
        self.clients.push(tag);
    }

    fn say(&mut self, tag: Tag, packet: &[u8]) {
        self.engine.received(&mut self.io, tag, packet, NOW);
    }

    fn all_leave(&mut self) {
        let quit = packet(0, &[1]);
        for tag in self.clients.split_off(1) {
            self.say(tag, &quit);
        }
    }
}

fn packet(sequence_id: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    wire::write_packet(&mut packet, sequence_id, payload);
    packet
}

/// Of `app`, without a password: CLIENT_PROTOCOL_41 and CLIENT_SECURE_CONNECTION.
fn handshake_response() -> Vec<u8> {
    let mut payload = 0x8200_u32.to_le_bytes().to_vec();
    payload.extend_from_slice(&(1_u32 << 24).to_le_bytes());
    payload.push(45);
    payload.extend_from_slice(&[0; 23]);
    payload.extend_from_slice(b"app\0\0");
    packet(1, &payload)
}

fn per_client(bytes: i64) -> u64 {
    // Less than nothing would be a mistake of the count, and too much for any bound.
    u64::try_from(bytes).unwrap_or(u64::MAX).div_ceil(CLIENTS)
}

#[test]
fn an_idle_client_is_small() {
    let mut stage = Stage::new();
    stage.log_in();
    let growth = measure(|| (0..CLIENTS).for_each(|_| stage.log_in()));
    let bytes = per_client(growth.bytes_current);
    println!("an idle client: {bytes} bytes");
    assert!(bytes <= IDLE_MAX, "{bytes}");
    let report = stage.engine.report();
    assert_eq!(report.gauges.clients_idle, CLIENTS + 1);
}

#[test]
fn a_client_that_executes_is_small() {
    let statement = packet(0, b"\x03SELECT c FROM sbtest1 WHERE id = 123456");
    let mut stage = Stage::new();
    let growth = measure(|| {
        for _ in 0..CLIENTS {
            stage.log_in();
        }
        for tag in stage.clients.clone() {
            stage.say(tag, &statement);
        }
    });
    let bytes = per_client(growth.bytes_current);
    println!("a client with a statement: {bytes} bytes");
    assert!(bytes <= EXECUTING_MAX, "{bytes}");
    let report = stage.engine.report();
    assert_eq!(report.gauges.clients_waiting, CLIENTS);
}

#[test]
fn what_a_peak_took_is_given_back() {
    let mut stage = Stage::new();
    stage.log_in();
    let peak = 2 * CLIENTS - 1;
    let left = measure(|| {
        (0..peak).for_each(|_| stage.log_in());
        stage.all_leave();
    });
    let bytes = u64::try_from(left.bytes_current).unwrap();
    println!("after {peak} clients: {bytes} bytes are left");
    // A page of records, small tables, and buffers that are kept for whoever comes next.
    assert!(bytes <= 256 << 10, "{bytes}");
    assert_eq!(stage.engine.report().gauges.clients_idle, 1);
    assert_eq!(stage.io.closed, peak);
}
