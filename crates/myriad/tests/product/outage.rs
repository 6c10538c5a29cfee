//! The database is killed under clients that work, and comes back.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::support::{Address, Client, FrontDoor, Outcome, eventually, own_database};

const CLIENTS: u64 = 50;

/// What the clients have found out.
#[derive(Default)]
struct Progress {
    acknowledged: AtomicU64,
    lost: AtomicU64,
    stop: AtomicBool,
}

/// Ids whose INSERT was answered with OK, and ids of which nobody knows.
#[derive(Default)]
struct Ids {
    acknowledged: BTreeSet<u64>,
    unknown: BTreeSet<u64>,
}

/// Inserts one id after the other, on a new connection whenever one is lost.
fn insert(address: &Address, number: u64, progress: &Progress) -> Ids {
    let mut ids = Ids::default();
    let mut client = None;
    for id in (0..).map(|round| round * CLIENTS + number) {
        if progress.stop.load(Ordering::Relaxed) {
            return ids;
        }
        let connected = client.get_or_insert_with(|| Client::new(address, "outage"));
        match connected
            .try_run(&format!("INSERT INTO t VALUES ({id})"))
            .as_deref()
        {
            Ok([Outcome::Ok(_)]) => {
                ids.acknowledged.insert(id);
                progress.acknowledged.fetch_add(1, Ordering::Relaxed);
                continue;
            }
            Ok([Outcome::Err(1053, _)]) => {
                ids.unknown.insert(id);
                assert_eq!(connected.rest(), b"", "a lost backend closes its client");
            }
            Ok(other) => panic!("{id}: {other:?}"),
            // The end came in the middle of an answer, or instead of one. Silence is no end.
            Err(error) => {
                assert_ne!(error.kind(), std::io::ErrorKind::WouldBlock, "{id} hung");
                ids.unknown.insert(id);
            }
        }
        progress.lost.fetch_add(1, Ordering::Relaxed);
        client = None;
    }
    ids
}

fn await_more(progress: &Progress) {
    let before = progress.acknowledged.load(Ordering::Relaxed);
    eventually("more rows", || {
        (progress.acknowledged.load(Ordering::Relaxed) > before + 500).then_some(())
    });
}

#[test]
fn clients_survive_a_killed_database_and_no_acknowledged_row_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let mut database = own_database(&folder);
    database
        .execute(
            "CREATE DATABASE outage; CREATE TABLE outage.t (id BIGINT PRIMARY KEY);
             GRANT ALL ON outage.* TO 'app'@'localhost'",
        )
        .unwrap();
    let backend = Address::Unix(database.socket().to_owned());
    let door = FrontDoor::start(&backend, &["backend.max_connections = 8"]);
    let (address, progress) = (door.address(), Progress::default());
    let ids: Vec<Ids> = std::thread::scope(|scope| {
        let (address, progress) = (&address, &progress);
        let start = |number| scope.spawn(move || insert(address, number, progress));
        let threads: Vec<_> = (0..CLIENTS).map(start).collect();
        for _ in 0..2 {
            await_more(progress);
            database.kill().unwrap();
            eventually("a lost client", || {
                (progress.lost.load(Ordering::Relaxed) > 0).then_some(())
            });
            database.restart().unwrap();
            await_more(progress);
        }
        progress.stop.store(true, Ordering::Relaxed);
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    let found = database
        .execute("SELECT id FROM outage.t ORDER BY id")
        .unwrap();
    let found: BTreeSet<u64> = found.lines().map(|id| id.parse().unwrap()).collect();
    for ids in &ids {
        let missing: Vec<_> = ids.acknowledged.difference(&found).collect();
        assert!(
            missing.is_empty(),
            "acknowledged, but not there: {missing:?}"
        );
    }
    let known = ids
        .iter()
        .flat_map(|ids| ids.acknowledged.union(&ids.unknown));
    let known: BTreeSet<u64> = known.copied().collect();
    assert!(found.is_subset(&known), "{:?}", found.difference(&known));
    assert!(found.len() >= 2000, "{}", found.len());
    // Only those who worked on one of eight connections can have lost something, twice.
    let unknown: usize = ids.iter().map(|ids| ids.unknown.len()).sum();
    assert!(unknown <= 16, "{unknown}");
    let mut client = Client::new(&address, "outage");
    assert_eq!(
        client.value("SELECT COUNT(*) FROM t"),
        found.len().to_string()
    );
    drop(client);
    drop(door);
    database.stop().unwrap();
}
