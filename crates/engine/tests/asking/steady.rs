//! What statements cost once all is known that is asked about them: no memory is allocated for any.

use accounts::Standing;
use allocation_counter::measure;
use engine::{Mail, Settings, Shared};
use events::{Handle, Handler, Recorder, Span, Tag};
use wire::{Capabilities, OkPacket, ServerStatus, write_packet};

use crate::account_statements::{none, row};
use crate::relays::greeted;
use crate::stage::{SECRET, Stage, collations, ok, query, set_up, sound};

/// So many of each are run before they are counted, and counted then.
const TIMES: usize = 500;

/// What a session sends, and what its backend says to that.
pub(crate) struct Exchange {
    pub(crate) command: Vec<u8>,
    pub(crate) answer: Vec<u8>,
}

/// Nothing but the status flags is told of a statement.
pub(crate) fn done(status: ServerStatus) -> Vec<u8> {
    let mut bytes = Vec::new();
    let ok = OkPacket {
        status,
        ..OkPacket::default()
    };
    ok.encode(&mut bytes, 1, 0x00);
    bytes
}

/// A session on MariaDB, the only one.
pub(crate) struct Session {
    pub(crate) stage: Stage,
    pub(crate) client: (Handle, Tag),
    pub(crate) backend: Tag,
}

impl Session {
    pub(crate) fn new() -> Self {
        Self::with(Settings::default())
    }

    pub(crate) fn with(settings: Settings) -> Self {
        let mut stage = Stage::of_worker((&Shared::new(1, 8), 0), settings);
        stage.skills = Capabilities::DEPRECATE_EOF;
        stage.publish_one(("app", SECRET), Standing::Open);
        let client = stage.log_in("app", "secret");
        stage.say(client.1, &query("DO 1"));
        let backend = greeted(&mut stage);
        let of_session = ["utf8mb4", "utf8mb4", "utf8mb4_bin", "", "", "1", "0", "0"];
        let of_all = ["", "28800", "28800", "", "1", "0", "NONE"];
        let facts = row(&[&of_session[..], &of_all].concat());
        // The last two: its list of conditions is emptied, and the statement is answered.
        for answer in [
            ok(2, 0),
            collations(),
            set_up(),
            facts,
            sound(),
            row(&["0", "app@%"]),
            none(),
            row(&["1"]),
            done(ServerStatus::AUTOCOMMIT),
        ] {
            stage.say(backend, &answer);
        }
        let mut session = Self {
            stage,
            client,
            backend,
        };
        session.forget();
        session
    }

    /// What was written has left; the buffers stay, as those of a driver do.
    pub(crate) fn forget(&mut self) {
        for outbox in self.stage.wire.outboxes.values_mut() {
            outbox.clear();
        }
    }

    /// What has been sent to the backend.
    pub(crate) fn sent(&mut self) -> &mut Vec<u8> {
        let outboxes = &mut self.stage.wire.outboxes;
        outboxes.entry(Recorder::<Mail>::ASKED).or_default()
    }

    pub(crate) fn receive(&mut self, tag: Tag, bytes: &[u8]) {
        let Stage {
            engine, wire, now, ..
        } = &mut self.stage;
        *now = *now + Span::from_us(50);
        engine.received(wire, tag, bytes, *now);
        engine.turn_ended(wire, *now);
    }

    /// A command, its answer, and whatever the front door asks by itself: it is answered with 0, until all is known.
    pub(crate) fn learn(&mut self, exchange: &Exchange) {
        self.receive(self.client.1, &exchange.command);
        loop {
            let sent = std::mem::take(self.sent());
            if sent.is_empty() {
                break;
            }
            let answer = match sent == exchange.command {
                true => exchange.answer.clone(),
                false => row(&["0"]),
            };
            self.receive(self.backend, &answer);
        }
        self.forget();
    }

    /// A command, which is handed on, and its answer.
    fn run(&mut self, exchange: &Exchange) {
        self.receive(self.client.1, &exchange.command);
        assert!(*self.sent() == exchange.command);
        self.forget();
        self.receive(self.backend, &exchange.answer);
        assert!(self.sent().is_empty());
        let told = &self.stage.wire.outboxes[&self.client.0];
        assert!(*told == exchange.answer);
        self.forget();
    }
}

/// A statement, and the status flags behind it.
fn statement(text: &str, status: ServerStatus) -> Exchange {
    Exchange {
        command: query(text),
        answer: done(status),
    }
}

/// A SELECT of which the backend says that it is the first statement prepared there, as is the session's own.
fn prepared() -> Exchange {
    let mut command = Vec::new();
    write_packet(&mut command, 0, b"\x16SELECT c FROM sbtest1 WHERE id=?");
    let mut answer = Vec::new();
    write_packet(&mut answer, 1, b"\0\x01\0\0\0\x01\0\x01\0\0\0\0");
    write_packet(&mut answer, 2, b"def");
    write_packet(&mut answer, 3, b"def");
    Exchange { command, answer }
}

/// Its execution for the id 12,345, whose type was told before, if `again`. It finds nothing.
fn execution(again: bool) -> Exchange {
    let mut payload = b"\x17\x01\0\0\0\0\x01\0\0\0\0".to_vec();
    payload.extend_from_slice(if again { b"\0" } else { b"\x01\x03\0" });
    payload.extend_from_slice(&12_345_u32.to_le_bytes());
    let mut command = Vec::new();
    write_packet(&mut command, 0, &payload);
    Exchange {
        command,
        answer: none(),
    }
}

#[test]
fn statements_in_the_steady_state_allocate_nothing() {
    let mut session = Session::new();
    let usual = ServerStatus::AUTOCOMMIT;
    let within = usual | ServerStatus::IN_TRANS;
    let read = Exchange {
        command: query("SELECT c FROM sbtest1 WHERE id=12345"),
        answer: row(&["some text of a row"]),
    };
    let update = "UPDATE sbtest1 SET k=k+1 WHERE id=12345";
    let transaction = vec![
        statement("BEGIN", within),
        statement(update, within),
        statement("COMMIT", usual),
    ];
    session.learn(&prepared());
    session.learn(&execution(false));
    for (what, exchanges) in [
        ("a read", vec![read]),
        ("a write", vec![statement(update, usual)]),
        ("a transaction", transaction),
        ("an execution", vec![execution(true)]),
    ] {
        for exchange in (0..TIMES).flat_map(|_| &exchanges) {
            session.learn(exchange);
        }
        let mut run = || exchanges.iter().for_each(|exchange| session.run(exchange));
        (0..TIMES).for_each(|_| run());
        let cost = measure(|| (0..TIMES).for_each(|_| run()));
        assert_eq!(cost.count_total, 0, "{what}");
    }
}
