//! Fake workers, a server in front of them and a small HTTP client.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use engine::{
    ClientLine, FIRST_CONNECTION_ID, KillOutcome, Look, Mail, Report, Shared, Slice, Victim, Whom,
};
use events::{Peer, Timestamp};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::desk::Desk;
use crate::entrance::{Administrator, Encryption, Entrance};
use crate::serve::{Limits, serve_within};
use crate::workers::ANSWER_TIME;
use crate::{AccountsStatus, Facts, Workers};

/// Longer than anything here takes.
pub(super) const BOUND: Duration = Duration::from_secs(20);

/// What a fake worker does when it is asked.
pub(super) enum Mood {
    Answers(Box<Report>),
    Silent,
    Ended,
    /// Whoever asks it panics.
    Cursed,
}

pub(super) struct Fakes {
    moods: Mutex<Vec<Mood>>,
    held: Mutex<Vec<Mail>>,
    asked: watch::Sender<usize>,
    /// Clients by worker.
    clients: Mutex<Vec<Vec<ClientLine>>>,
    killed: Mutex<Vec<Victim>>,
}

/// How many lines a fake worker tells at a time.
const SLICE: usize = 2;

impl Fakes {
    pub(super) fn new(moods: impl IntoIterator<Item = Mood>) -> Arc<Self> {
        Arc::new(Self {
            moods: Mutex::new(moods.into_iter().collect()),
            held: Mutex::default(),
            asked: watch::Sender::new(0),
            clients: Mutex::default(),
            killed: Mutex::default(),
        })
    }

    /// Which clients each worker has.
    pub(super) fn set_clients(&self, clients: Vec<Vec<ClientLine>>) {
        *self.clients.lock().unwrap() = clients;
    }

    /// Who was to be ended so far.
    pub(super) fn killed(&self) -> Vec<Victim> {
        self.killed.lock().unwrap().clone()
    }

    fn answer(&self, worker: usize, mail: Mail, report: &Report) {
        match mail {
            Mail::Look(Look::Clients(whom, from, reply)) => reply(self.slice(worker, whom, from)),
            Mail::Look(Look::Backends(_, reply)) => reply(Slice {
                lines: Vec::new(),
                next: None,
            }),
            Mail::Look(Look::Pins(reply)) => reply(Vec::new()),
            Mail::End(victim, reply) => {
                self.killed.lock().unwrap().push(victim);
                reply(match victim.id {
                    FIRST_CONNECTION_ID => KillOutcome::Done,
                    id => KillOutcome::NoSuchThread(id),
                });
            }
            mail => answer(mail, report),
        }
    }

    fn slice(&self, worker: usize, whom: Whom, from: usize) -> Slice<ClientLine> {
        let clients = self.clients.lock().unwrap();
        let all = clients.get(worker).map_or(&[][..], Vec::as_slice);
        let end = all.len().min(from + SLICE);
        let wanted = |line: &&ClientLine| whom == Whom::All || line.state == "waiting";
        Slice {
            lines: all[from..end].iter().filter(wanted).cloned().collect(),
            next: (end < all.len()).then_some(end),
        }
    }

    pub(super) fn set(&self, worker: usize, mood: Mood) {
        self.moods.lock().unwrap()[worker] = mood;
    }

    /// How many questions were posted to all workers.
    pub(super) fn asked(&self) -> usize {
        *self.asked.borrow()
    }

    pub(super) async fn wait_asked(&self, questions: usize) {
        let mut asked = self.asked.subscribe();
        let enough = asked.wait_for(|asked| *asked >= questions);
        timeout(BOUND, enough).await.unwrap().unwrap();
    }

    /// Answers what silent workers were asked.
    pub(super) fn answer_late(&self, report: &Report) {
        for mail in self.held.lock().unwrap().drain(..) {
            answer(mail, report);
        }
    }
}

impl Workers for Fakes {
    fn count(&self) -> usize {
        self.moods.lock().unwrap().len()
    }

    fn post(&self, worker: usize, mail: Mail) -> Result<(), Mail> {
        let is_cursed = matches!(self.moods.lock().unwrap()[worker], Mood::Cursed);
        assert!(!is_cursed, "on purpose");
        match &self.moods.lock().unwrap()[worker] {
            Mood::Answers(report) => self.answer(worker, mail, report),
            Mood::Silent => self.held.lock().unwrap().push(mail),
            Mood::Ended => return Err(mail),
            Mood::Cursed => {}
        }
        self.asked.send_modify(|asked| *asked += 1);
        Ok(())
    }
}

fn answer(mail: Mail, report: &Report) {
    match mail {
        Mail::Report(reply) => reply(report.clone()),
        other => panic!("nobody should post {other:?}"),
    }
}

pub(super) fn answers(report: Report) -> Mood {
    Mood::Answers(Box::new(report))
}

/// A client that has been in `state` since `since` µs.
pub(crate) fn client_line(id: u32, user: &str, state: &'static str, since: u64) -> ClientLine {
    ClientLine {
        id,
        user: user.into(),
        account: Some(format!("'{user}'@'%'").into()),
        limit: None,
        peer: Peer::Unix,
        schema: None,
        state,
        since: Timestamp::from_us(since),
        state_us: 1_000 - since,
        in_transaction: false,
        pins: vec!["user_lock", "handler"],
        backend: Some(7),
        statement: None,
    }
}

/// A report of a worker that has reached its backend.
pub(super) fn report() -> Report {
    let mut report = Report {
        server_version: "11.8.3-MariaDB".into(),
        ..Report::default()
    };
    report.gauges.clients_idle = 5;
    report.gauges.clients_active = 2;
    report.gauges.backends_idle = 1;
    report.gauges.backends_active = 2;
    report.counters.backend_connections = 3;
    report.counters.statements = 100;
    report
}

/// A server in front of fake workers.
pub(super) struct Stage {
    pub(super) desk: Arc<Desk>,
    pub(super) fakes: Arc<Fakes>,
    pub(super) draining: Arc<AtomicBool>,
    pub(super) shared: Arc<Shared>,
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<std::io::Result<()>>,
}

impl Stage {
    pub(super) async fn new(moods: impl IntoIterator<Item = Mood>) -> Self {
        Self::within(Limits::default(), moods).await
    }

    pub(super) async fn within(limits: Limits, moods: impl IntoIterator<Item = Mood>) -> Self {
        Self::patient(ANSWER_TIME, limits, moods).await
    }

    /// Workers may take `answer_time`.
    pub(super) async fn patient(
        answer_time: Duration,
        limits: Limits,
        moods: impl IntoIterator<Item = Mood>,
    ) -> Self {
        let open = Entrance::new(Encryption::Off, Vec::new());
        Self::behind(open, (answer_time, limits), moods).await
    }

    /// Who may come in is said by `entrance`.
    pub(super) async fn behind(
        entrance: Entrance,
        times: (Duration, Limits),
        moods: impl IntoIterator<Item = Mood>,
    ) -> Self {
        Self::knowing(|facts| facts, entrance, times, moods).await
    }

    /// The accounts of the database are read; `are_all`: there are no others.
    pub(super) async fn with_accounts(status: Arc<AccountsStatus>, are_all: bool) -> Self {
        let open = Entrance::new(Encryption::Off, Vec::new());
        let times = (ANSWER_TIME, Limits::default());
        let moods = [answers(report())];
        let accounts = |facts: Facts| facts.with_accounts(status, move || are_all);
        Self::knowing(accounts, open, times, moods).await
    }

    async fn knowing(
        more: impl FnOnce(Facts) -> Facts,
        entrance: Entrance,
        (answer_time, limits): (Duration, Limits),
        moods: impl IntoIterator<Item = Mood>,
    ) -> Self {
        let fakes = Fakes::new(moods);
        let shared = Shared::new(fakes.count(), 32);
        let draining = Arc::new(AtomicBool::new(false));
        let drains = Arc::clone(&draining);
        let facts = Facts::new(Arc::clone(&shared), driver_counters)
            .with_driver_memory(|| vec![("connections", 11), ("outboxes", 12)])
            .with_draining(move || drains.load(Ordering::Relaxed))
            .with_variables(|| vec![("server.workers".to_owned(), "2".to_owned())])
            .with_pin_reasons(["user_variable", "temporary_table"]);
        let facts = more(facts);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let workers: Arc<dyn Workers> = fakes.clone();
        let desk = Desk::within(answer_time, workers, facts);
        let place = (listener, desk.clone());
        let serving = tokio::spawn(serve_within(limits, place, Arc::new(entrance), async {
            let _ = stopped.await;
        }));
        Self {
            desk,
            fakes,
            draining,
            shared,
            address,
            stop,
            serving,
        }
    }

    pub(super) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    pub(super) async fn get(&self, path: &str) -> Answer {
        self.ask("GET", path).await
    }

    pub(super) async fn ask(&self, method: &str, path: &str) -> Answer {
        self.ask_with(method, path, "").await
    }

    /// With more header fields, each with its line end.
    pub(super) async fn ask_with(&self, method: &str, path: &str, fields: &str) -> Answer {
        let mut stream = self.connect().await;
        let head = format!("{method} {path} HTTP/1.1\r\nHost: myriad\r\n{fields}\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        Answer::parse(&rest(&mut stream).await)
    }

    /// Begins the shutdown; what comes back ends with the server.
    pub(super) fn stop(self) -> JoinHandle<std::io::Result<()>> {
        self.stop.send(()).unwrap();
        self.serving
    }
}

/// An entrance for `admin` with the password `all`, and for `scraper` with `some`, who only looks.
pub(super) fn entrance() -> Entrance {
    let administrator = |user: &str, password: &str, read_only| Administrator {
        user: user.into(),
        password: password.to_owned().into(),
        read_only,
    };
    let administrators = vec![
        administrator("admin", "all", false),
        administrator("scraper", "some", true),
    ];
    Entrance::new(Encryption::Off, administrators).refusing_after(Duration::ZERO)
}

/// What a stand-in for the driver and the process counts; the names are theirs.
fn driver_counters() -> Vec<crate::DriverCount> {
    let names = [
        "accepts",
        "accept_errors",
        "accepts_handed_over",
        "socket_bytes_received",
        "socket_bytes_sent",
        "loop_turns",
        "loop_events",
        "io_uring_enters",
        "receive_buffer_shortages",
        "idle_polls",
        "worker_panics",
        "log_lines_lost",
        "control_panics",
    ];
    let count = |(value, name): (usize, _)| (name, "Counted by the driver.", value as u64);
    names.into_iter().enumerate().map(count).collect()
}

/// Everything until the server closes the connection; what came before a reset, too.
pub(super) async fn rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let ended = timeout(BOUND, stream.read_to_end(&mut bytes)).await;
    assert!(ended.is_ok(), "the connection stays open");
    String::from_utf8(bytes).unwrap()
}

#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    /// Status line and header fields, in lower case.
    pub(super) head: String,
    pub(super) body: String,
}

impl Answer {
    pub(super) fn parse(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").expect("an HTTP answer");
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let (head, body) = (head.to_lowercase(), body.to_owned());
        Self { status, head, body }
    }

    /// The value of a sample in `/metrics`.
    pub(super) fn sample(&self, name: &str) -> f64 {
        let mut lines = self.body.lines();
        let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        let value = value.unwrap_or_else(|| panic!("no {name} in:\n{}", self.body));
        value.parse().unwrap()
    }
}
