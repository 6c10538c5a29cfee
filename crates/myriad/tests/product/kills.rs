//! A storm of KILL QUERY: only a statement that was under way while its KILL was is ever ended.
//!
//! Odd sessions are never killed and must never notice. Of the even ones, every statement notes
//! when it began and ended, and every KILL when it was sent and when its OK was there. A KILL may
//! end one statement, which must overlap with it in time. The sessions with numbers divisible by
//! four begin statements at any time; the others begin none while a KILL for them has no OK, so that the
//! statement after the OK is the first that a late KILL would hit.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Address, Client, Database, FrontDoor, Outcome, eventually, own_database};

const KILLERS: usize = 4;
/// One statement of those that are never killed goes with so many KILLs, at least.
const SPARED_PER: usize = 20;
/// Where a busy machine lets few KILLs hit, more are sent: at most so many times as many.
const MOST: usize = 4;
const INTERRUPTED: u16 = 1317;

/// From before it was sent until its answer was there.
#[derive(Clone, Copy, Debug)]
struct Window {
    from: Instant,
    to: Instant,
}

impl Window {
    fn overlaps(&self, other: &Self) -> bool {
        self.from <= other.to && other.from <= self.to
    }
}

/// What killers and a victim know of each other.
struct Victim {
    id: u32,
    /// Held while a statement is sent, and for a KILL of those that begin none meanwhile.
    gate: Mutex<()>,
    begun: AtomicU64,
    /// How many of them a KILL has ended.
    hit: AtomicUsize,
    kills: Mutex<Vec<Window>>,
}

/// What a session found out.
#[derive(Default)]
struct Findings {
    statements: u64,
    interrupted: Vec<Window>,
    updates: u64,
}

/// One session with its number.
struct Session<'a> {
    number: usize,
    client: Client,
    victim: &'a Victim,
    findings: Findings,
}

impl Session<'_> {
    /// Runs a statement; `None` if it was ended.
    fn ask(&mut self, sql: &str) -> Option<Outcome> {
        let gate = self.victim.gate.lock().unwrap();
        let from = Instant::now();
        self.client.query(sql);
        self.victim.begun.fetch_add(1, Ordering::Relaxed);
        drop(gate);
        let answer = self.client.answer().unwrap().outcomes();
        let to = Instant::now();
        self.findings.statements += 1;
        if ended_early(sql, &answer) {
            self.findings.interrupted.push(Window { from, to });
            self.victim.hit.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        match &answer[..] {
            [Outcome::Err(..)] => panic!("{sql}: {answer:?}"),
            [one] => Some(one.clone()),
            _ => panic!("{sql}: {answer:?}"),
        }
    }

    /// Asks for a row that can be foretold.
    fn expect(&mut self, sql: &str, row: &[&str]) {
        let row = row.iter().map(ToString::to_string).collect();
        let expected = Outcome::Rows(vec![row]);
        if let Some(outcome) = self.ask(sql) {
            assert_eq!(outcome, expected, "{sql}");
        }
    }

    fn round(&mut self, round: usize) {
        let (number, token) = (self.number, format!("{}-{round}", self.number));
        match round % 5 {
            0 => self.expect(&format!("SELECT SLEEP(0.01), '{token}'"), &["0", &token]),
            1 => {
                let id = (round * 31 + number) % 1000 + 1;
                let sql = format!("SELECT v, '{token}' FROM points WHERE id = {id}");
                self.expect(&sql, &[&(id * 7).to_string(), &token]);
            }
            2 => {
                let sql = format!("SELECT BENCHMARK(20000, SHA2('{token}', 224)), '{token}'");
                self.expect(&sql, &["0", &token]);
            }
            3 => {
                let update = format!("UPDATE counters SET n = n + 1 WHERE id = {number}");
                self.findings.updates += u64::from(self.ask(&update).is_some());
            }
            _ => {
                // The session holds its backend meanwhile, also when a KILL hit one of these.
                self.ask("BEGIN");
                self.expect(&format!("SELECT SLEEP(0.003), '{token}'"), &["0", &token]);
                while self.ask("ROLLBACK").is_none() {}
            }
        }
    }
}

/// True if a KILL shows in an answer. SLEEP may say it by a 1 in place of an error.
fn ended_early(sql: &str, answer: &[Outcome]) -> bool {
    match answer {
        [Outcome::Err(INTERRUPTED, _)] => true,
        [Outcome::Rows(rows)] => sql.starts_with("SELECT SLEEP") && rows[0][0] == "1",
        _ => false,
    }
}

/// How many of so many KILLs must end a statement.
fn enough(kills: usize) -> usize {
    kills / 20
}

/// Kills until so many KILLs were sent and enough of them have hit, at most [`MOST`] times as many: each time a victim
/// that has begun more than one statement since last time, so that also a ROLLBACK comes through. On a busy machine the sessions that are
/// never killed come slowly to their next statement: the storm waits for them.
fn kill(
    client: &mut Client,
    victims: &[Victim],
    (left, kills): (&AtomicUsize, usize),
    stop: &AtomicBool,
) {
    let _failed = StopIfFailed(stop);
    let mut seen = vec![0; victims.len()];
    for place in (0..victims.len()).step_by(2).cycle() {
        let sent = MOST * kills - left.load(Ordering::Relaxed);
        let hit = victims
            .iter()
            .map(|victim| victim.hit.load(Ordering::Relaxed));
        let done = sent >= kills && hit.sum::<usize>() >= enough(kills);
        if done || sent == MOST * kills || stop.load(Ordering::Relaxed) {
            return;
        }
        let victim = &victims[place];
        let begun = victim.begun.load(Ordering::Relaxed);
        if begun < seen[place] + 2 || sent >= (1 + spared(victims)) * SPARED_PER {
            std::thread::yield_now();
            continue;
        }
        seen[place] = begun;
        let claimed = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1));
        if claimed.is_err() {
            return;
        }
        let gate = (place % 4 != 0).then(|| victim.gate.lock().unwrap());
        let from = Instant::now();
        let outcomes = client.run(&format!("KILL QUERY {}", victim.id));
        let to = Instant::now();
        assert!(matches!(outcomes[..], [Outcome::Ok(_)]), "{outcomes:?}");
        victim.kills.lock().unwrap().push(Window { from, to });
        drop(gate);
    }
}

/// How many statements the sessions have begun that are never killed.
fn spared(victims: &[Victim]) -> usize {
    let odd = victims.iter().skip(1).step_by(2);
    odd.map(|victim| victim.begun.load(Ordering::Relaxed) as usize)
        .sum()
}

/// Every interrupted statement has a KILL of its own that it overlaps.
fn assert_explained(number: usize, victim: &Victim, findings: &Findings) {
    let mut kills = victim.kills.lock().unwrap().clone();
    kills.sort_by_key(|kill| kill.to);
    let mut kills = kills.into_iter().map(Some).collect::<Vec<_>>();
    for statement in &findings.interrupted {
        let own = kills
            .iter_mut()
            .find(|kill| kill.is_some_and(|kill| kill.overlaps(statement)));
        let own = own.and_then(Option::take);
        assert!(own.is_some(), "session {number}: no KILL for {statement:?}");
    }
}

/// Lets the others end when a thread fails.
struct StopIfFailed<'a>(&'a AtomicBool);

impl Drop for StopIfFailed<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

fn work(mut session: Session<'_>, stop: &AtomicBool) -> Findings {
    let _failed = StopIfFailed(stop);
    for round in 0.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        session.round(round);
    }
    session.findings
}

/// Runs the storm and returns what each session found.
fn storm(address: &Address, clients: Vec<Client>, kills: usize) -> (Vec<Victim>, Vec<Findings>) {
    let victim = |client: &Client| Victim {
        id: client.connection_id,
        gate: Mutex::new(()),
        begun: AtomicU64::new(0),
        hit: AtomicUsize::new(0),
        kills: Mutex::default(),
    };
    let victims: Vec<_> = clients.iter().map(victim).collect();
    let (stop, left) = (AtomicBool::new(false), AtomicUsize::new(MOST * kills));
    let findings = std::thread::scope(|scope| {
        let (stop, left, victims) = (&stop, &left, &victims[..]);
        let session = |(number, client)| Session {
            number,
            client,
            victim: &victims[number],
            findings: Findings::default(),
        };
        let start = |session| scope.spawn(move || work(session, stop));
        let sessions = clients.into_iter().enumerate().map(session);
        let sessions: Vec<_> = sessions.map(start).collect();
        let start = |_| {
            let mut client = Client::new(address, "kills");
            scope.spawn(move || kill(&mut client, victims, (left, kills), stop))
        };
        let killers: Vec<_> = (0..KILLERS).map(start).collect();
        let killed: Vec<_> = killers.into_iter().map(|killer| killer.join()).collect();
        stop.store(true, Ordering::Relaxed);
        let findings = sessions.into_iter().map(|session| session.join().unwrap());
        let findings = findings.collect();
        killed.into_iter().for_each(|killer| killer.unwrap());
        findings
    });
    (victims, findings)
}

fn show(sessions: usize, kills: usize) {
    let database = Database::shared();
    database.schema("kills");
    database.execute(
        "USE kills; CREATE TABLE points (id INT PRIMARY KEY, v INT);
         INSERT INTO points SELECT seq, seq * 7 FROM shop.seq_1_to_1000;
         CREATE TABLE counters (id INT PRIMARY KEY, n INT);
         INSERT INTO counters SELECT seq - 1, 0 FROM shop.seq_1_to_1000",
    );
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 32"]);
    let address = door.address();
    let clients = (0..sessions).map(|_| Client::new(&address, "kills"));
    let clients: Vec<_> = clients.collect();
    let began = Instant::now();
    let (victims, findings) = storm(&address, clients, kills);
    let took = began.elapsed();
    let mut interrupted = 0;
    for (number, (victim, findings)) in victims.iter().zip(&findings).enumerate() {
        let n = database.execute(&format!("SELECT n FROM kills.counters WHERE id = {number}"));
        assert_eq!(n.trim(), findings.updates.to_string(), "session {number}");
        assert_explained(number, victim, findings);
        interrupted += findings.interrupted.len();
    }
    let statements: u64 = findings.iter().map(|findings| findings.statements).sum();
    let odd = findings.iter().skip(1).step_by(2);
    let spared: u64 = odd.map(|findings| findings.statements).sum();
    let sent = victims.iter().map(|of| of.kills.lock().unwrap().len());
    let sent: usize = sent.sum();
    assert!(sent >= kills);
    assert_eq!(door.metric("myriad_kills_total"), sent as u64);
    assert_eq!(door.metric("myriad_kill_errors_total"), 0);
    assert!(interrupted >= enough(kills), "only {interrupted} of {sent}");
    assert!(
        spared >= (kills / SPARED_PER) as u64,
        "only {spared} were to be spared"
    );
    eprintln!(
        "{sent} KILL QUERY in {took:?} ended {interrupted} of {statements} statements of {sessions} \
         sessions, {spared} of them not to be hit"
    );
}

/// A server that has not read a statement yet ignores a KILL QUERY for it.
#[test]
fn a_kill_that_overtakes_its_statement_ends_it_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let database = own_database(&folder);
    let pid = database.pid().unwrap();
    let signal = |signal| {
        kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), signal).unwrap();
    };
    let address = Address::Unix(database.socket().to_owned());
    let door = FrontDoor::start(&address, &[]);
    let mut victim = Client::new(&door.address(), "");
    let mut killer = Client::new(&door.address(), "");
    for round in 0..20 {
        // Once the connections are there, both wait to be read when the server goes on, and either may be first.
        if round > 0 {
            signal(Signal::STOP);
        }
        victim.query("SELECT SLEEP(60)");
        eventually("the statement that is to be ended", || {
            (door.metric("myriad_clients{state=\"active\"}") == 1).then_some(())
        });
        let told = killer.run(&format!("KILL QUERY {}", victim.connection_id));
        signal(Signal::CONT);
        assert!(matches!(told[..], [Outcome::Ok(_)]), "{told:?}");
        let answer = victim.answer().unwrap().outcomes();
        assert!(
            ended_early("SELECT SLEEP(60)", &answer),
            "{round}: {answer:?}"
        );
    }
}

#[test]
fn a_kill_ends_only_what_ran_when_it_was_sent() {
    show(40, 1000);
}

#[test]
#[ignore = "takes a minute"]
fn ten_thousand_kills_end_only_what_ran_when_they_were_sent() {
    show(100, 10_000);
}

/// The server knows nobody by the id of a client, and what follows the KILL does not run.
#[test]
fn a_kill_among_other_statements_ends_nobody() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 6"]);
    for (text, before) in [
        ("KILL ID; SELECT 7", 0),
        ("SELECT 7; kill connection ID; SELECT 8", 1),
        ("SET @a = 1; KILL QUERY ID; SELECT @a", 1),
    ] {
        let mut victim = Client::new(&door.address(), "shop");
        let id = victim.value("SELECT CONNECTION_ID()");
        let mut killer = Client::new(&door.address(), "shop");
        let told = killer.run(&text.replace("ID", &id));
        let [answers @ .., Outcome::Err(1094, _)] = &told[..] else {
            panic!("{text}: {told:?}");
        };
        assert_eq!(answers.len(), before, "{text}: {told:?}");
        assert_eq!(victim.value("SELECT 'on'"), "on");
        assert_eq!(killer.value("SELECT 'on'"), "on");
    }
}

/// Who hangs up leaves a statement that is still his.
#[test]
fn the_write_of_a_client_that_has_hung_up_can_be_killed() {
    let database = Database::shared();
    database.schema("kills_left");
    database.execute("CREATE TABLE kills_left.t (n INT) ENGINE = InnoDB");
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 4"]);
    let mut other = Client::new(&door.address(), "kills_left");
    for kill in ["KILL", "KILL QUERY"] {
        let mut leaving = Client::new(&door.address(), "kills_left");
        let id = leaving.value("SELECT CONNECTION_ID()");
        leaving.query("INSERT INTO t SELECT 1 FROM (SELECT SLEEP(600)) AS slept");
        eventually("the write on its way", || {
            let active = door.metric("myriad_backends{state=\"active\"}");
            (active > 0).then_some(())
        });
        drop(leaving);
        eventually("the end of the client", || {
            (door.metric("myriad_clients{state=\"active\"}") == 0).then_some(())
        });
        let told = other.run(&format!("{kill} {id}"));
        assert!(matches!(told[..], [Outcome::Ok(_)]), "{kill}: {told:?}");
        eventually("the end of its statement", || {
            (door.metric("myriad_backends{state=\"active\"}") == 0).then_some(())
        });
        let told = other.run(&format!("{kill} {id}"));
        assert!(
            matches!(told[..], [Outcome::Err(1094, _)]),
            "{kill}: {told:?}"
        );
    }
}
