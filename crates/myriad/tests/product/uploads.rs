//! `LOAD DATA LOCAL`: files that clients send faster than the database takes them.

use std::time::Duration;

use wire::{Capabilities, write_packet};

use crate::support::{Client, Database, FrontDoor, Login, Outcome, USUAL};

/// What a front door may need more while a file is held up, which is a quarter of the file: the buffers that a worker
/// receives into, 4 MiB which are its for good once they were used, and what it received in one turn, in a buffer that
/// has grown. Those of the sockets are the kernel's.
const MEMORY_MAX: u64 = 16 << 20;

/// So many packets of so many bytes each.
const PACKETS: usize = 64;
const PACKET: usize = 1 << 20;

/// Bytes of each row of the file, with the one that ends it.
const ROW: usize = 1 << 10;

/// The file in packets, behind the first sequence id, and the empty one that ends it.
fn file(first: u8) -> Vec<u8> {
    let mut row = vec![b'r'; ROW - 1];
    row.push(b'\n');
    let rows = row.repeat(PACKET / ROW);
    let mut bytes = Vec::with_capacity(PACKETS * (PACKET + 4) + 4);
    let mut next = first;
    for _ in 0..PACKETS {
        next = write_packet(&mut bytes, next, &rows);
    }
    write_packet(&mut bytes, next, b"");
    bytes
}

#[test]
fn a_file_is_taken_no_faster_than_the_database_takes_it() {
    let database = Database::shared();
    database.schema("uploads");
    database.execute("CREATE TABLE uploads.t (a VARCHAR(1023)) ENGINE = MyISAM");
    // The first row waits for whoever has the lock.
    database.execute(
        "CREATE TRIGGER uploads.held BEFORE INSERT ON uploads.t FOR EACH ROW \
         SET @held = IF(@held IS NULL, GET_LOCK('uploads', 600) + RELEASE_LOCK('uploads'), 1)",
    );
    database.execute("SET GLOBAL local_infile = 1");
    let mut gate = Client::new(database.address(), "uploads");
    assert_eq!(gate.value("SELECT GET_LOCK('uploads', 0)"), "1");
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 2"]);
    let capabilities = USUAL | Capabilities::CONNECT_WITH_DB | Capabilities::LOCAL_FILES;
    let login = Login {
        capabilities,
        ..Login::to("uploads")
    };
    let mut client = Client::login(&door.address(), &login).unwrap();
    let mut other = Client::new(&door.address(), "uploads");
    assert_eq!(other.value("SELECT COUNT(*) FROM t"), "0");
    client.query("LOAD DATA LOCAL INFILE 'rows' INTO TABLE t");
    let asked = client.receive().unwrap();
    assert_eq!(asked.payload.first(), Some(&0xfb));
    let file = file(asked.sequence_id.wrapping_add(1));
    let before = door.memory("VmRSS");
    let sent = client.sends_until_held(&file, Duration::from_secs(1));
    assert!(sent < file.len() / 2, "{sent} of {} bytes", file.len());
    let peak = door.memory("VmHWM");
    assert!(peak < before + MEMORY_MAX, "{} more", peak - before);
    assert_eq!(other.value("SELECT 'others go on'"), "others go on");
    assert_eq!(gate.value("SELECT RELEASE_LOCK('uploads')"), "1");
    client.send_bytes(&file[sent..]);
    let outcomes = client.answer().unwrap().outcomes();
    assert!(matches!(outcomes[..], [Outcome::Ok(_)]), "{outcomes:?}");
    let rows = PACKETS * PACKET / ROW;
    let whole = format!(
        "SELECT COUNT(*) = {rows} AND MIN(LENGTH(a)) = {} FROM t",
        ROW - 1
    );
    assert_eq!(client.value(&whole), "1");
    let peak = door.memory("VmHWM");
    assert!(peak < before + MEMORY_MAX, "{} more", peak - before);
}
