//! Memory for commands that have not come completely: an account that has its share waits, others do not, and whoever
//! does not go on is ended.

use allocation_counter::measure;
use engine::{Mail, Settings, Shared};
use events::{Handle, Handler, HangUp, Span, Tag};
use wire::Command;

use super::stage::{OTHER, SECRET, Stage, Told, command, ok, query};
use super::steady::Session;

pub(crate) const MIB: usize = 1 << 20;

/// Room for two large commands of an account, and for two of others besides.
pub(crate) fn stage() -> Stage {
    stage_with(settings())
}

fn stage_with(settings: Settings) -> Stage {
    let shared = Shared::new(1, 8);
    let mut stage = Stage::of_worker((&shared, 0), settings);
    stage.publish(&[("app", SECRET), ("other", OTHER)]);
    stage
}

fn settings() -> Settings {
    Settings {
        max_allowed_packet: MIB,
        command_buffer_total: 8 * MIB,
        client_read_timeout: Span::from_secs(60),
        queue_timeout: Span::from_secs(30),
        ..Settings::default()
    }
}

pub(crate) fn client(stage: &mut Stage, user: &str) -> (Handle, Tag) {
    let password = if user == "app" { "secret" } else { "other" };
    let client = stage.log_in(user, password);
    assert_eq!(stage.told(client.0), Told::Ok);
    client
}

/// The first bytes of a command of so many.
pub(crate) fn begin(stage: &mut Stage, client: (Handle, Tag), len: usize) {
    let [a, b, c, ..] = len.to_le_bytes();
    let mut bytes = vec![a, b, c, 0, Command::Query as u8];
    bytes.resize(100, b'x');
    stage.say(client.1, &bytes);
}

fn leave(stage: &mut Stage, client: (Handle, Tag)) {
    let (wire, now) = (&mut stage.wire, stage.now);
    stage.engine.hung_up(wire, client.1, HangUp::Closed, now);
    stage.turn();
}

fn pass(stage: &mut Stage, span: Span) {
    stage.now = stage.now + span;
    if stage.engine.next_timer().is_some_and(|at| at <= stage.now) {
        stage.engine.timer(&mut stage.wire, stage.now);
    }
    stage.turn();
}

fn code(told: &Told) -> Option<u16> {
    match told {
        Told::Err(code, _) => Some(*code),
        _ => None,
    }
}

#[test]
fn an_account_that_has_its_share_waits_and_others_do_not() {
    // With two commands of its own and one of another an account leaves free as much as it has.
    let mut stage = stage_with(Settings {
        command_buffer_total: 10 * MIB,
        ..settings()
    });
    let app: Vec<_> = (0..4).map(|_| client(&mut stage, "app")).collect();
    for &client in &app {
        begin(&mut stage, client, MIB - 100);
    }
    let paused: Vec<_> = app
        .iter()
        .map(|c| stage.wire.paused.contains(&c.0))
        .collect();
    assert_eq!(paused, [false, false, true, true]);
    let other = client(&mut stage, "other");
    begin(&mut stage, other, MIB - 100);
    assert!(!stage.wire.paused.contains(&other.0));
    assert!(stage.shared.command_memory().0 <= 10 * MIB);
    assert_eq!(stage.shared.command_memory().1, 2);
    leave(&mut stage, app[0]);
    assert!(!stage.wire.paused.contains(&app[2].0), "the next goes on");
    assert!(stage.wire.paused.contains(&app[3].0));
    for client in [app[1], app[2], app[3], other] {
        leave(&mut stage, client);
    }
    assert_eq!(stage.shared.command_memory(), (0, 0));
}

#[test]
fn each_worker_serves_those_who_wait_elsewhere() {
    let shared = Shared::new(2, 8);
    let mut here = Stage::of_worker((&shared, 0), settings());
    here.publish(&[("app", SECRET), ("other", OTHER)]);
    let mut there = Stage::of_worker((&shared, 1), settings());
    let first = [client(&mut here, "app"), client(&mut here, "app")];
    for client in first {
        begin(&mut here, client, MIB - 100);
    }
    let second = client(&mut there, "app");
    begin(&mut there, second, MIB - 100);
    assert!(there.wire.paused.contains(&second.0));
    leave(&mut here, first[0]);
    let mail = here.wire.posted.pop().expect("the other worker is told");
    assert!(matches!(mail, Mail::Memory(..)), "{mail:?}");
    there.deliver(mail);
    assert!(!there.wire.paused.contains(&second.0));
}

#[test]
fn short_commands_need_no_memory() {
    let mut stage = stage();
    for _ in 0..100 {
        let client = client(&mut stage, "app");
        begin(&mut stage, client, 4_000);
    }
    assert_eq!(stage.shared.command_memory(), (0, 0));
}

#[test]
fn whoever_is_not_logged_in_has_a_share_with_all_who_are_not() {
    let mut stage = stage();
    let strangers: Vec<_> = (0..100)
        .map(|_| {
            let (handle, tag) = stage.connect();
            stage.wire.take(handle);
            begin(&mut stage, (handle, tag), 60_000);
            (handle, tag)
        })
        .collect();
    let paused = |stage: &Stage, strangers: &[(Handle, Tag)]| {
        let paused = strangers
            .iter()
            .map(|(handle, _)| stage.wire.paused.contains(handle));
        paused.collect::<Vec<_>>()
    };
    // Of 8 MiB, two of the largest commands (1 MiB, and 256 KiB for what unpacks them) are kept for those who go first. Three
    // quarters of the rest are for whole commands, of which an account leaves free as much as it has: 36 × 60,004 bytes.
    let (reading, waiting) = strangers.split_at(36);
    assert_eq!(paused(&stage, reading), [false; 36]);
    assert_eq!(paused(&stage, waiting), [true; 64]);
    assert_eq!(stage.shared.command_memory().1, 64);
    let closed = |&(handle, _): &(Handle, Tag)| stage.wire.has_closed(handle);
    assert!(!strangers.iter().any(closed), "the beginnings of all fit");
    let known = client(&mut stage, "app");
    begin(&mut stage, known, MIB - 100);
    assert!(!stage.wire.paused.contains(&known.0));
    for &stranger in reading {
        leave(&mut stage, stranger);
    }
    let waiting = paused(&stage, waiting);
    assert!(
        !waiting[0] && waiting.is_sorted(),
        "the next go on, in order"
    );
}

#[test]
fn the_memory_of_a_large_command_is_allotted_once() {
    let mut stage = stage();
    let client = client(&mut stage, "app");
    let rest = [b'x'; 60_000];
    let allotted = measure(|| {
        begin(&mut stage, client, MIB - 100);
        for _ in 0..17 {
            stage.say(client.1, &rest);
        }
    });
    assert!(!stage.wire.paused.contains(&client.0));
    let bytes = allotted.bytes_total;
    assert!((MIB as u64..MIB as u64 * 5 / 4).contains(&bytes), "{bytes}");
}

#[test]
fn a_command_that_does_not_go_on_ends() {
    let mut stage = stage();
    let (silent, slow) = (client(&mut stage, "app"), client(&mut stage, "app"));
    begin(&mut stage, silent, 1_000);
    begin(&mut stage, slow, 1_000);
    pass(&mut stage, Span::from_secs(59));
    stage.say(slow.1, b"more");
    pass(&mut stage, Span::from_secs(1));
    assert_eq!(code(&stage.told(silent.0)), Some(1159));
    assert!(stage.wire.has_closed(silent.0) && !stage.wire.has_closed(slow.0));
    pass(&mut stage, Span::from_secs(58));
    assert!(!stage.wire.has_closed(slow.0));
    pass(&mut stage, Span::from_secs(1));
    assert!(stage.wire.has_closed(slow.0));
    // Between commands a client may be silent.
    let idle = client(&mut stage, "app");
    stage.say(idle.1, &query("SHOW WARNINGS"));
    pass(&mut stage, Span::from_secs(100));
    let closed_for = engine::DisconnectReason::ReadTimeout as usize;
    assert_eq!(stage.engine.report().counters.disconnects[closed_for], 2);
}

#[test]
fn a_command_that_is_begun_later_has_all_its_time() {
    let mut stage = stage();
    let client = client(&mut stage, "app");
    let ping = command(Command::Ping as u8, "");
    let (head, rest) = ping.split_at(4);
    for seconds in [0, 30] {
        pass(&mut stage, Span::from_secs(seconds));
        stage.say(client.1, head);
        stage.say(client.1, rest);
        assert_eq!(stage.told(client.0), Told::Ok);
    }
    pass(&mut stage, Span::from_secs(29));
    stage.say(client.1, head);
    pass(&mut stage, Span::from_secs(59));
    assert!(!stage.wire.has_closed(client.0));
    pass(&mut stage, Span::from_secs(1));
    assert!(stage.wire.has_closed(client.0));
}

#[test]
fn whoever_waits_for_memory_is_told_so_in_the_end() {
    let mut stage = stage();
    let app: Vec<_> = (0..3).map(|_| client(&mut stage, "app")).collect();
    for &client in &app {
        begin(&mut stage, client, MIB - 100);
    }
    pass(&mut stage, Span::from_secs(30));
    let told = stage.told(app[2].0);
    assert_eq!(code(&told), Some(1041), "{told:?}");
    assert!(stage.wire.has_closed(app[2].0));
    let counters = stage.engine.report().counters;
    assert_eq!(
        (
            counters.commands_deferred,
            counters.commands_refused_for_memory
        ),
        (1, 1)
    );
}

#[test]
fn a_client_whose_statement_runs_learns_what_became_of_it_though_there_is_no_memory() {
    // None of it is for the beginnings of commands.
    let mut session = Session::with(Settings {
        command_buffer_total: 2 * MIB,
        ..settings()
    });
    let (stage, client, backend) = (&mut session.stage, session.client, session.backend);
    let (write, next) = (query("DELETE FROM t"), query(&"x".repeat(10_000)));
    stage.say(client.1, &write);
    assert_eq!(stage.sent(), write);
    stage.say(client.1, &next[..5_000]);
    assert!(!stage.wire.has_closed(client.0) && stage.wire.paused.contains(&client.0));
    stage.say(backend, &ok(1, 0));
    assert_eq!(stage.told(client.0), Told::Ok);
    assert!(!stage.wire.paused.contains(&client.0));
    stage.say(client.1, &next[5_000..]);
    assert!(stage.sent().ends_with(&next));
    let counters = stage.engine.report().counters;
    assert_eq!(counters.commands_refused_for_memory, 0);
}

#[test]
fn what_layers_hold_back_counts() {
    let mut stage = stage();
    let app: Vec<_> = (0..4).map(|_| client(&mut stage, "app")).collect();
    for client in &app {
        let (wire, now) = (&mut stage.wire, stage.now);
        stage.engine.withheld(wire, client.1, MIB, now);
    }
    let paused: Vec<_> = app
        .iter()
        .map(|c| stage.wire.paused.contains(&c.0))
        .collect();
    assert_eq!(paused, [false, false, true, true]);
    for client in &app {
        let (wire, now) = (&mut stage.wire, stage.now);
        stage.engine.withheld(wire, client.1, 0, now);
    }
    stage.turn();
    assert!(stage.wire.paused.is_empty());
    assert_eq!(stage.shared.command_memory(), (0, 0));
}
