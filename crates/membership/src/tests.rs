//! The roster against a naive model.

use proptest::prelude::*;

use crate::{Key, ListId, Roster, Slab};

const LISTS: u32 = 3;

#[derive(Clone, Debug)]
enum Step {
    Insert(u32),
    Remove(usize),
    Move(usize, u32),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..LISTS).prop_map(Step::Insert),
        any::<usize>().prop_map(Step::Remove),
        (any::<usize>(), 0..LISTS).prop_map(|(which, list)| Step::Move(which, list)),
    ]
}

proptest! {
    #[test]
    fn behaves_like_vectors(steps in prop::collection::vec(step(), 0..1_000)) {
        let mut roster = Roster::new(LISTS);
        let mut model: Vec<Vec<(Key, usize)>> = vec![Vec::new(); LISTS as usize];
        let mut gone = Vec::new();
        for (number, step) in steps.into_iter().enumerate() {
            let all: Vec<Key> = model.iter().flatten().map(|&(key, _)| key).collect();
            match step {
                Step::Insert(list) => {
                    let key = roster.insert(ListId(list), number);
                    model[list as usize].push((key, number));
                }
                Step::Remove(_) | Step::Move(..) if all.is_empty() => {}
                Step::Remove(which) => {
                    let key = all[which % all.len()];
                    let item = take(&mut model, key);
                    prop_assert_eq!(roster.remove(key), Some(item.1));
                    gone.push(key);
                }
                Step::Move(which, list) => {
                    let key = all[which % all.len()];
                    let item = take(&mut model, key);
                    model[list as usize].push(item);
                    prop_assert!(roster.move_to(key, ListId(list)).is_some());
                }
            }
        }
        for (list, expected) in model.iter().enumerate() {
            let list = ListId(list as u32);
            let found: Vec<_> = roster.iter(list).map(|(key, item)| (key, *item)).collect();
            prop_assert_eq!(&found, expected);
            let mut back: Vec<_> = roster.iter_back(list).map(|(key, item)| (key, *item)).collect();
            back.reverse();
            prop_assert_eq!(&back, expected);
            prop_assert_eq!(roster.len_of(list), expected.len());
            prop_assert_eq!(roster.first(list), expected.first().map(|&(key, _)| key));
        }
        prop_assert_eq!(roster.len(), model.iter().map(Vec::len).sum::<usize>());
        for key in gone {
            prop_assert!(roster.get(key).is_none());
        }
    }
}

fn take(model: &mut [Vec<(Key, usize)>], key: Key) -> (Key, usize) {
    for list in model {
        if let Some(at) = list.iter().position(|&(found, _)| found == key) {
            return list.remove(at);
        }
    }
    panic!("the model lost {key:?}");
}

#[test]
fn keys_survive_being_carried_as_numbers() {
    let mut roster = Roster::new(1);
    let keys: Vec<Key> = (0..1_000).map(|n| roster.insert(ListId(0), n)).collect();
    for (n, key) in keys.into_iter().enumerate() {
        assert_eq!(roster.get(Key::from_bits(key.to_bits())), Some(&n));
    }
}

#[test]
fn a_peak_is_given_back() {
    let mut slab = Slab::default();
    let few: Vec<Key> = (0..10).map(|n| slab.insert(n)).collect();
    let small = slab.bytes();
    let many: Vec<Key> = (0..100_000).map(|n| slab.insert(n)).collect();
    let large = slab.bytes();
    assert!(large > 100_000 * size_of::<u32>());
    for key in &many {
        assert!(slab.remove(*key).is_some());
    }
    // One page more than there was, and what is known of pages that are not there.
    let left = slab.bytes();
    assert!(left <= 2 * small + large / 20, "{small} {large} {left}");
    assert!(many.iter().all(|key| slab.get(*key).is_none()));
    let again: Vec<Key> = (0..100_000).map(|n| slab.insert(n)).collect();
    assert!(slab.bytes() <= large);
    assert!(many.iter().all(|key| slab.get(*key).is_none()));
    assert!(
        again
            .iter()
            .zip(0..)
            .all(|(key, n)| slab.get(*key) == Some(&n))
    );
    assert!(
        few.iter()
            .zip(0..)
            .all(|(key, n)| slab.get(*key) == Some(&n))
    );
}

#[test]
fn coming_and_going_at_the_end_of_a_page_keeps_it() {
    let mut slab = Slab::default();
    for _ in 0..768 {
        slab.insert(0);
    }
    assert_eq!(slab.places(), 768);
    let mut last = slab.insert(0);
    let bytes = slab.bytes();
    for _ in 0..10 {
        slab.remove(last);
        assert_eq!(slab.bytes(), bytes);
        last = slab.insert(0);
    }
}

#[test]
fn low_places_are_taken_first() {
    let mut slab = Slab::default();
    let keys: Vec<Key> = (0..2_000).map(|n| slab.insert(n)).collect();
    for place in [1_999, 3, 700, 256, 255] {
        slab.remove(keys[place]);
    }
    assert_eq!(slab.places(), 2_048);
    let taken: Vec<_> = (0..5).map(|_| slab.insert(0).index()).collect();
    assert_eq!(taken, [3, 255, 256, 700, 1_999]);
    assert_eq!(slab.insert(0).index(), 2_000);
}

proptest! {
    /// Few items come and many go, and the other way round, so that pages come and go.
    #[test]
    fn a_slab_behaves_like_a_map(waves in prop::collection::vec((0..900_usize, any::<u64>()), 1..12)) {
        let mut slab = Slab::default();
        let mut model: Vec<(Key, u64)> = Vec::new();
        let mut gone: Vec<Key> = Vec::new();
        for (target, seed) in waves {
            let mut next = seed;
            while model.len() != target {
                next = next.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                if model.len() < target {
                    model.push((slab.insert(next), next));
                } else {
                    let (key, item) = model.swap_remove((next >> 33) as usize % model.len());
                    prop_assert_eq!(slab.remove(key), Some(item));
                    gone.push(key);
                }
            }
            prop_assert_eq!(slab.len(), model.len());
            let mut keys: Vec<_> = model.iter().map(|(key, _)| *key).collect();
            keys.sort();
            prop_assert_eq!(slab.keys().collect::<Vec<_>>(), keys);
            for (key, item) in &model {
                prop_assert_eq!(slab.get(*key), Some(item));
            }
            prop_assert!(gone.iter().all(|key| slab.get(*key).is_none()));
        }
    }
}
