//! A worker with a network that the test plays.

use std::time::Duration;

use wire::{Capabilities, HEADER_LEN, ServerStatus, write_packet};

use super::super::*;
use crate::answer::tests::result_set;
use crate::latencies::Latencies;
use crate::plan::{Account, Group, Pacing};
use crate::workload::Workload;

pub(super) const OK: &[u8] = b"\0\0\0\x02\0\0\0";
pub(super) const NOW: Timestamp = Timestamp::from_us(1_000);
pub(super) const LATER: Timestamp = Timestamp::from_us(1_700);

/// What the worker did.
#[derive(Default)]
pub(super) struct Network {
    pub(super) outbox: Vec<u8>,
    pub(super) connects: Vec<Tag>,
    pub(super) closes: Vec<(Handle, Close)>,
}

impl Io<Mail> for Network {
    fn outbox(&mut self, _handle: Handle) -> &mut Vec<u8> {
        &mut self.outbox
    }
    fn unsent(&self, _handle: Handle) -> usize {
        self.outbox.len()
    }
    fn unsent_total(&self) -> usize {
        self.outbox.len()
    }
    fn notify_drained(&mut self, _handle: Handle) {}
    fn pause_receive(&mut self, _handle: Handle) {}
    fn resume_receive(&mut self, _handle: Handle) {}
    fn connect(&mut self, tag: Tag) -> Handle {
        self.connects.push(tag);
        Handle(self.connects.len() as u64)
    }
    fn close(&mut self, handle: Handle, how: Close) {
        self.closes.push((handle, how));
    }
    fn post(&mut self, _worker: usize, mail: Mail) -> Result<(), Mail> {
        Err(mail)
    }
    fn stop_accepting(&mut self) {}
}

pub(super) struct Bench {
    pub(super) generator: Generator,
    pub(super) io: Network,
}

/// A run of one group.
pub(crate) fn plan(workload: Workload, connections: u32, logins_max: u32) -> Plan {
    Plan {
        target: Vec::new(),
        driver: driver::Driver::Epoll,
        spread: false,
        sources: Vec::new(),
        groups: vec![Group {
            name: "all".into(),
            account: Account {
                user: "u".into(),
                password: String::new(),
                schema: "s".into(),
                tls: false,
            },
            connections,
            workload,
            prepared: false,
            pacing: Pacing::Closed {
                think_time: Duration::ZERO,
            },
            patience: None,
        }],
        connect_concurrency: logins_max,
        threads: 1,
        ramp: Duration::ZERO,
        login_timeout: Duration::from_secs(1),
        warmup: Duration::ZERO,
        duration: Duration::from_secs(1),
        answer_timeout: Duration::from_secs(10),
        resumes_tls: false,
        report_interval: Duration::from_secs(1),
        watched: Vec::new(),
    }
}

impl Bench {
    pub(super) fn new(workload: Workload, connections: u32, logins_max: u32) -> Self {
        Self::of(plan(workload, connections, logins_max))
    }

    pub(super) fn of(plan: Plan) -> Self {
        let tally = Tally::new(Latencies::new().unwrap());
        let (connections, logins_max) = (plan.connections(), plan.connect_concurrency);
        let numbers = std::iter::once(0..connections).collect::<Vec<_>>();
        let generator = Generator::new(Arc::new(plan), &numbers, logins_max, &tally).unwrap();
        let mut bench = Self {
            generator,
            io: Network::default(),
        };
        assert_eq!(bench.generator.next_timer(), Some(Timestamp::ZERO));
        bench.turn(NOW);
        bench
    }

    /// One connection that is logged in and at work.
    pub(super) fn at_work(workload: Workload, eof: Capabilities) -> Self {
        Self::started(plan(workload, 1, 1), eof)
    }

    /// One connection of this plan that is logged in and at work.
    pub(super) fn started(plan: Plan, eof: Capabilities) -> Self {
        let mut bench = Self::of(plan);
        bench.log_in(0, eof);
        bench.mail(Mail::Start);
        bench
    }

    pub(super) fn turn(&mut self, now: Timestamp) {
        self.generator.turn_ended(&mut self.io, now);
    }

    pub(super) fn mail(&mut self, mail: Mail) {
        self.generator.mail(&mut self.io, mail, NOW);
    }

    pub(super) fn receive(&mut self, connect: usize, bytes: &[u8]) {
        let tag = self.io.connects[connect];
        self.generator.received(&mut self.io, tag, bytes, LATER);
    }

    pub(super) fn packet(&mut self, connect: usize, sequence_id: u8, payload: &[u8]) {
        let mut packet = Vec::new();
        write_packet(&mut packet, sequence_id, payload);
        self.receive(connect, &packet);
    }

    pub(super) fn log_in(&mut self, connect: usize, eof: Capabilities) {
        let tag = self.io.connects[connect];
        self.generator.connected(&mut self.io, tag, NOW);
        let mut handshake = Vec::new();
        wire::InitialHandshake {
            server_version: b"10.11",
            connection_id: 1,
            nonce: [7; 20],
            capabilities: Capabilities::PLUGIN_AUTH | eof,
            extended: wire::ExtendedCapabilities::empty(),
            collation: 45,
            status: ServerStatus::AUTOCOMMIT,
            auth_plugin: wire::NATIVE_PASSWORD,
        }
        .encode(&mut handshake, 0);
        // In single bytes: the connection phase must not depend on how packets are cut.
        for byte in handshake {
            self.receive(connect, &[byte]);
        }
        self.io.outbox.clear();
        self.packet(connect, 2, OK);
    }

    /// What was sent since the last time, without its header.
    pub(super) fn sent(&mut self) -> Vec<u8> {
        let sent = std::mem::take(&mut self.io.outbox);
        sent.get(HEADER_LEN..).unwrap_or_default().to_vec()
    }

    /// The right answer to the token statement that was sent last.
    pub(super) fn echo(&mut self, deprecate_eof: bool) -> Vec<u8> {
        let sent = self.sent();
        let text = sent.strip_prefix(b"\x03SELECT '").unwrap();
        result_set(&[text.strip_suffix(b"'")], deprecate_eof)
    }

    pub(super) fn tally(&self) -> &Tally {
        &self.generator.teams[0].tally
    }
}
