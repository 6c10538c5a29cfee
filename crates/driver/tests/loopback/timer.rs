//! Timers: never early, and not late for long.

use events::{Span, Timestamp};

use crate::puppet::Heard;
use crate::stage::Setup;

#[test]
fn a_timer_wakes_a_sleeping_worker_in_time() {
    let stage = Setup::default().start();
    for ms in [0, 1, 5, 20] {
        let due = stage.ask(move |puppet, _| {
            let due = puppet.now + Span::from_ms(ms);
            puppet.timer = Some(due);
            due
        });
        // That it does not come early, the puppet asserts.
        assert_eq!(stage.hear(), Heard::Timer);
        let late = stage.ask(move |puppet, _| puppet.now.since(due));
        assert!(late < Span::from_secs(5), "{late:?} late");
    }
    stage.end();
}

#[test]
fn a_timer_that_is_long_past_comes_in_the_next_turn_and_once() {
    let stage = Setup::default().start();
    stage.ask(|puppet, _| puppet.timer = Some(Timestamp::ZERO));
    assert_eq!(stage.hear(), Heard::Timer);
    stage.hear_nothing();
    stage.end();
}

#[test]
fn a_timer_may_be_moved_forward_and_called_off() {
    let stage = Setup::default().start();
    stage.ask(|puppet, _| puppet.timer = Some(puppet.now + Span::from_secs(3_600)));
    stage.hear_nothing();
    stage.ask(|puppet, _| puppet.timer = Some(puppet.now + Span::from_ms(1)));
    assert_eq!(stage.hear(), Heard::Timer);
    stage.ask(|puppet, _| puppet.timer = Some(puppet.now + Span::from_secs(3_600)));
    stage.ask(|puppet, _| puppet.timer = None);
    stage.hear_nothing();
    stage.end();
}
