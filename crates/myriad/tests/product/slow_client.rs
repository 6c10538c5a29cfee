//! Clients that do not take their answers: what they cost, and whom.

use crate::support::{Client, Database, FrontDoor, Outcome, eventually};

/// 1,000 rows of 50 kB.
const LARGE: &str = "SELECT seq, REPEAT(CHAR(97 + seq % 26), 50000) FROM shop.seq_1_to_1000";

/// What a front door may need more while clients are slow.
const MEMORY_MAX: u64 = 8 << 20;

#[test]
fn a_client_that_does_not_read_costs_little_and_gets_everything_in_the_end() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 3"]);
    let mut slow: Vec<_> = (0..2)
        .map(|_| Client::new(&door.address(), "shop"))
        .collect();
    let mut other = Client::new(&door.address(), "shop");
    other.value("SELECT COUNT(*) FROM customer");
    // All three connections are there: nobody waits for one, which would have answers read into memory.
    for sql in ["BEGIN", "COMMIT"] {
        for client in slow.iter_mut().chain([&mut other]) {
            client.run(sql);
        }
    }
    let before = door.memory("VmRSS");
    for client in &mut slow {
        client.query(LARGE);
    }
    eventually("answers that are held back", || {
        (door.metric("myriad_answers_held_total") >= 2).then_some(())
    });
    for number in 0..500 {
        assert_eq!(
            other.value(&format!("SELECT {number} FROM customer LIMIT 1")),
            number.to_string()
        );
    }
    let peak = door.memory("VmHWM");
    assert!(
        peak < before + MEMORY_MAX,
        "{} kB more",
        (peak - before) >> 10
    );
    for client in &mut slow {
        let outcomes = client.answer().unwrap().outcomes();
        let [Outcome::Rows(rows)] = &outcomes[..] else {
            panic!("no rows")
        };
        assert_eq!(rows.len(), 1000);
        for (number, row) in (1..).zip(rows) {
            let letter = char::from(b'a' + (number % 26) as u8);
            assert_eq!(row[0], number.to_string());
            assert!(
                row[1].len() == 50_000 && row[1].chars().all(|c| c == letter),
                "{number}"
            );
        }
        assert_eq!(client.value("SELECT 'done'"), "done");
    }
    let peak = door.memory("VmHWM");
    assert!(
        peak < before + MEMORY_MAX,
        "{} kB more",
        (peak - before) >> 10
    );
}

#[test]
fn a_client_that_takes_nothing_for_too_long_is_closed() {
    let database = Database::shared();
    let settings = [
        "backend.max_connections = 1",
        "server.client_write_timeout = \"1s\"",
        // Its answer does not fit into memory.
        "server.answer_buffer_total = \"1MiB\"",
    ];
    let door = FrontDoor::start(database.address(), &settings);
    let mut slow = Client::new(&door.address(), "shop");
    slow.query(LARGE);
    let mut other = Client::new(&door.address(), "shop");
    // Waits for the only connection.
    assert_eq!(other.value("SELECT COUNT(*) FROM product"), "40");
    assert_eq!(
        door.metric("myriad_disconnects_total{reason=\"write_timeout\"}"),
        1
    );
    assert!(slow.answer().is_err());
}

#[test]
fn hanging_up_in_the_middle_of_a_large_answer_leaves_nothing_behind() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 2"]);
    for round in 0..6 {
        let mut clients: Vec<_> = (0..2)
            .map(|_| Client::new(&door.address(), "shop"))
            .collect();
        for client in &mut clients {
            client.query(LARGE);
            for _ in 0..round {
                client.receive().unwrap();
            }
        }
        drop(clients);
        let mut next = Client::new(&door.address(), "shop");
        assert_eq!(next.value("SELECT COUNT(*) FROM customer"), "200");
        assert_eq!(next.run("SELECT 1; SELECT 2").len(), 2);
    }
    eventually("all backend connections idle", || {
        let of = |state| door.metric(&format!("myriad_backends{{state=\"{state}\"}}"));
        (of("active") + of("resetting") + of("connecting") == 0).then_some(())
    });
    assert!(door.metric("myriad_backend_slots_taken") <= 2);
    eventually("no client", || {
        (door.metric("myriad_clients{state=\"idle\"}") == 0).then_some(())
    });
}
