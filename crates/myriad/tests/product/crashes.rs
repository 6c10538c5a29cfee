//! The database is killed under very many working clients, again and again: no answer is wrong, no
//! write is done twice, nobody waits for ever, and no backend connection is lost to the count.

use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::support::{Address, Client, FrontDoor, Outcome, eventually, own_database};

const BACKENDS: u64 = 32;
const THREADS: usize = 20;
const COM_QUERY: u8 = 0x03;
/// A statement that did not get a backend in time, which was not run.
const QUEUE_TIMEOUT: u16 = 1203;
const SHUTDOWN: u16 = 1053;
const LOSSES: &str = "myriad_backend_losses_total";

/// What all threads count.
#[derive(Default)]
struct Progress {
    answers: AtomicU64,
    losses: AtomicU64,
    not_run: AtomicU64,
    longest_us: AtomicU64,
    /// Crashes that are over.
    crashes: AtomicU64,
    stop: AtomicBool,
}

/// A client that counts in a row of its own, and what it knows of that row.
struct Worker {
    id: usize,
    client: Option<Client>,
    round: u64,
    /// The least and the most that the row can hold.
    known: (u64, u64),
    sent: Sent,
    /// So many crashes were over when that was sent.
    crashes: u64,
}

/// What a worker waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sent {
    Nothing,
    /// One more, in a statement of its own.
    Update,
    /// Two more, in a transaction of four statements that were sent ahead.
    Transaction,
    Read,
}

/// How a worker's turn ended.
enum End {
    Answered,
    NotRun,
    Lost,
}

impl Worker {
    fn new(id: usize) -> Self {
        Self {
            id,
            client: None,
            round: 0,
            known: (0, 0),
            sent: Sent::Nothing,
            crashes: 0,
        }
    }

    fn texts(&self) -> Vec<String> {
        let update = format!("UPDATE counters SET n = n + 1 WHERE id = {}", self.id);
        match self.sent {
            Sent::Nothing => Vec::new(),
            Sent::Update => vec![update],
            Sent::Transaction => {
                vec!["BEGIN".into(), update.clone(), update, "COMMIT".into()]
            }
            Sent::Read => vec![format!(
                "SELECT n, '{}' FROM counters WHERE id = {}",
                self.token(),
                self.id
            )],
        }
    }

    /// What nobody else is ever told.
    fn token(&self) -> String {
        format!("{}-{}", self.id, self.round)
    }

    /// Sends the next statements.
    fn send(&mut self, address: &Address, progress: &Progress) {
        self.round += 1;
        self.crashes = progress.crashes.load(Ordering::Relaxed);
        // Whoever does not know what became of its last write asks.
        self.sent = match (self.known.0 == self.known.1, self.round % 2) {
            (true, 0) if self.id.is_multiple_of(4) => Sent::Transaction,
            (true, 0) => Sent::Update,
            _ => Sent::Read,
        };
        let texts = self.texts();
        let mut bytes = Vec::new();
        for text in &texts {
            wire::write_packet(&mut bytes, 0, &[&[COM_QUERY], text.as_bytes()].concat());
        }
        let client = &mut self.client;
        let client = client.get_or_insert_with(|| Client::new(address, "crashes"));
        // It may be closed already; then reading says so.
        client.send_what_goes(&bytes);
    }

    /// Reads what was sent last.
    fn receive(&mut self) -> End {
        let added = match self.sent {
            Sent::Nothing | Sent::Read => 0,
            Sent::Update => 1,
            Sent::Transaction => 2,
        };
        for text in self.texts() {
            match self.one(&text) {
                End::Answered => {}
                End::NotRun if self.sent != Sent::Transaction => return End::NotRun,
                // Of what was sent ahead, the rest would run on its own.
                End::NotRun | End::Lost => {
                    self.known.1 += added;
                    self.client = None;
                    return End::Lost;
                }
            }
        }
        self.known = (self.known.0 + added, self.known.1 + added);
        End::Answered
    }

    fn one(&mut self, text: &str) -> End {
        let Some(client) = &mut self.client else {
            return End::Lost;
        };
        let outcomes = match client.answer() {
            Ok(answer) => answer.outcomes(),
            Err(error) => {
                // Silence is no end.
                assert_ne!(error.kind(), ErrorKind::WouldBlock, "{text} hung");
                return End::Lost;
            }
        };
        match &outcomes[..] {
            [Outcome::Ok(done)] => {
                let expected = u64::from(text.starts_with("UPDATE"));
                assert_eq!(done.affected_rows, expected, "{text}");
                End::Answered
            }
            [Outcome::Rows(rows)] => {
                self.read(rows, text);
                End::Answered
            }
            [Outcome::Err(QUEUE_TIMEOUT, _)] => End::NotRun,
            [Outcome::Err(SHUTDOWN, _)] => {
                assert_eq!(client.rest(), b"", "a lost backend closes its client");
                End::Lost
            }
            other => panic!("{text}: {other:?}"),
        }
    }

    fn read(&mut self, rows: &[Vec<String>], text: &str) {
        let [row] = rows else {
            panic!("{text}: {rows:?}")
        };
        assert_eq!(row[1], self.token(), "{text}");
        let n: u64 = row[0].parse().unwrap();
        let (least, most) = self.known;
        // A lost transaction was done as a whole or not at all.
        let whole = most - least != 2 || n != least + 1;
        assert!(
            least <= n && n <= most && whole,
            "{text}: {n}, {least}..={most}"
        );
        self.known = (n, n);
    }
}

/// Lets workers send all at once and then reads, until it is to stop and none is in doubt.
fn work(mut workers: Vec<Worker>, address: &Address, progress: &Progress) -> Vec<Worker> {
    loop {
        let ends = progress.stop.load(Ordering::Relaxed);
        if ends
            && workers
                .iter()
                .all(|worker| worker.known.0 == worker.known.1)
        {
            return workers;
        }
        let sent = Instant::now();
        for worker in &mut workers {
            worker.send(address, progress);
        }
        for worker in &mut workers {
            let counter = match worker.receive() {
                End::Answered => &progress.answers,
                End::NotRun => &progress.not_run,
                End::Lost => &progress.losses,
            };
            counter.fetch_add(1, Ordering::Relaxed);
        }
        let took = u64::try_from(sent.elapsed().as_micros()).unwrap();
        progress.longest_us.fetch_max(took, Ordering::Relaxed);
    }
}

fn await_more(counter: &AtomicU64, count: u64) {
    let before = counter.load(Ordering::Relaxed);
    eventually("more of it", || {
        (counter.load(Ordering::Relaxed) >= before + count).then_some(())
    });
}

fn show(clients: usize, kills: usize) {
    let folder = tempfile::tempdir().unwrap();
    let mut database = own_database(&folder);
    database
        .execute(&format!(
            "CREATE DATABASE crashes; GRANT ALL ON crashes.* TO 'app'@'localhost';
             CREATE TABLE crashes.counters (id INT PRIMARY KEY, n INT);
             INSERT INTO crashes.counters SELECT seq - 1, 0 FROM shop.seq_1_to_{clients}"
        ))
        .unwrap();
    let backend = Address::Unix(database.socket().to_owned());
    let backends = format!("backend.max_connections = {BACKENDS}");
    // Less than what a client waits for an answer.
    let door = FrontDoor::start(&backend, &[&backends, "backend.queue_timeout = \"20s\""]);
    let (address, progress) = (door.address(), Progress::default());
    let mut outages = Vec::new();
    let workers: Vec<Worker> = std::thread::scope(|scope| {
        let (address, progress) = (&address, &progress);
        let start = |thread| {
            let own = (thread..clients).step_by(THREADS).map(Worker::new);
            let own = own.collect();
            scope.spawn(move || work(own, address, progress))
        };
        let threads: Vec<_> = (0..THREADS).map(start).collect();
        // Also when something fails here, the others must end.
        let stop = Stop(progress);
        for _ in 0..kills {
            await_more(&progress.answers, 2 * clients as u64);
            let losses = door.metric(LOSSES);
            let began = Instant::now();
            database.kill().unwrap();
            eventually("a lost backend", || {
                (door.metric(LOSSES) > losses).then_some(())
            });
            database.restart().unwrap();
            progress.crashes.fetch_add(1, Ordering::Relaxed);
            await_more(&progress.answers, clients as u64);
            outages.push(began.elapsed());
        }
        drop(stop);
        let threads = threads.into_iter();
        threads.flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert_all_is_well(&door, workers, (&address, &progress));
    let found = database
        .execute("SELECT SUM(n) FROM crashes.counters")
        .unwrap();
    let (answers, losses) = (&progress.answers, &progress.losses);
    let longest = Duration::from_micros(progress.longest_us.load(Ordering::Relaxed));
    eprintln!(
        "{kills} kills under {clients} clients: {answers:?} answers, {losses:?} losses, {:?} not run, \
         sum {}, longest turn {longest:?}, from kill to work {outages:?}",
        progress.not_run,
        found.trim()
    );
    drop(door);
    database.stop().unwrap();
}

/// Lets the threads end.
struct Stop<'a>(&'a Progress);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.stop.store(true, Ordering::Relaxed);
    }
}

/// Whether a statement was answered by the end of its connection; silence is none.
fn was_lost(told: &std::io::Result<Vec<Outcome>>) -> bool {
    match told {
        Ok(outcomes) => matches!(outcomes[..], [Outcome::Err(SHUTDOWN, _)]),
        Err(error) => error.kind() != ErrorKind::WouldBlock,
    }
}

fn counted(n: u64) -> Vec<Outcome> {
    vec![Outcome::Rows(vec![vec![n.to_string()]])]
}

/// Every client can work, and afterwards nothing is held.
fn assert_all_is_well(
    door: &FrontDoor,
    mut workers: Vec<Worker>,
    (address, progress): (&Address, &Progress),
) {
    let crashes = progress.crashes.load(Ordering::Relaxed);
    for worker in &mut workers {
        let id = worker.id;
        let client = &mut worker.client;
        let client = client.get_or_insert_with(|| Client::new(address, "crashes"));
        let sql = format!("SELECT n FROM counters WHERE id = {id}");
        // Who was answered before the last crash, and has waited for others since, may have been closed behind that.
        let told = client.try_run(&sql);
        if worker.crashes < crashes && was_lost(&told) {
            *client = Client::new(address, "crashes");
        } else {
            assert_eq!(told.unwrap(), counted(worker.known.0), "{id}");
        }
        assert_eq!(client.run(&sql), counted(worker.known.0), "{id}");
    }
    drop(workers);
    eventually("a front door that holds nothing", || {
        let clients = |state| door.metric(&format!("myriad_clients{{state=\"{state}\"}}"));
        let backends = |state| door.metric(&format!("myriad_backends{{state=\"{state}\"}}"));
        let busy = ["waiting", "active", "held", "idle"]
            .map(clients)
            .iter()
            .sum::<u64>()
            + ["active", "connecting", "resetting"]
                .map(backends)
                .iter()
                .sum::<u64>();
        (busy == 0).then_some(())
    });
    let taken = door.metric("myriad_backend_slots_taken");
    assert!(taken <= BACKENDS, "{taken}");
    assert_eq!(taken, door.metric("myriad_backends{state=\"idle\"}"));
}

#[test]
fn two_crashes_under_200_clients_lose_and_double_nothing() {
    show(200, 2);
}

#[test]
#[ignore = "takes a minute"]
fn ten_crashes_under_1000_clients_lose_and_double_nothing() {
    show(1000, 10);
}
