//! No client and no account starves beside others that hold backend connections: by transactions, or by taking
//! answers slowly.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use wire::Capabilities;

use crate::support::{Client, Database, FrontDoor, Login, USUAL, eventually};

/// Far longer than a wait should be, and far shorter than for ever: other tests run at the same time.
const SOON: Duration = Duration::from_secs(1);

const TEN_MEGABYTES: &str = "SELECT REPEAT('q', 10485760)";

fn app(door: &FrontDoor, flags: Capabilities) -> Client {
    let login = Login {
        capabilities: USUAL | Capabilities::CONNECT_WITH_DB | flags,
        ..Login::to("shop")
    };
    Client::login(&door.address(), &login).unwrap()
}

fn admin(door: &FrontDoor) -> Client {
    let login = Login {
        user: "admin",
        password: "all",
        ..Login::to("shop")
    };
    Client::login(&door.address(), &login).unwrap()
}

/// How long the slowest of some statements takes.
fn slowest(client: &mut Client) -> Duration {
    let took = (0..20).map(|_| {
        let began = Instant::now();
        assert_eq!(client.value("SELECT COUNT(*) FROM product"), "40");
        began.elapsed()
    });
    took.max().unwrap()
}

/// Acts while a client asks without a pause. Returns how often it asked, too.
fn beside_a_busy<T>(mut busy: Client, act: impl FnOnce() -> T) -> (T, u64) {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let asked = scope.spawn(|| {
            let mut asked = 0;
            while !over.load(Ordering::Relaxed) {
                busy.value("SELECT COUNT(*) FROM customer");
                asked += 1;
            }
            asked
        });
        let acted = act();
        over.store(true, Ordering::Relaxed);
        (acted, asked.join().unwrap())
    })
}

#[test]
fn a_client_does_not_starve_behind_one_with_other_flags_of_its_account() {
    let database = Database::shared();
    for workers in [1, 2] {
        let workers = format!("server.workers = {workers}");
        let settings = ["backend.max_connections = 4", &workers[..]];
        let door = FrontDoor::start(database.address(), &settings);
        let mut holders: Vec<_> = (0..3).map(|_| app(&door, Capabilities::empty())).collect();
        for holder in &mut holders {
            holder.run("BEGIN");
            holder.value("SELECT COUNT(*) FROM customer");
        }
        let mut waits = app(&door, Capabilities::empty());
        let busy = app(&door, Capabilities::FOUND_ROWS);
        let (slowest, asked) = beside_a_busy(busy, || slowest(&mut waits));
        assert!(slowest < SOON, "{workers}: {slowest:?}");
        assert!(asked > 0, "{workers}: the other one starved");
    }
}

#[test]
fn an_account_that_holds_nearly_everything_and_one_that_is_busy_both_have_turns() {
    let database = Database::shared();
    for workers in [1, 2] {
        let workers = format!("server.workers = {workers}");
        let settings = ["backend.max_connections = 4", &workers[..]];
        let door = FrontDoor::start(database.address(), &settings);
        let mut holders: Vec<_> = (0..3).map(|_| app(&door, Capabilities::empty())).collect();
        for holder in &mut holders {
            holder.run("BEGIN");
            holder.value("SELECT COUNT(*) FROM customer");
        }
        let mut waits = app(&door, Capabilities::empty());
        let (slowest, asked) = beside_a_busy(admin(&door), || slowest(&mut waits));
        assert!(slowest < SOON, "{workers}: {slowest:?}");
        assert!(asked > 0, "{workers}: the other one starved");
    }
}

fn slow_readers(door: &FrontDoor, count: u64) -> Vec<Client> {
    let mut slow: Vec<_> = (0..count)
        .map(|_| app(door, Capabilities::empty()))
        .collect();
    for client in &mut slow {
        client.query(TEN_MEGABYTES);
    }
    eventually("backends that clients hold by reading nothing", || {
        (door.metric("myriad_answers_held_total") >= count).then_some(())
    });
    slow
}

#[test]
fn an_account_whose_clients_do_not_read_leaves_others_their_share() {
    let database = Database::shared();
    for (workers, more) in [(1, 0), (1, 2), (2, 0), (2, 2)] {
        let workers = format!("server.workers = {workers}");
        let settings = [
            "backend.max_connections = 4",
            "server.answer_buffer_total = \"1MiB\"",
            &workers[..],
        ];
        let door = FrontDoor::start(database.address(), &settings);
        let slow = slow_readers(&door, 4);
        // More of them wait than there are backends, for longer than anybody else.
        let mut behind = [(); 2].map(|()| app(&door, Capabilities::empty()));
        for client in &mut behind[..more] {
            client.query(TEN_MEGABYTES);
        }
        eventually("those behind to wait", || {
            (door.metric("myriad_clients{state=\"waiting\"}") == more as u64).then_some(())
        });
        let mut other = admin(&door);
        let began = Instant::now();
        assert_eq!(other.value("SELECT COUNT(*) FROM product"), "40");
        let first = began.elapsed();
        assert!(first < 3 * SOON, "{workers}: {first:?}");
        let then = slowest(&mut other);
        assert!(then < SOON, "{workers}: {then:?}");
        let closed = door.metric("myriad_disconnects_total{reason=\"slow_reader\"}");
        // Half of the backends are the account's share.
        let most = 3 + more as u64;
        assert!((1..=most).contains(&closed), "{workers}: {closed}");
        door.await_log("taking answers slowly");
        drop(slow);
    }
}

#[test]
fn answers_that_fit_into_memory_are_kept_there_while_others_wait() {
    let database = Database::shared();
    let settings = ["backend.max_connections = 4", "server.workers = 1"];
    let door = FrontDoor::start(database.address(), &settings);
    let mut slow = slow_readers(&door, 4);
    let then = slowest(&mut admin(&door));
    assert!(then < SOON, "{then:?}");
    assert!(door.metric("myriad_answers_read_whole_total") > 0);
    let closed = door.metric("myriad_disconnects_total{reason=\"slow_reader\"}");
    assert_eq!(closed, 0);
    for client in &mut slow {
        let outcomes = client.answer().unwrap().outcomes();
        assert!(format!("{outcomes:?}").len() > 10 << 20);
        assert_eq!(client.value("SELECT 'done'"), "done");
    }
}
