//! Those who come through load balancers, and those who do not belong: real addresses, refusals, and what is
//! remembered of who fails.

use std::io::{self, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};

use crate::support::{Address, Client, Database, FrontDoor, Login, Outcome, eventually};

const DRIVERS: [&str; 2] = ["epoll", "io_uring"];
const TRUSTED: &str = "proxy_protocol.networks = [\"127.0.0.0/8\"]";
const LINE: &[u8] = b"PROXY TCP4 10.1.2.3 127.0.0.1 5555 3306\r\n";

/// The same in the second version, with a value that nobody here knows.
fn binary() -> Vec<u8> {
    let addresses = [10, 1, 2, 3, 127, 0, 0, 1, 0x15, 0xb3, 0x0c, 0xea];
    let more = [0x04, 0, 2, b'x', b'y'];
    let len = [0, 17];
    [
        &b"\r\n\r\n\0\r\nQUIT\n\x21\x11"[..],
        &len,
        &addresses,
        &more,
    ]
    .concat()
}

/// A load balancer that puts a header, in two pieces, ahead of each connection.
fn balancer(door: SocketAddr, header: &[u8]) -> Address {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let header = header.to_vec();
    // It ends with the test's process.
    std::thread::spawn(move || {
        for client in listener.incoming() {
            pass_on(client.unwrap(), door, &header).unwrap();
        }
    });
    Address::Tcp(address)
}

fn pass_on(client: TcpStream, door: SocketAddr, header: &[u8]) -> io::Result<()> {
    let mut door = TcpStream::connect(door)?;
    door.set_nodelay(true)?;
    client.set_nodelay(true)?;
    let (first, second) = header.split_at(7.min(header.len()));
    door.write_all(first)?;
    door.write_all(second)?;
    let (mut from_client, mut to_client) = (client.try_clone()?, client);
    let mut to_door = door.try_clone()?;
    std::thread::spawn(move || {
        let _ended = io::copy(&mut from_client, &mut to_door);
        let _gone = to_door.shutdown(Shutdown::Both);
    });
    std::thread::spawn(move || {
        let _ended = io::copy(&mut door, &mut to_client);
        let _gone = to_client.shutdown(Shutdown::Both);
    });
    Ok(())
}

#[test]
fn a_load_balancer_is_believed_over_either_driver() {
    let database = Database::shared();
    for driver in DRIVERS {
        let driver = format!("server.driver = {driver:?}");
        let door = FrontDoor::start(database.address(), &[&driver, TRUSTED]);
        let made = std::fs::read(door.folder().join("myriad-auto-cert.pem")).unwrap();
        for header in [LINE, &binary()] {
            let address = balancer(door.tcp(), header);
            let mut plain = Client::login(&address, &Login::to("shop")).unwrap();
            assert_eq!(plain.value("SELECT 1"), "1");
            let over_tls = Client::login_over_tls(&address, &Login::to("shop"), &made);
            assert_eq!(over_tls.unwrap().value("SELECT 2"), "2");
            let sessions = door.http("/api/sessions");
            assert!(sessions.contains("10.1.2.3:5555"), "{driver}: {sessions}");
            let wrong = Login {
                password: "wrong",
                ..Login::default()
            };
            let refused = Client::login(&address, &wrong).map(drop);
            let Err(Outcome::Err(1045, text)) = refused else {
                panic!("{refused:?}");
            };
            assert!(text.contains("'app'@'10.1.2.3'"), "{text}");
        }
        // Without a header, as its own client.
        let address = Address::Tcp(door.tcp());
        let mut own = Client::login(&address, &Login::to("shop")).unwrap();
        assert_eq!(own.value("SELECT 3"), "3");
        assert_eq!(door.metric("myriad_proxy_headers_total"), 6, "{driver}");
    }
}

#[test]
fn nobody_else_is_believed_and_the_log_says_so() {
    let database = Database::shared();
    for driver in DRIVERS {
        let driver = format!("server.driver = {driver:?}");
        let elsewhere = "proxy_protocol.networks = [\"10.0.0.0/8\"]";
        let door = FrontDoor::start(database.address(), &[&driver, elsewhere]);
        for header in [LINE, &binary()] {
            let (mut client, _) = Client::connect(&balancer(door.tcp(), header)).unwrap();
            let told = client.receive().unwrap().payload;
            let told = wire::ErrPacket::parse(&told).unwrap();
            assert_eq!(told.code, 1130);
            assert_eq!(told.message, b"Proxy header is not accepted from localhost");
        }
        door.await_log("a PROXY header is not accepted");
        assert_eq!(door.metric("myriad_proxy_headers_refused_total"), 2);
    }
}

#[test]
fn an_address_where_handshakes_break_is_blocked_until_hosts_are_flushed() {
    let database = Database::shared();
    let settings = ["server.max_connect_errors = 3", TRUSTED];
    let door = FrontDoor::start(database.address(), &settings);
    let address = balancer(door.tcp(), LINE);
    let block = || {
        for _ in 0..3 {
            let counted = |name: &str| door.metric(&format!("myriad_{name}_total"));
            let grows = |name: &str, before: u64| {
                eventually(name, || (counted(name) > before).then_some(()));
            };
            let before = ["proxy_headers", "handshakes_broken"].map(counted);
            // The greeting comes before anybody has read the header, which a reset would take away.
            let (mut client, _) = Client::connect(&address).unwrap();
            grows("proxy_headers", before[0]);
            client.send_bytes(b"\x20\0\0\x01\x0d");
            drop(client);
            grows("handshakes_broken", before[1]);
        }
        let (mut client, _) = Client::connect(&address).unwrap();
        let told = client.receive().unwrap().payload;
        let told = wire::ErrPacket::parse(&told).unwrap();
        let text = String::from_utf8_lossy(told.message);
        assert_eq!(told.code, 1129);
        assert!(
            text.starts_with("Host '10.1.2.3' is blocked because of many"),
            "{text}"
        );
    };
    block();
    let flush = |address: &Address, user, password| {
        let login = Login {
            user,
            password,
            ..Login::default()
        };
        Client::login(address, &login).unwrap().run("FLUSH HOSTS")
    };
    door.await_log("address blocked");
    assert_eq!(door.metric("myriad_hosts_blocked"), 1);
    let sql = Address::Tcp(door.sql());
    let administrator = Login {
        user: "root",
        password: "hush",
        ..Login::default()
    };
    let mut administrator = Client::login(&sql, &administrator).unwrap();
    let hosts = administrator.run("SHOW HOSTS");
    let row = ["10.1.2.3", "3", "1"].map(str::to_owned);
    assert_eq!(hosts, [Outcome::Rows(vec![row.into()])]);
    for flush in ["FLUSH HOSTS '10.1.2.3'", "FLUSH HOSTS"] {
        let flushed = administrator.run(flush);
        assert!(matches!(flushed[..], [Outcome::Ok(..)]), "{flushed:?}");
        assert!(Client::login(&address, &Login::default()).is_ok());
        block();
    }
    // Only who may, and where the server has the statement.
    let refused = flush(&door.address(), "app", "secret");
    assert!(matches!(refused[..], [Outcome::Err(..)]), "{refused:?}");
    assert_eq!(door.metric("myriad_hosts_failed"), 1);
    if crate::support::Server::is_mariadb() {
        let flushed = flush(&door.address(), "admin", "all");
        assert!(matches!(flushed[..], [Outcome::Ok(..)]), "{flushed:?}");
        assert!(Client::login(&address, &Login::default()).is_ok());
        block();
        assert_eq!(refresh(&door, "app", "secret"), Some(1227));
        assert_eq!(door.metric("myriad_hosts_failed"), 1);
        assert_eq!(refresh(&door, "admin", "all"), None);
        assert!(Client::login(&address, &Login::default()).is_ok());
    }
}

#[test]
fn a_health_check_that_connects_and_closes_blocks_nobody() {
    let database = Database::shared();
    for driver in DRIVERS {
        let driver = format!("server.driver = {driver:?}");
        let settings = [&driver, "server.max_connect_errors = 3", TRUSTED];
        let door = FrontDoor::start(database.address(), &settings);
        let probes = || door.metric("myriad_client_probes_total");
        // Whoever waited for the front door has looked in, too.
        eventually("the first", || (probes() == 1).then_some(()));
        // The address of each check is not the load balancer's own.
        let address = balancer(door.tcp(), LINE);
        for checks in 1..=10 {
            let (check, _) = Client::connect(&address).unwrap();
            eventually("the header", || {
                (door.metric("myriad_proxy_headers_total") == checks).then_some(())
            });
            drop(check);
            eventually("the end of the check", || {
                assert_eq!(door.metric("myriad_handshakes_broken_total"), 0);
                (probes() == 1 + checks).then_some(())
            });
        }
        assert!(Client::login(&address, &Login::default()).is_ok());
        assert_eq!(door.metric("myriad_handshakes_broken_total"), 0);
        assert_eq!(door.metric("myriad_hosts_failed"), 0);
    }
}

/// `mysqladmin flush-hosts`: the error that it gets, if it gets one.
fn refresh(door: &FrontDoor, user: &str, password: &str) -> Option<u16> {
    let login = Login {
        user,
        password,
        ..Login::default()
    };
    let mut client = Client::login(&door.address(), &login).unwrap();
    client.send(0x07, &[0x08]);
    let outcomes = client.answer().unwrap().outcomes();
    match outcomes[..] {
        [Outcome::Ok(..)] => None,
        [Outcome::Err(code, _)] => Some(code),
        _ => panic!("{outcomes:?}"),
    }
}

#[test]
fn wrong_passwords_are_told_late_and_right_ones_are_not() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &[TRUSTED]);
    let address = balancer(door.tcp(), LINE);
    // One of them is forgotten every two seconds.
    for _ in 0..6 {
        let wrong = Login {
            password: "wrong",
            ..Login::default()
        };
        let refused = Client::login(&address, &wrong).map(drop);
        assert!(matches!(refused, Err(Outcome::Err(1045, _))), "{refused:?}");
    }
    assert!(Client::login(&address, &Login::default()).is_ok());
    assert!(door.metric("myriad_denials_delayed_total") > 0);
    assert_eq!(door.metric("myriad_logins_denied_total"), 6);
}

#[test]
fn memory_is_kept_out_of_swap_space_where_that_is_asked_for() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &["server.memlock = \"on\""]);
    assert!(door.memory("VmLck") > 1 << 20, "{}", door.memory("VmLck"));
    let door = FrontDoor::start(database.address(), &[]);
    assert_eq!(door.memory("VmLck"), 0);
}
