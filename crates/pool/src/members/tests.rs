//! Which connection a session is given, and how they are counted.

use super::Preference::{Fitting, Foreign};
use super::*;
use crate::ledger::Ledger;

const NOW: Timestamp = Timestamp::from_us(1_000_000);

fn fit(wanted: u8) -> impl Fn(&u8) -> Fit {
    move |&state| match state {
        _ if state == wanted => Fit::Same,
        0..100 => Fit::Restorable,
        _ => Fit::Never,
    }
}

fn idle(pool: &mut Pool<&str, u8>, key: KeyId, state: u8, at: u64) -> Key {
    let slot = Ledger::new(1, 1).take(0).expect("a slot");
    let member = pool.insert(key, slot, state, Timestamp::ZERO);
    pool.move_to(member, State::Resetting, Timestamp::ZERO);
    pool.move_to(member, State::Idle, Timestamp::from_us(at));
    member
}

#[test]
fn the_state_decides_then_warmth() {
    let mut pool = Pool::default();
    let (a, b) = (pool.key_id(&"a"), pool.key_id(&"b"));
    let same = idle(&mut pool, a, 1, 10);
    let warm = idle(&mut pool, a, 2, 20);
    idle(&mut pool, a, 200, 30);
    let alone = idle(&mut pool, b, 3, 5);
    assert_eq!(
        pool.choose(a, (1, NOW), Fitting, fit(1)),
        Choice::Attach(same)
    );
    assert_eq!(
        pool.choose(a, (1, NOW), Fitting, fit(3)),
        Choice::Attach(warm)
    );
    assert_eq!(
        pool.choose(a, (1, NOW), Foreign, fit(2)),
        Choice::Attach(same)
    );
    assert_eq!(
        pool.choose(b, (1, NOW), Foreign, fit(3)),
        Choice::Attach(alone)
    );
    assert_eq!(pool.oldest_idle().map(|(_, since)| since.as_us()), Some(5));
    assert_eq!((pool.owned(a), pool.count_all(State::Idle)), (3, 4));
    pool.move_to(same, State::Active, Timestamp::from_us(40));
    pool.remove(warm);
    let totals = [State::Idle, State::Active].map(|state| pool.count_all(state));
    assert_eq!(totals, [2, 1]);
}

#[test]
fn what_goes_over_to_another_key_is_found_there() {
    let mut pool = Pool::default();
    let (a, b) = (pool.key_id(&"a"), pool.key_id(&"b"));
    let member = idle(&mut pool, a, 1, 10);
    pool.move_to(member, State::Active, Timestamp::from_us(20));
    pool.rekey(member, b);
    assert_eq!((pool.owned(a), pool.owned(b)), (0, 1));
    assert_eq!(pool.first(b, State::Active), Some(member));
}

#[test]
fn no_more_are_opened_than_sessions_wait() {
    let mut pool: Pool<&str, u8> = Pool::default();
    let key = pool.key_id(&"a");
    assert_eq!(pool.choose(key, (1, NOW), Fitting, fit(1)), Choice::Open);
    let slot = Ledger::new(1, 1).take(0).expect("a slot");
    pool.insert(key, slot, 0, Timestamp::ZERO);
    assert_eq!(pool.choose(key, (1, NOW), Fitting, fit(1)), Choice::Wait);
    assert_eq!(pool.choose(key, (2, NOW), Fitting, fit(1)), Choice::Open);
}

#[test]
fn a_connection_whose_cleaning_takes_long_is_not_waited_for() {
    let mut pool: Pool<&str, u8> = Pool::default();
    let key = pool.key_id(&"a");
    let slot = Ledger::new(1, 1).take(0).expect("a slot");
    let member = pool.insert(key, slot, 0, Timestamp::ZERO);
    pool.move_to(member, State::Resetting, NOW);
    let soon = NOW + CLEANED_SOON;
    assert_eq!(pool.choose(key, (1, soon), Fitting, fit(1)), Choice::Wait);
    let later = soon + Span::from_us(1);
    assert_eq!(pool.choose(key, (1, later), Fitting, fit(1)), Choice::Open);
}

#[test]
fn a_connection_gives_its_slot_back_when_it_goes() {
    let ledger = Ledger::new(1, 1);
    let mut pool = Pool::default();
    let key = pool.key_id(&"a");
    let member = pool.insert(key, ledger.take(0).expect("a slot"), 7_u8, Timestamp::ZERO);
    assert!(ledger.take(0).is_none());
    assert_eq!(pool.remove(member), Some(7));
    assert!(ledger.take(0).is_some() && pool.is_empty() && pool.state(member).is_none());
}
