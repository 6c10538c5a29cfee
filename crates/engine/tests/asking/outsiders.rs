//! Those who do not belong: wrong passwords are told later and later, broken handshakes block an address, and who
//! says to be somebody else's load balancer is believed only if it is known.

use std::net::Ipv4Addr;
use std::sync::Arc;

use engine::{Mail, Network, Settings};
use events::{Handle, Handler, HangUp, Span, Tag};
use wire::{ErrPacket, whole_packet};

use crate::stage::{BALANCER, EXEMPT, SECRET, Stage, Told};

const HERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const THERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

/// A wrong password, up to the point where the database has been asked about it.
fn mistake(stage: &mut Stage, ip: Ipv4Addr, user: &str) -> (Handle, Tag) {
    let client = stage.log_in_from(ip, user, "wrong");
    let orders = stage.take_orders();
    stage.answer(&orders, true);
    client
}

/// Goes on to the next time at which something is due.
fn next_timer(stage: &mut Stage) {
    let due = stage.engine.next_timer().unwrap();
    stage.now = stage.now.max(due);
    stage.engine.timer(&mut stage.wire, stage.now);
    stage.turn();
}

fn known() -> Stage {
    let mut stage = Stage::new();
    stage.publish(&[("app", SECRET)]);
    stage
}

#[test]
fn wrong_passwords_wait_and_right_ones_never_do() {
    let mut stage = known();
    for user in ["app", "eve", "app"] {
        let (client, _) = mistake(&mut stage, HERE, user);
        assert!(matches!(stage.told(client), Told::Err(1045, _)), "{user}");
    }
    let (late, tag) = mistake(&mut stage, HERE, "eve");
    assert_eq!(stage.told(late), Told::Nothing);
    let (right, _) = stage.log_in_from(HERE, "app", "secret");
    assert_eq!(stage.told(right), Told::Ok, "from the same address");
    let (elsewhere, _) = mistake(&mut stage, THERE, "app");
    assert!(matches!(stage.told(elsewhere), Told::Err(1045, _)));
    // Whatever it says meanwhile is not an answer's matter.
    stage
        .engine
        .received(&mut stage.wire, tag, &[7; 1_000], stage.now);
    stage.turn();
    assert_eq!(stage.told(late), Told::Nothing);
    let begun = stage.now;
    while !stage.wire.has_closed(late) {
        assert_eq!(stage.told(late), Told::Nothing);
        next_timer(&mut stage);
    }
    assert_eq!(stage.now - begun, Span::from_ms(100));
    assert!(matches!(stage.told(late), Told::Err(1045, _)));
}

#[test]
fn who_waits_for_a_refusal_may_leave_and_too_many_are_told_early() {
    let mut stage = known();
    for _ in 0..30 {
        mistake(&mut stage, HERE, "app");
    }
    let (gone, tag) = mistake(&mut stage, HERE, "app");
    let now = stage.now;
    stage
        .engine
        .hung_up(&mut stage.wire, tag, HangUp::Closed, now);
    stage.turn();
    assert!(stage.wire.has_closed(gone));
    let closed = stage.wire.closed.len();
    for _ in 0..1_500 {
        mistake(&mut stage, HERE, "app");
    }
    // What waits is bounded: 1,024 of them, one of whom has left.
    let told = stage.wire.closed.len() - closed;
    assert!((450..520).contains(&told), "{told}");
    let (right, _) = stage.log_in_from(HERE, "app", "secret");
    assert_eq!(stage.told(right), Told::Ok);
}

#[test]
fn broken_handshakes_block_an_address_until_it_is_forgiven() {
    let mut stage = known();
    let here = |stage: &mut Stage| stage.log_in_from(HERE, "app", "secret");
    for _ in 0..4 {
        begin_and_leave(&mut stage, HERE);
    }
    let (client, _) = here(&mut stage);
    assert_eq!(stage.told(client), Told::Ok, "and they begin to count anew");
    for _ in 0..5 {
        begin_and_leave(&mut stage, HERE);
    }
    let (client, _) = here(&mut stage);
    let Told::Err(1129, text) = stage.told(client) else {
        panic!("it was let in");
    };
    assert!(
        text.starts_with("Host '10.0.0.1' is blocked because of"),
        "{text}"
    );
    let (client, _) = stage.log_in_from(THERE, "app", "secret");
    assert_eq!(stage.told(client), Told::Ok);
    stage.shared.flush_hosts();
    let (client, _) = here(&mut stage);
    assert_eq!(stage.told(client), Told::Ok);
}

/// Connects, is greeted, begins to answer, and hangs up.
fn begin_and_leave(stage: &mut Stage, ip: Ipv4Addr) {
    leave_after(stage, ip, b"\x20\0\0\x01\x0d");
}

/// Connects, is greeted, says that, and hangs up.
fn leave_after(stage: &mut Stage, ip: Ipv4Addr, said: &[u8]) {
    let (_, tag) = stage.connect_from(ip);
    if !said.is_empty() {
        stage.say(tag, said);
    }
    let now = stage.now;
    stage
        .engine
        .hung_up(&mut stage.wire, tag, HangUp::Closed, now);
    stage.turn();
}

/// The error that a client was told.
fn error(stage: &mut Stage, client: Handle) -> (u16, String) {
    let bytes = stage.wire.take(client);
    let packet = whole_packet(&bytes).unwrap();
    let error = ErrPacket::parse(packet.payload.bytes()).unwrap();
    (
        error.code,
        String::from_utf8_lossy(error.message).into_owned(),
    )
}

#[test]
fn a_client_that_only_connects_and_closes_is_no_failed_login() {
    let mut stage = known();
    for _ in 0..1_000 {
        leave_after(&mut stage, HERE, b"");
    }
    let (client, _) = stage.log_in_from(HERE, "app", "secret");
    assert_eq!(stage.told(client), Told::Ok);
    let counters = stage.engine.report().counters;
    let counted = (counters.client_probes, counters.handshakes_broken);
    assert_eq!(counted, (1_000, 0));
}

#[test]
fn networks_are_exempt_from_blocks() {
    let mut stage = known();
    let exempt = Ipv4Addr::from(u32::from(EXEMPT) + 7);
    for _ in 0..1_000 {
        begin_and_leave(&mut stage, exempt);
    }
    let (client, _) = stage.log_in_from(exempt, "app", "secret");
    assert_eq!(stage.told(client), Told::Ok);
    assert_eq!(stage.engine.report().counters.handshakes_broken, 1_000);
}

#[test]
fn a_network_that_becomes_exempt_is_not_blocked_any_more() {
    let mut stage = known();
    for _ in 0..5 {
        begin_and_leave(&mut stage, HERE);
        begin_and_leave(&mut stage, THERE);
    }
    stage.deliver(Mail::SettingsChanged(Arc::new(Settings {
        connect_errors_exempt: vec![Network::Ip(HERE.into(), 32)],
        max_connect_errors: Some(5),
        ..Settings::default()
    })));
    let (client, _) = stage.log_in_from(HERE, "app", "secret");
    assert_eq!(stage.told(client), Told::Ok);
    let (client, _) = stage.log_in_from(THERE, "app", "secret");
    assert!(matches!(stage.told(client), Told::Err(1129, _)));
    assert!(stage.shared.flush_host(THERE.into()));
    let (client, _) = stage.log_in_from(THERE, "app", "secret");
    assert_eq!(stage.told(client), Told::Ok);
}

#[test]
fn a_load_balancer_says_who_the_client_is() {
    let header = b"PROXY TCP4 10.0.0.2 10.9.9.9 1111 3306\r\n";
    // However the header comes, and together with what follows or alone.
    for cut in [1, 5, 11, header.len() - 1, header.len()] {
        let mut stage = known();
        let (client, tag) = stage.connect_from(BALANCER);
        stage.say(tag, &header[..cut]);
        assert_eq!(stage.told(client), Told::Nothing);
        stage.say(tag, &header[cut..]);
        stage.respond(tag, ("eve", "wrong"));
        let orders = stage.take_orders();
        stage.answer(&orders, true);
        let (code, text) = error(&mut stage, client);
        assert_eq!(code, 1045);
        assert!(text.contains("'eve'@'10.0.0.2'"), "{text}");
    }
    // A second header is none.
    let mut stage = known();
    let (client, tag) = stage.connect_from(BALANCER);
    stage.say(tag, &[&header[..], header].concat());
    assert_eq!(error(&mut stage, client).0, 1043);
}

#[test]
fn a_load_balancer_may_say_nothing_or_speak_for_itself() {
    let local = [b"\r\n\r\n\0\r\nQUIT\n\x20\0".as_slice(), &[0, 0]].concat();
    for header in [&b""[..], b"PROXY UNKNOWN\r\n", &local] {
        let mut stage = known();
        let (client, tag) = stage.connect_from(BALANCER);
        stage.say(tag, header);
        stage.respond(tag, ("eve", "wrong"));
        let orders = stage.take_orders();
        stage.answer(&orders, true);
        let (_, text) = error(&mut stage, client);
        assert!(text.contains("'eve'@'10.9.9.9'"), "{text}");
    }
}

#[test]
fn nobody_else_is_believed() {
    let mut stage = known();
    let (client, tag) = stage.connect_from(HERE);
    stage.say(tag, b"PROXY TCP4 10.0.0.2 10.9.9.9 1111 3306\r\n");
    let (code, text) = error(&mut stage, client);
    assert_eq!(
        (code, &*text),
        (1130, "Proxy header is not accepted from 10.0.0.1")
    );
    assert!(stage.wire.has_closed(client));
    let (client, tag) = stage.connect_from(BALANCER);
    stage.say(tag, b"PROXY TCP4 10.0.0.2\r\n");
    assert_eq!(
        error(&mut stage, client),
        (1105, "Failed to parse proxy header".to_owned())
    );
}

#[test]
fn who_is_behind_a_load_balancer_is_counted_by_itself() {
    let mut stage = known();
    let header = b"PROXY TCP4 10.0.0.2 10.9.9.9 1111 3306\r\n";
    let begun = [header.as_slice(), b"\x20"].concat();
    for _ in 0..5 {
        begin_and_leave(&mut stage, BALANCER);
        leave_after(&mut stage, BALANCER, header);
    }
    for _ in 0..5 {
        let (client, tag) = stage.connect_from(BALANCER);
        stage.say(tag, header);
        assert!(!stage.wire.has_closed(client), "probes are not counted");
        leave_after(&mut stage, BALANCER, &begun);
    }
    let (client, tag) = stage.connect_from(BALANCER);
    stage.say(tag, header);
    assert_eq!(error(&mut stage, client).0, 1129);
    let (client, _) = stage.log_in_from(BALANCER, "app", "secret");
    assert_eq!(stage.told(client), Told::Ok, "the balancer itself");
}
