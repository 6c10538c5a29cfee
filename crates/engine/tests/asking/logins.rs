//! What becomes of those who wait.

use std::net::Ipv4Addr;

use events::{Handle, Handler, Span, Timestamp};

use crate::stage::{OTHER, SECRET, Stage, Told};

#[test]
fn who_is_not_known_waits_until_the_database_was_asked() {
    let mut stage = Stage::new();
    let (client, _) = stage.log_in("app", "secret");
    let orders = stage.take_orders();
    assert_eq!((orders.len(), stage.told(client)), (1, Told::Nothing));
    stage.publish(&[("app", SECRET)]);
    stage.answer(&orders, true);
    assert_eq!(stage.told(client), Told::Ok);
    // Whoever is known need not wait.
    let (client, _) = stage.log_in("app", "secret");
    assert_eq!(
        (stage.told(client), stage.take_orders().len()),
        (Told::Ok, 0)
    );
}

#[test]
fn whoever_is_refused_is_asked_about_once_and_told_the_same() {
    let mut stage = Stage::new();
    stage.publish(&[("app", SECRET)]);
    let mut tell = |user| {
        let (client, _) = stage.log_in(user, "wrong");
        let orders = stage.take_orders();
        assert_eq!((orders.len(), stage.told(client)), (1, Told::Nothing));
        stage.answer(&orders, true);
        assert!(stage.wire.has_closed(client));
        assert_eq!(stage.take_orders().len(), 0);
        stage.told(client)
    };
    let (known, unknown) = (tell("app"), tell("eve"));
    let Told::Err(1045, text) = known else {
        panic!("{known:?}");
    };
    assert_eq!(unknown, Told::Err(1045, text.replace("app", "eve")));
}

#[test]
fn a_password_that_changed_is_the_right_one() {
    let mut stage = Stage::new();
    stage.publish(&[("app", OTHER)]);
    let (client, _) = stage.log_in("app", "secret");
    let orders = stage.take_orders();
    stage.publish(&[("app", SECRET)]);
    stage.answer(&orders, true);
    assert_eq!(stage.told(client), Told::Ok);
    // What is published counts before any mail about it comes.
    stage.publish(&[("app", OTHER)]);
    let (client, _) = stage.log_in("app", "secret");
    assert_eq!(
        (stage.told(client), stage.take_orders().len()),
        (Told::Nothing, 1)
    );
}

#[test]
fn an_answer_is_for_those_who_asked_before() {
    let mut stage = Stage::new();
    let (first, _) = stage.log_in("app", "secret");
    let orders = stage.take_orders();
    let (second, _) = stage.log_in("app", "secret");
    stage.answer(&orders, true);
    assert!(matches!(stage.told(first), Told::Err(1045, _)));
    assert_eq!(stage.told(second), Told::Nothing);
    let orders = stage.take_orders();
    stage.publish(&[("app", SECRET)]);
    stage.answer(&orders, true);
    assert_eq!(stage.told(second), Told::Ok);
}

#[test]
fn many_who_wait_are_dealt_with_in_parts() {
    const MANY: usize = 1_000;
    let mut stage = Stage::new();
    let clients: Vec<_> = (0..MANY).map(|_| stage.log_in("app", "secret").0).collect();
    let orders = stage.take_orders();
    assert_eq!(orders.len(), MANY);
    stage.publish(&[("app", SECRET)]);
    stage.answer(&orders, true);
    let mut parts = 1;
    while let Some(rest) = stage.wire.posted.pop() {
        stage.deliver(rest);
        parts += 1;
    }
    assert!((3..10).contains(&parts), "{parts}");
    for client in clients {
        assert_eq!(stage.told(client), Told::Ok);
    }
}

#[test]
fn who_hangs_up_or_speaks_while_it_waits_is_forgotten() {
    let mut stage = Stage::new();
    let (_, gone) = stage.log_in("app", "secret");
    let (loud, tag) = stage.log_in("app", "secret");
    let orders = stage.take_orders();
    let how = events::HangUp::Closed;
    stage.engine.hung_up(&mut stage.wire, gone, how, stage.now);
    stage
        .engine
        .received(&mut stage.wire, tag, b"\x01\0\0\x03x", stage.now);
    assert!(matches!(stage.told(loud), Told::Err(1043, _)));
    stage.publish(&[("app", SECRET)]);
    stage.answer(&orders, true);
    assert_eq!(stage.told(loud), Told::Nothing);
}

#[test]
fn nobody_waits_for_longer_than_a_login_may_take() {
    let mut stage = Stage::new();
    let (client, _) = stage.log_in("app", "secret");
    stage.now = Timestamp::ZERO + Span::from_secs(10);
    stage.engine.timer(&mut stage.wire, stage.now);
    assert!(stage.wire.has_closed(client));
}

#[test]
fn a_database_that_cannot_be_asked_is_no_reason_to_call_a_password_wrong() {
    let mut stage = Stage::new();
    let tell = |stage: &mut Stage| {
        let (client, _) = stage.log_in("app", "secret");
        let orders = stage.take_orders();
        stage.answer(&orders, false);
        stage.told(client)
    };
    let unread = tell(&mut stage);
    assert!(
        matches!(&unread, Told::Err(1105, text) if text.contains("cannot read")),
        "{unread:?}"
    );
    // What is known holds.
    stage.publish(&[("app", OTHER)]);
    assert!(matches!(tell(&mut stage), Told::Err(1045, _)));
}

#[test]
fn who_dawdles_gives_its_place_to_whoever_comes() {
    const FULL: Told = Told::Err(1040, String::new());
    let told = |stage: &mut Stage, client: Handle| match stage.told(client) {
        Told::Err(code, _) => Told::Err(code, String::new()),
        told => told,
    };
    let mut stage = Stage::with_places(2);
    stage.publish(&[("app", SECRET)]);
    let ((first, _), (second, _)) = (stage.connect(), stage.connect());
    // They may be about to say something.
    let (early, _) = stage.connect();
    assert_eq!(told(&mut stage, early), FULL);
    stage.now = Timestamp::ZERO + Span::from_secs(1);
    assert_eq!(told(&mut stage, first), Told::Greeting);
    let (client, _) = stage.log_in("app", "secret");
    assert_eq!(told(&mut stage, client), Told::Ok);
    assert_eq!(told(&mut stage, first), FULL);
    assert!(stage.wire.has_closed(first) && !stage.wire.has_closed(second));
    // Whoever has logged in needs no place, so one is free; the next has to be given up.
    let (third, _) = stage.connect();
    assert!(!stage.wire.has_closed(second));
    let (fourth, _) = stage.connect();
    assert!(stage.wire.has_closed(second) && !stage.wire.has_closed(third));
    assert_eq!(told(&mut stage, fourth), Told::Greeting);
}

#[test]
fn who_waits_for_the_database_does_not_dawdle() {
    let mut stage = Stage::with_places(2);
    let (asks, _) = stage.log_in("app", "secret");
    let orders = stage.take_orders();
    stage.now = Timestamp::ZERO + Span::from_secs(2);
    let (silent, _) = stage.connect();
    let (early, _) = stage.connect();
    assert!(matches!(stage.told(early), Told::Err(1040, _)));
    stage.now = Timestamp::ZERO + Span::from_secs(3);
    stage.connect();
    let closed: Vec<_> = stage
        .wire
        .closed
        .iter()
        .map(|(handle, _)| *handle)
        .collect();
    assert_eq!(closed, [early, silent]);
    stage.publish(&[("app", SECRET)]);
    stage.answer(&orders, true);
    assert_eq!(stage.told(asks), Told::Ok);
}

#[test]
fn a_client_is_called_what_the_database_calls_it() {
    for (resolves_names, host) in [(true, "localhost"), (false, "127.0.0.1")] {
        let mut stage = Stage::new();
        stage.publish_as_seen(resolves_names);
        let (client, _) = stage.log_in_from(Ipv4Addr::LOCALHOST, "app", "wrong");
        let orders = stage.take_orders();
        stage.answer(&orders, true);
        let Told::Err(1045, text) = stage.told(client) else {
            panic!("it was let in");
        };
        assert!(text.contains(&format!("'app'@'{host}'")), "{text}");
    }
}

#[test]
fn of_two_addresses_neither_takes_all_places() {
    let (here, there) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
    let mut stage = Stage::with_places(4);
    let mut connect = |ip| {
        let (client, _) = stage.connect_from(ip);
        (client, stage.wire.has_closed(client))
    };
    let flood: Vec<_> = (0..4).map(|_| connect(here).0).collect();
    assert!(connect(here).1, "it has all that there are");
    assert_eq!([(); 2].map(|()| connect(there).1), [false, false]);
    assert!(connect(there).1 && connect(here).1, "each has half of them");
    let gone = flood.iter().map(|client| stage.wire.has_closed(*client));
    assert_eq!(gone.collect::<Vec<_>>(), [true, true, false, false]);
}

#[test]
fn those_who_wait_for_a_refusal_do_not_hide_who_dawdles() {
    let mut stage = Stage::with_places(1);
    stage.publish(&[("app", SECRET)]);
    for _ in 0..60 {
        stage.log_in("app", "wrong");
        let orders = stage.take_orders();
        stage.answer(&orders, true);
    }
    let (silent, _) = stage.connect();
    stage.now = Timestamp::ZERO + Span::from_secs(1);
    let (client, _) = stage.log_in("app", "secret");
    assert!(stage.wire.has_closed(silent));
    assert_eq!(stage.told(client), Told::Ok);
}

#[test]
fn whoever_cannot_be_remembered_is_told_so_and_not_let_in() {
    let mut stage = Stage::new().without_locked_memory();
    stage.publish(&[("app", SECRET)]);
    let mut told = |password| {
        let (client, _) = stage.log_in("app", password);
        let orders = stage.take_orders();
        stage.answer(&orders, true);
        assert!(stage.wire.has_closed(client));
        stage.told(client)
    };
    let Told::Err(1041, text) = told("secret") else {
        panic!("let in, or told something else");
    };
    assert!(text.contains("cannot be kept"), "{text}");
    assert!(matches!(told("wrong"), Told::Err(1045, _)));
    assert_eq!(stage.engine.report().counters.secrets_refused, 1);
}
