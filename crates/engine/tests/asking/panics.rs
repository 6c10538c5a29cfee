//! A panic anywhere in an event: whatever the sessions that it ends had of what all share comes back, and whoever
//! waited for that goes on.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use admission::{Quota, Rules};
use engine::{AccountName, Mail, Settings, Usage};
use events::{Close, ConnectError, Handle, Handler, HangUp, Io, Recorder, Tag};
use wire::{Command, ServerStatus, write_packet};

use crate::account_statements::row;
use crate::buffering::{self, MIB};
use crate::long_commands::Patient;
use crate::stage::{Stage, command, ok, query};
use crate::steady::{Session, done};

/// What effects panic with.
struct Injected;

const BACKEND: Handle = Recorder::<Mail>::ASKED;

/// A driver that panics when it has been asked for so many effects.
struct Fragile<'a> {
    wire: &'a mut Recorder<Mail>,
    left: Cell<usize>,
    touched: Vec<Handle>,
}

impl Fragile<'_> {
    fn strike(&self) {
        match self.left.get().checked_sub(1) {
            Some(left) => self.left.set(left),
            // No hook is called, so nothing is printed.
            None => resume_unwind(Box::new(Injected)),
        }
    }
}

impl Io<Mail> for Fragile<'_> {
    fn outbox(&mut self, handle: Handle) -> &mut Vec<u8> {
        self.strike();
        self.touched.push(handle);
        self.wire.outbox(handle)
    }

    fn unsent(&self, handle: Handle) -> usize {
        self.strike();
        self.wire.unsent(handle)
    }

    fn unsent_total(&self) -> usize {
        self.strike();
        self.wire.unsent_total()
    }

    fn notify_drained(&mut self, handle: Handle) {
        self.strike();
        self.wire.notify_drained(handle);
    }

    fn pause_receive(&mut self, handle: Handle) {
        self.strike();
        self.wire.pause_receive(handle);
    }

    fn resume_receive(&mut self, handle: Handle) {
        self.strike();
        self.wire.resume_receive(handle);
    }

    fn connect(&mut self, tag: Tag) -> Handle {
        self.strike();
        let handle = self.wire.connect(tag);
        self.touched.push(handle);
        handle
    }

    fn close(&mut self, handle: Handle, how: Close) {
        self.strike();
        self.touched.push(handle);
        self.wire.close(handle, how);
    }

    fn post(&mut self, worker: usize, mail: Mail) -> Result<(), Mail> {
        self.strike();
        self.wire.post(worker, mail)
    }

    fn stop_accepting(&mut self) {
        self.strike();
        self.wire.stop_accepting();
    }
}

/// What an engine is told.
enum Event {
    /// Bytes come for a client or from a backend.
    Comes((Handle, Tag), Vec<u8>),
    HangsUp((Handle, Tag)),
    /// The backend has taken all that there was for it.
    Drained(Tag),
    /// The long command is prepared.
    Prepared,
    /// The turn ends.
    Turn,
}

/// Some clients, and what happens.
struct Script {
    stage: Stage,
    clients: Vec<(Handle, Tag)>,
    backend: Option<Tag>,
    preparer: Patient,
    events: Vec<Event>,
}

impl Script {
    /// Of a session, whose commands are prepared elsewhere.
    fn of(session: Session, others: usize, events: impl Fn(&Self) -> Vec<Event>) -> Self {
        let Session {
            mut stage,
            client,
            backend,
        } = session;
        let preparer = Patient::default();
        stage.shared.prepare_commands_with(preparer.clone());
        // They are there.
        stage.wire.asked.clear();
        let others = (0..others).map(|_| stage.log_in("app", "secret"));
        let clients = std::iter::once(client).chain(others).collect();
        let mut script = Self {
            stage,
            clients,
            backend: Some(backend),
            preparer,
            events: Vec::new(),
        };
        script.events = events(&script);
        script
    }

    /// Tells the engine the events up to this one, which panics at its effect number `at`. False if it has fewer.
    fn panics(&mut self, last: usize, at: usize) -> bool {
        for (place, event) in self.events.iter().take(last + 1).enumerate() {
            let Stage {
                engine, wire, now, ..
            } = &mut self.stage;
            let (now, is_last) = (*now, place == last);
            let mut io = Fragile {
                wire,
                left: Cell::new(if is_last { at } else { usize::MAX }),
                touched: Vec::new(),
            };
            let told = catch_unwind(AssertUnwindSafe(|| match event {
                Event::Comes((_, tag), bytes) => engine.received(&mut io, *tag, bytes, now),
                Event::HangsUp((_, tag)) => engine.hung_up(&mut io, *tag, HangUp::Closed, now),
                Event::Drained(tag) => engine.drained(&mut io, *tag, now),
                Event::Prepared => {
                    let (_, mail) = self.preparer.take().unwrap().prepare();
                    engine.mail(&mut io, mail, now);
                }
                Event::Turn => engine.turn_ended(&mut io, now),
            }));
            let Err(panic) = told else {
                // It leaves.
                wire.outboxes.remove(&BACKEND);
                continue;
            };
            if !panic.is::<Injected>() {
                resume_unwind(panic);
            }
            let mut suspects = io.touched;
            suspects.extend(match event {
                Event::Comes((handle, _), _) | Event::HangsUp((handle, _)) => Some(*handle),
                Event::Drained(_) => Some(BACKEND),
                Event::Prepared | Event::Turn => None,
            });
            let kept = engine.recover(wire, &mut suspects, now);
            let broken = engine.check_invariants().err();
            let kept = kept.unwrap_or_else(|| panic!("effect {at} of event {place}: {broken:?}"));
            // The driver closes all others.
            let all = self.clients.iter().map(|(handle, _)| *handle);
            for handle in all.chain([BACKEND]) {
                if !kept.contains(&handle) && !wire.has_closed(handle) {
                    wire.closed.push((handle, Close::Abort));
                }
            }
            return true;
        }
        false
    }

    fn is_open(&self, client: usize) -> bool {
        !self.stage.wire.has_closed(self.clients[client].0)
    }

    /// All connections end.
    fn end(&mut self) {
        let Stage {
            engine, wire, now, ..
        } = &mut self.stage;
        for &(handle, tag) in &self.clients {
            if !wire.has_closed(handle) {
                engine.hung_up(wire, tag, HangUp::Closed, *now);
            }
        }
        if let Some(backend) = self.backend
            && !wire.has_closed(BACKEND)
        {
            engine.hung_up(wire, backend, HangUp::Closed, *now);
        }
        for tag in std::mem::take(&mut wire.asked) {
            engine.connect_failed(wire, tag, ConnectError::Os(111), *now);
        }
        self.stage.turn();
    }

    /// Bytes that are counted for sessions, when all of them have ended.
    fn kept(&mut self) -> u64 {
        self.end();
        let gauges = self.stage.engine.report().gauges;
        assert_eq!(self.stage.shared.command_memory(), (0, 0));
        assert_eq!(gauges.long_data_bytes, 0);
        assert_eq!(self.stage.shared.clients(), 0);
        assert_eq!(self.stage.shared.ledger.taken(), 0);
        for usage in self.stage.shared.admission.usage() {
            let Usage {
                connections,
                running,
                transactions,
                waiting,
                ..
            } = usage;
            let all = [connections, running, transactions, waiting];
            assert_eq!(all, [0; 4], "{usage:?}");
        }
        gauges.session_bytes
    }
}

/// Plays a script again and again, with a panic at each effect of each event, and has `goes_on` look at those who are left.
/// Everything comes back when they have left, too.
fn assert_given_back(begin: impl Fn() -> Script, goes_on: impl Fn(&mut Script)) {
    let mut quiet = begin();
    let events = quiet.events.len();
    assert!(!quiet.panics(events - 1, usize::MAX));
    let kept = quiet.kept();
    let mut panics = 0;
    for last in 0..events {
        for at in 0.. {
            let mut script = begin();
            if !script.panics(last, at) {
                break;
            }
            panics += 1;
            script.stage.turn();
            goes_on(&mut script);
            assert!(script.kept() <= kept, "effect {at} of event {last}");
        }
    }
    assert!(panics > 1, "{panics} panics");
}

#[test]
fn memory_for_commands_comes_back_and_whoever_waits_gets_it() {
    let begin = || {
        let mut stage = buffering::stage();
        let clients: Vec<_> = (0..4)
            .map(|_| buffering::client(&mut stage, "app"))
            .collect();
        for &client in &clients {
            buffering::begin(&mut stage, client, MIB - 100);
        }
        let more = vec![b'x'; 60_000];
        let events = vec![
            Event::Comes(clients[1], more),
            Event::HangsUp(clients[0]),
            Event::Turn,
        ];
        Script {
            stage,
            clients,
            backend: None,
            preparer: Patient::default(),
            events,
        }
    };
    assert_given_back(begin, |script| {
        let open = (0..4).filter(|&client| script.is_open(client));
        let paused = |client: &usize| {
            script
                .stage
                .wire
                .paused
                .contains(&script.clients[*client].0)
        };
        let (waiting, reading): (Vec<_>, Vec<_>) = open.partition(paused);
        // There is room for two of an account.
        assert!(waiting.is_empty() || reading.len() == 2, "{waiting:?}");
        assert_eq!(script.stage.shared.command_memory().1, waiting.len());
    });
}

/// COM_STMT_EXECUTE, or COM_STMT_SEND_LONG_DATA, of the statement that was prepared first.
fn of_statement(kind: Command, rest: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let payload = [&[kind as u8, 1, 0, 0, 0], rest].concat();
    write_packet(&mut bytes, 0, &payload);
    bytes
}

#[test]
fn long_data_and_prepared_statements_come_back() {
    let begin = || {
        Script::of(Session::with(Settings::default()), 0, |script| {
            let (client, backend) = (script.clients[0], (BACKEND, script.backend.unwrap()));
            let insert = command(Command::StmtPrepare as u8, "INSERT INTO t VALUES (?)");
            let mut prepared = Vec::new();
            write_packet(&mut prepared, 1, b"\0\x01\0\0\0\0\0\x01\0\0\0\0");
            write_packet(&mut prepared, 2, b"def");
            let long = [&[0, 0], &vec![b'l'; 700_000][..]].concat();
            let execution = b"\0\x01\0\0\0\0\x01\xfc\0";
            vec![
                Event::Comes(client, insert),
                Event::Comes(backend, prepared),
                Event::Turn,
                Event::Comes(client, of_statement(Command::StmtSendLongData, &long)),
                Event::Comes(client, of_statement(Command::StmtExecute, execution)),
                Event::Turn,
                Event::Drained(backend.1),
                Event::Drained(backend.1),
                Event::HangsUp(client),
                Event::Drained(backend.1),
                Event::Turn,
            ]
        })
    };
    let mut whole = begin();
    assert!(!whole.panics(7, usize::MAX));
    assert_eq!(
        whole.stage.engine.report().gauges.long_data_bytes,
        700_011,
        "it is counted until all of it was sent"
    );
    assert_given_back(begin, |_| {});
}

#[test]
fn a_client_does_not_wait_for_a_command_that_was_lost_while_it_was_prepared() {
    let begin = || {
        Script::of(Session::with(Settings::default()), 0, |script| {
            let (client, backend) = (script.clients[0], (BACKEND, script.backend.unwrap()));
            let insert = query(&format!("INSERT INTO t VALUES ('{}')", "x".repeat(600_000)));
            vec![
                Event::Comes(client, insert),
                Event::Turn,
                Event::Prepared,
                Event::Turn,
                Event::Drained(backend.1),
                Event::Drained(backend.1),
                Event::Comes(backend, ok(1, 0)),
                Event::Turn,
            ]
        })
    };
    assert_given_back(begin, |script| {
        // Its command was taken, and is executed or answered, or the client is gone.
        if script.is_open(0) {
            let told = script.stage.wire.take(script.clients[0].0);
            assert!(!told.is_empty(), "it waits for ever");
        }
    });
}

const GET_LOCK: &str = "SELECT GET_LOCK('a', 50)";

#[test]
fn a_lock_is_not_kept_from_those_who_wait_for_it() {
    let begin = || {
        Script::of(Session::with(Settings::default()), 3, |script| {
            let (backend, clients) = ((BACKEND, script.backend.unwrap()), &script.clients);
            let wants = |client: usize| Event::Comes(clients[client], query(GET_LOCK));
            vec![
                wants(0),
                Event::Comes(backend, row(&["1"])),
                Event::Turn,
                wants(1),
                wants(2),
                Event::HangsUp(clients[1]),
                Event::HangsUp(clients[0]),
                Event::Turn,
            ]
        })
    };
    let mut whole = begin();
    assert!(!whole.panics(4, usize::MAX));
    assert_eq!(whole.stage.engine.report().counters.lock_waits, 2);
    assert_given_back(begin, |script| {
        for client in 0..3 {
            if script.is_open(client) {
                let (wire, now) = (&mut script.stage.wire, script.stage.now);
                let tag = script.clients[client].1;
                script.stage.engine.hung_up(wire, tag, HangUp::Closed, now);
            }
        }
        script.stage.turn();
        let before = script.stage.engine.report().counters.lock_waits;
        script.stage.say(script.clients[3].1, &query(GET_LOCK));
        let after = script.stage.engine.report().counters.lock_waits;
        assert_eq!(after, before, "nobody is left who has it");
    });
}

/// An account may run one statement and have one transaction at a time.
fn limited() -> Session {
    let mut session = Session::with(Settings::default());
    let quota = Quota {
        max_concurrent_queries: 1,
        max_concurrent_transactions: 1,
        ..Quota::NONE
    };
    let rules = Rules::new([(AccountName::new("app", "%"), quota)], Quota::NONE, None);
    session.stage.shared.admission.set_rules(rules);
    session.stage.deliver(Mail::RulesChanged);
    session
}

#[test]
fn permits_and_places_come_back_and_the_next_is_admitted() {
    let begin = || {
        Script::of(limited(), 3, |script| {
            let (backend, clients) = ((BACKEND, script.backend.unwrap()), &script.clients);
            let says = |client: usize, text| Event::Comes(clients[client], query(text));
            let begun = ServerStatus::AUTOCOMMIT | ServerStatus::IN_TRANS;
            vec![
                says(0, "BEGIN"),
                Event::Comes(backend, done(begun)),
                Event::Turn,
                says(1, "BEGIN"),
                says(2, "DO 2"),
                Event::Turn,
                says(0, "COMMIT"),
                says(3, "DO 3"),
                Event::Comes(backend, done(ServerStatus::AUTOCOMMIT)),
                Event::Turn,
                Event::HangsUp(clients[1]),
                Event::Turn,
            ]
        })
    };
    let mut whole = begin();
    assert!(!whole.panics(7, usize::MAX));
    let usage = whole.stage.shared.admission.usage();
    let [usage] = &usage[..] else {
        panic!("{usage:?}");
    };
    assert_eq!((usage.transactions, usage.waiting), (1, 3), "{usage:?}");
    assert_given_back(begin, |script| {
        let usage = &script.stage.shared.admission.usage()[0];
        let comes = !script.stage.wire.asked.is_empty();
        assert!(
            usage.waiting == 0 || usage.running + usage.transactions > 0 || comes,
            "nothing will let those go on that wait"
        );
    });
}
