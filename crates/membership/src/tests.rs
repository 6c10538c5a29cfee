//! The roster against a naive model.

use proptest::prelude::*;

use crate::{Key, ListId, Roster};

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
