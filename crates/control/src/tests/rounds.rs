//! Rounds of questions, and workers that do not answer them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::Report;

use super::stage::{BOUND, Fakes, Mood, Stage, answers, report};
use crate::serve::Limits;
use crate::watch::Watch;
use crate::workers::{ANSWER_TIME, Inquiry, Workers};

#[tokio::test]
async fn the_silent_and_the_ended_are_told_from_the_others() {
    let fakes = Fakes::new([Mood::Ended, answers(report()), Mood::Silent]);
    let started = Instant::now();
    let collected = crate::collect(fakes).await;
    assert_eq!(collected.reports, [None, Some(report()), None]);
    assert_eq!(collected.total, report());
    assert_eq!(collected.responding(), 1);
    assert!(started.elapsed() >= ANSWER_TIME);
}

#[tokio::test]
async fn several_silent_workers_share_the_second() {
    let fakes = Fakes::new((0..8).map(|_| Mood::Silent));
    let started = Instant::now();
    assert_eq!(crate::collect(fakes).await.responding(), 0);
    assert!(started.elapsed() < 4 * ANSWER_TIME);
}

#[tokio::test]
async fn counters_of_a_silent_worker_stay_and_it_is_asked_once() {
    let moods = [answers(report()), answers(report())];
    let answer_time = Duration::from_millis(20);
    let stage = Stage::patient(answer_time, Limits::default(), moods).await;
    let before = stage.get("/metrics").await;
    assert_eq!(before.sample("myriad_statements_total"), 200.0);
    stage.fakes.set(1, Mood::Silent);
    for _ in 0..3 {
        let during = stage.get("/metrics").await;
        assert_eq!(during.sample("myriad_workers_responding"), 1.0);
        assert_eq!(during.sample("myriad_statements_total"), 200.0);
        assert_eq!(during.sample("myriad_clients{state=\"idle\"}"), 5.0);
    }
    // Four times the first worker, once each the second when it answered and when it did not.
    assert_eq!(stage.fakes.asked(), 6);
    stage.fakes.answer_late(&report());
    stage.fakes.set(1, answers(report()));
    let after = stage.get("/metrics").await;
    assert_eq!(after.sample("myriad_workers_responding"), 2.0);
    assert_eq!(after.sample("myriad_clients{state=\"idle\"}"), 10.0);
}

#[tokio::test]
async fn whoever_comes_during_a_round_shares_it() {
    let fakes = Fakes::new([Mood::Silent]);
    let workers: Arc<dyn Workers> = fakes.clone();
    let watch = Watch::new(workers, BOUND, None);
    let late = async { fakes.answer_late(&report()) };
    let (first, second, ()) = tokio::join!(watch.look(), watch.look(), late);
    assert_eq!(first.collected.total, report());
    assert!(Arc::ptr_eq(&first, &second));
    assert_eq!(fakes.asked(), 1);
    fakes.set(0, answers(Report::default()));
    assert_eq!(watch.look().await.collected.total, Report::default());
    assert_eq!(fakes.asked(), 2);
}

#[tokio::test]
async fn a_round_that_is_given_up_leaves_its_question_open() {
    let fakes = Fakes::new([Mood::Silent]);
    let workers: Arc<dyn Workers> = fakes.clone();
    let mut inquiry = Inquiry::new(workers);
    for _ in 0..3 {
        tokio::select! {
            biased;
            _ = inquiry.collect(BOUND) => panic!("nobody answered"),
            () = async {} => {}
        }
    }
    assert_eq!(fakes.asked(), 1);
    let late = async { fakes.answer_late(&report()) };
    let (collected, ()) = tokio::join!(inquiry.collect(BOUND), late);
    assert_eq!(collected.reports, [Some(report())]);
    assert_eq!(fakes.asked(), 1);
}
