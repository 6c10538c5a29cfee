//! What a worker does with answers, with errors, with lost connections and with time.

mod bench;

use std::time::Duration;

use events::Span;
use wire::{Capabilities, write_packet};

pub(crate) use self::bench::plan;
use self::bench::{Bench, LATER, NOW, OK};
use super::*;
use crate::answer::tests::result_set;
use crate::plan::{OnTimeout, Pacing, Patience};
use crate::script::Script;
use crate::workload::{Rows, Workload};

#[test]
fn an_answer_counts_once_wherever_it_is_cut() {
    for eof in [Capabilities::empty(), Capabilities::DEPRECATE_EOF] {
        let mut bench = Bench::at_work(Workload::Token, eof);
        let len = bench.echo(!eof.is_empty()).len();
        for cut in 1..len {
            let mut bench = Bench::at_work(Workload::Token, eof);
            let answer = bench.echo(!eof.is_empty());
            assert_eq!(answer.len(), len);
            bench.receive(0, &answer[..cut]);
            assert_eq!((bench.tally().statements(), bench.sent().len()), (0, 0));
            bench.receive(0, &answer[cut..]);
            assert_eq!(
                (bench.tally().statements(), bench.tally().wrong_answers),
                (1, 0)
            );
            assert_eq!(bench.tally().latencies_us.max_us(), 700);
            assert!(bench.sent().starts_with(b"\x03SELECT 'c0-s2-"));
        }
    }
}

#[test]
fn nothing_is_kept_between_answers() {
    let mut bench = Bench::at_work(Workload::Token, Capabilities::DEPRECATE_EOF);
    for _ in 0..3 {
        for byte in bench.echo(true) {
            bench.receive(0, &[byte]);
        }
        let key = Key::from_bits(bench.io.connects[0].0);
        let connection = bench.generator.connections.get_mut(key).unwrap();
        assert_eq!(connection.partial.capacity(), 0);
    }
    assert_eq!(bench.tally().statements(), 3);
}

#[test]
fn wrong_answers_and_errors_count_and_the_loop_goes_on() {
    let mut bench = Bench::at_work(Workload::Token, Capabilities::DEPRECATE_EOF);
    bench.receive(0, &result_set(&[Some(b"stray")], true));
    bench.packet(0, 1, b"\xff\xca\x04#42000later");
    assert_eq!(
        (bench.tally().statements(), bench.tally().wrong_answers),
        (0, 1)
    );
    assert_eq!(bench.tally().errors_text(), "1 × 1226 (later)");
    let described = &bench.tally().described[0];
    assert!(described.starts_with("connection 0: stray instead of c0-s1-"));
    assert!(bench.io.closes.is_empty());
}

#[test]
fn a_broken_protocol_costs_the_connection() {
    let mut bench = Bench::at_work(Workload::Token, Capabilities::DEPRECATE_EOF);
    bench.packet(0, 9, OK);
    assert_eq!(
        (bench.tally().wrong_answers, bench.tally().reconnects),
        (1, 1)
    );
    assert_eq!(bench.io.closes, [(Handle(1), Close::Abort)]);
    bench.turn(NOW);
    assert_eq!(bench.io.connects.len(), 2);
}

#[test]
fn a_lost_connection_is_made_again_and_goes_on() {
    let mut bench = Bench::at_work(Workload::Token, Capabilities::DEPRECATE_EOF);
    bench.receive(0, b"\x01\0");
    let tag = bench.io.connects[0];
    bench
        .generator
        .hung_up(&mut bench.io, tag, HangUp::Closed, NOW);
    bench.turn(NOW);
    bench.log_in(1, Capabilities::DEPRECATE_EOF);
    assert_eq!((bench.tally().reconnects, bench.tally().logins), (1, 2));
    assert!(bench.tally().errors.is_empty());
    assert_eq!(bench.generator.connections.open(0), 1);
}

#[test]
fn no_more_logins_at_once_than_allowed() {
    let mut bench = Bench::new(Workload::Idle, 5, 2);
    assert_eq!(bench.io.connects.len(), 2);
    assert_eq!(bench.generator.next_timer(), None);
    bench.log_in(0, Capabilities::empty());
    bench.turn(NOW);
    assert_eq!(bench.io.connects.len(), 3);
    // After a refusal the next one waits a moment.
    bench.packet(1, 0, b"\xff\x10\x04Too many connections");
    bench.turn(NOW);
    assert_eq!(bench.io.connects.len(), 3);
    bench.turn(bench.generator.next_timer().unwrap());
    assert_eq!(bench.io.connects.len(), 4);
    assert_eq!(
        bench.tally().errors_text(),
        "1 × 1040 (Too many connections)"
    );
}

#[test]
fn a_limit_of_this_process_ends_the_run() {
    let mut bench = Bench::new(Workload::Idle, 1, 1);
    let tag = bench.io.connects[0];
    let error = ConnectError::Os(24);
    bench
        .generator
        .connect_failed(&mut bench.io, tag, error, NOW);
    assert!(bench.generator.finished());
    let failure = bench.generator.failure.take();
    assert!(matches!(
        failure,
        Some(LoadError::NoDescriptor { open: 0, .. })
    ));
}

#[test]
fn at_the_end_answers_are_awaited_for_a_while() {
    let mut bench = Bench::at_work(Workload::Token, Capabilities::DEPRECATE_EOF);
    let answer = bench.echo(true);
    bench.mail(Mail::Stop);
    assert!(!bench.generator.finished());
    let deadline = bench.generator.next_timer().unwrap();
    assert_eq!(deadline, NOW + Span::from_secs(10));
    bench.receive(0, &answer);
    assert_eq!(
        (bench.sent(), bench.tally().statements()),
        (b"\x01".to_vec(), 1)
    );
    assert_eq!(bench.io.closes, [(Handle(1), Close::Flush)]);
    assert!(bench.generator.finished());

    let mut bench = Bench::at_work(Workload::Token, Capabilities::DEPRECATE_EOF);
    bench.mail(Mail::Stop);
    bench.generator.timer(&mut bench.io, deadline);
    assert_eq!(bench.tally().unanswered, 1);
    assert!(bench.generator.finished());
}

#[test]
fn the_idle_are_asked_at_the_end_whether_they_live() {
    let mut bench = Bench::at_work(Workload::Idle, Capabilities::DEPRECATE_EOF);
    assert!(bench.sent().is_empty());
    bench.mail(Mail::Stop);
    assert_eq!(bench.sent(), b"\x0e");
    bench.packet(0, 1, OK);
    assert_eq!(bench.sent(), b"\x01");
    assert_eq!(bench.tally().wrong_answers, 0);
    assert!(bench.generator.finished());
}

#[test]
fn words_before_the_end_are_counted() {
    let mut bench = Bench::at_work(Workload::Idle, Capabilities::DEPRECATE_EOF);
    bench.packet(0, 0, b"\xff\x87\x07#HY000killed");
    assert_eq!(bench.tally().errors_text(), "1 × 1927 (killed)");
}

const EOF: Capabilities = Capabilities::DEPRECATE_EOF;

fn script(text: &str) -> Workload {
    Workload::Script(Script::parse(text, crate::Distribution::Uniform).unwrap())
}

#[test]
fn a_transaction_counts_once_all_of_it_is_answered() {
    let mut bench = Bench::at_work(
        script("BEGIN;\n-- affected: 1\nUPDATE t SET a=1;\nCOMMIT;"),
        EOF,
    );
    assert_eq!(bench.sent(), b"\x03BEGIN");
    bench.packet(0, 1, OK);
    assert_eq!(bench.sent(), b"\x03UPDATE t SET a=1");
    bench.packet(0, 1, b"\0\x01\0\x02\0\0\0");
    assert_eq!(
        (bench.sent(), bench.tally().transactions),
        (b"\x03COMMIT".to_vec(), 0)
    );
    bench.packet(0, 1, OK);
    let tally = bench.tally();
    assert_eq!((tally.transactions, tally.writes, tally.others), (1, 1, 2));
    assert_eq!(bench.sent(), b"\x03BEGIN");
    // A wrong count of rows is a wrong answer; an error rolls back.
    bench.packet(0, 1, OK);
    bench.packet(0, 1, OK);
    assert_eq!(bench.tally().wrong_answers, 1);
    bench.packet(0, 1, b"\xff\xbd\x04#40001deadlock");
    bench.io.outbox.drain(..bench.io.outbox.len() - 13);
    assert_eq!(bench.sent(), b"\x03ROLLBACK");
    bench.packet(0, 1, OK);
    assert_eq!(
        (bench.sent(), bench.tally().transactions),
        (b"\x03BEGIN".to_vec(), 1)
    );
    assert_eq!(bench.tally().errors_text(), "1 × 1213 (deadlock)");
}

#[test]
fn statements_are_prepared_once_per_connection() {
    let mut plan = plan(script("SELECT 1 FROM t WHERE id={random:7..7};"), 1, 1);
    plan.groups[0].prepared = true;
    let mut bench = Bench::started(plan, EOF);
    assert_eq!(bench.sent(), b"\x16SELECT 1 FROM t WHERE id=?");
    let mut answer = Vec::new();
    let id = write_packet(&mut answer, 1, b"\0\x05\0\0\0\x01\0\x01\0\0\0\0");
    let id = write_packet(&mut answer, id, b"\x03defparameter");
    write_packet(&mut answer, id, b"\x03defcolumn");
    bench.receive(0, &answer);
    let execute = b"\x17\x05\0\0\0\0\x01\0\0\0\0\x01\x08\0\x07\0\0\0\0\0\0\0";
    for _ in 0..2 {
        assert_eq!(bench.sent(), execute);
        bench.receive(0, &result_set(&[Some(b"")], true));
    }
    assert_eq!((bench.tally().reads, bench.tally().transactions), (2, 2));
}

#[test]
fn in_an_open_loop_latency_counts_from_the_arrival() {
    let mut plan = plan(Workload::Token, 1, 1);
    plan.groups[0].pacing = Pacing::Open { per_second: 100.0 };
    let mut bench = Bench::started(plan, EOF);
    assert!(bench.sent().is_empty());
    let arrival = bench.generator.next_timer().unwrap();
    assert!(arrival > NOW);
    bench.turn(arrival);
    let late = arrival + Span::from_secs(10);
    let answer = bench.echo(true);
    let tag = bench.io.connects[0];
    bench.generator.received(&mut bench.io, tag, &answer, late);
    assert_eq!(bench.tally().transactions, 1);
    assert!(bench.tally().latencies_us.max_us().abs_diff(10_000_000) < 10_000);
    // What arrived meanwhile is a backlog, and is worked off at once.
    let backlog = bench.generator.teams[0].backlog(late);
    assert!((800..1_200).contains(&backlog), "{backlog}");
    let answer = bench.echo(true);
    bench.generator.received(&mut bench.io, tag, &answer, late);
    assert_eq!(bench.tally().transactions, 2);
    assert!(bench.tally().latencies_us.quantile_us(0.5) > 9_000_000);
}

#[test]
fn a_client_that_thinks_says_nothing_meanwhile() {
    let mut plan = plan(Workload::Token, 1, 1);
    let think_time = Duration::from_millis(5);
    plan.groups[0].pacing = Pacing::Closed { think_time };
    let mut bench = Bench::started(plan, EOF);
    let answer = bench.echo(true);
    bench.receive(0, &answer);
    assert!(bench.sent().is_empty());
    let wake = LATER + Span::from_ms(5);
    assert_eq!(bench.generator.next_timer(), Some(wake));
    bench.turn(wake);
    assert!(bench.sent().starts_with(b"\x03SELECT"));
}

#[test]
fn a_client_without_patience_reconnects_and_repeats() {
    let mut plan = plan(script("SELECT {id=random:1..1000000};\nSELECT {id};"), 1, 1);
    plan.groups[0].patience = Some(Patience {
        timeout: Duration::from_secs(1),
        on_timeout: OnTimeout::Reconnect,
    });
    let mut bench = Bench::started(plan, EOF);
    let first = bench.sent();
    bench.receive(0, &result_set(&[Some(b"")], true));
    assert_eq!(bench.sent(), first);
    let deadline = bench.generator.next_timer().unwrap();
    assert_eq!(deadline, LATER + Span::from_secs(1));
    bench.turn(deadline);
    assert_eq!(bench.tally().timeouts, 1);
    assert_eq!(bench.io.closes, [(Handle(1), Close::Abort)]);
    let tag = bench.io.connects[1];
    assert_eq!(tag, bench.io.connects[0]);
    bench.log_in(1, EOF);
    assert_eq!(bench.sent(), first);
    let late = deadline + Span::from_ms(1);
    for _ in 0..2 {
        let answer = result_set(&[Some(b"")], true);
        bench.generator.received(&mut bench.io, tag, &answer, late);
    }
    let tally = bench.tally();
    assert_eq!(
        (tally.transactions, tally.good, tally.reconnects),
        (1, 0, 0)
    );
}

#[test]
fn a_client_without_patience_gives_up_in_the_end_too() {
    let mut plan = plan(Workload::PointSelect(Rows::default()), 1, 1);
    plan.groups[0].patience = Some(Patience {
        timeout: Duration::from_millis(10),
        on_timeout: OnTimeout::Reconnect,
    });
    let mut bench = Bench::started(plan, Capabilities::empty());
    bench.mail(Mail::Stop);
    let due = bench.generator.next_timer().unwrap();
    assert_eq!(due, NOW + Span::from_ms(10));
    bench.generator.timer(&mut bench.io, due);
    bench.turn(due);
    let tally = bench.tally();
    assert_eq!((tally.timeouts, tally.unanswered), (1, 0));
    assert!(bench.generator.finished());
}

#[test]
fn reconnecting_is_part_of_the_transaction() {
    let mut bench = Bench::at_work(Workload::Reconnect(Rows::default()), EOF);
    for transaction in 1..3 {
        assert_eq!(bench.sent(), b"\x01");
        assert_eq!(bench.io.closes.len(), transaction);
        bench.turn(NOW);
        bench.log_in(transaction, EOF);
        assert!(bench.sent().starts_with(b"\x03SELECT c FROM sbtest"));
        bench.receive(transaction, &result_set(&[Some(b"x")], true));
        assert_eq!(bench.tally().transactions as usize, transaction);
    }
    assert_eq!((bench.tally().logins, bench.tally().reconnects), (3, 0));
}

#[test]
fn a_ramp_opens_connections_evenly_and_they_start_at_once() {
    let mut plan = plan(Workload::Token, 4, 4);
    plan.ramp = Duration::from_secs(4);
    let mut bench = Bench::of(plan);
    assert_eq!(bench.io.connects.len(), 1);
    bench.log_in(0, EOF);
    assert!(bench.sent().starts_with(b"\x03SELECT"));
    assert_eq!(bench.generator.next_timer(), Some(NOW + Span::from_secs(1)));
    bench.turn(NOW + Span::from_secs(2));
    assert_eq!(bench.io.connects.len(), 3);
}
