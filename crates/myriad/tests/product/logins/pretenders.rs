//! Those who only pretend to log in, very many at once: the others are let in, and memory stays bounded.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, SocketType};
use wire::{Capabilities, write_packet};

use super::crowd::how_many;
use crate::support::{Address, Client, Database, FrontDoor, Login, Outcome, eventually};

/// The longest packet that a login may have.
const RESPONSE_MAX: u64 = 80 << 10;

/// What a pretender says, and then no more.
fn lines() -> [Vec<u8>; 5] {
    let mut half = Vec::new();
    write_packet(&mut half, 1, &[0x85; 60]);
    half.truncate(30);
    // All but the end of what is just allowed.
    let mut long = vec![0x00, 0x30, 0x01, 1];
    long.resize(60_000, 0x41);
    // The beginning of what is not.
    let huge = vec![0xff, 0xff, 0xff, 1, 0x85, 0xa6];
    let mut request = Vec::new();
    let tls = Capabilities::SSL | Capabilities::PROTOCOL_41 | Capabilities::SECURE_CONNECTION;
    let mut payload = tls.bits().to_le_bytes().to_vec();
    payload.resize(32, 0);
    write_packet(&mut request, 1, &payload);
    // A record of 16 KiB, of which not all comes.
    request.extend_from_slice(&[0x16, 3, 1, 0x40, 0, 1, 0, 0x3f, 0xfc]);
    request.resize(8_000, 0x42);
    [Vec::new(), half, long, huge, request]
}

/// Where they come from: another address of this machine than others do.
const ELSEWHERE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 9);

fn connect_from(source: Ipv4Addr, door: SocketAddr) -> std::io::Result<TcpStream> {
    let (family, kind) = (AddressFamily::INET, SocketType::STREAM);
    let fd = rustix::net::socket(family, kind, None)?;
    rustix::net::bind(&fd, &SocketAddr::from((source, 0)))?;
    rustix::net::connect(&fd, &door)?;
    Ok(TcpStream::from(fd))
}

/// One of them: it comes back when it is sent away.
struct Pretender {
    stream: Option<TcpStream>,
}

impl Pretender {
    fn connect(door: SocketAddr, line: &[u8]) -> Option<TcpStream> {
        // Ports may be short; the next round tries again.
        let mut stream = connect_from(ELSEWHERE, door).ok()?;
        stream.set_nonblocking(true).unwrap();
        // It may have been sent away already, or what is long may not go at once: it is no honest client.
        let _said = stream.write(line);
        Some(stream)
    }

    /// True if it had to come again.
    fn stay(&mut self, door: SocketAddr, line: &[u8]) -> bool {
        let stays = self.stream.as_mut().is_some_and(|stream| {
            loop {
                match stream.read(&mut [0; 512]) {
                    Ok(0) => break false,
                    Ok(_) => {}
                    Err(error) => break error.kind() == ErrorKind::WouldBlock,
                }
            }
        });
        if !stays {
            self.stream = Self::connect(door, line);
        }
        !stays
    }
}

/// Keeps so many of them there until it is told to end.
fn pretend(door: SocketAddr, many: usize, (ends, came): (&AtomicBool, &AtomicU64)) {
    let lines = lines();
    let mut crowd: Vec<_> = (0..many).map(|_| Pretender { stream: None }).collect();
    while !ends.load(Ordering::Relaxed) {
        for (number, pretender) in crowd.iter_mut().enumerate() {
            let again = pretender.stay(door, &lines[number % lines.len()]);
            came.fetch_add(u64::from(again), Ordering::Relaxed);
        }
    }
}

/// Logs in however often it takes, and says how long that was and how often it was sent away.
fn log_in(address: &Address) -> (Duration, u64) {
    let (begun, mut refused) = (Instant::now(), 0);
    let mut client = eventually("a login", || {
        match Client::login(address, &Login::default()) {
            Ok(client) => Some(client),
            Err(Outcome::Err(1040, _)) => {
                refused += 1;
                None
            }
            Err(other) => panic!("{other:?}"),
        }
    });
    assert_eq!(client.value("SELECT 1"), "1");
    (begun.elapsed(), refused)
}

/// Sets it in the end, also when something fails.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn those_who_pretend_to_log_in_keep_nobody_out() {
    const LOGINS: usize = 200;
    let database = Database::shared();
    let many = how_many(2_000);
    let places = many as u64 / 4;
    let setting = format!("server.max_logins = {places}");
    let door = FrontDoor::start(database.address(), &[&setting]);
    let (address, tcp) = (Address::Tcp(door.tcp()), door.tcp());
    let (ends, came) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut stays = Client::new(&address, "shop");
    let before = door.memory("VmRSS");
    let reason = |reason| door.metric(&format!("myriad_disconnects_total{{reason=\"{reason}\"}}"));
    let in_login = r#"myriad_clients{state="login"}"#;
    std::thread::scope(|scope| {
        scope.spawn(|| pretend(tcp, many, (&ends, &came)));
        let _ends = Ends(&ends);
        eventually("no place that is free", || {
            (reason("too_many_logins") > 0).then_some(())
        });
        let mut all: Vec<_> = (0..LOGINS).map(|_| log_in(&address)).collect();
        assert_eq!(stays.value("SELECT 2"), "2", "who was there before");
        assert!(door.metric(in_login) <= places);
        let away: u64 = all.iter().map(|login| login.1).sum();
        assert_eq!(away, 0, "they have most places, and have to give way");
        assert!(
            reason("malformed") > 0,
            "what is too long is refused at once"
        );
        all.sort_unstable();
        println!(
            "{many} pretenders, who came {} times, {places} places; {LOGINS} logins took {:?} (50 %) and {:?} (99 %), \
             sent away {away} times; RSS {} kB before, {} kB at most",
            came.load(Ordering::Relaxed),
            all[LOGINS / 2].0,
            all[LOGINS * 99 / 100].0,
            before >> 10,
            door.memory("VmHWM") >> 10,
        );
    });
    let more = door.memory("VmHWM").saturating_sub(before);
    assert!(
        more < places * RESPONSE_MAX + (32 << 20),
        "{} kB more",
        more >> 10
    );
    eventually("an empty connection phase", || {
        (door.metric(in_login) == 0).then_some(())
    });
    assert_eq!(Client::new(&address, "shop").value("SELECT 3"), "3");
}
