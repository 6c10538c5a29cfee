//! The lists, and who stands on which.

use crate::slab::{Key, Slab};

const NONE: u32 = u32::MAX;

/// Names one of a roster's lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ListId(pub u32);

#[derive(Clone, Copy, Debug)]
struct List {
    first: u32,
    last: u32,
    len: usize,
}

const EMPTY: List = List {
    first: NONE,
    last: NONE,
    len: 0,
};

struct Entry<T> {
    previous: u32,
    next: u32,
    list: ListId,
    item: T,
}

/// Items on lists.
pub struct Roster<T> {
    slab: Slab<Entry<T>>,
    lists: Vec<List>,
}

impl<T> Roster<T> {
    /// A roster with the lists 0 to `lists` − 1.
    pub fn new(lists: u32) -> Self {
        Self {
            slab: Slab::default(),
            lists: vec![EMPTY; lists as usize],
        }
    }

    /// Adds one more list.
    pub fn add_list(&mut self) -> ListId {
        self.lists.push(EMPTY);
        ListId((self.lists.len() - 1) as u32)
    }

    /// Puts a new item at the end of `list`.
    pub fn insert(&mut self, list: ListId, item: T) -> Key {
        let key = self.slab.insert(Entry {
            previous: NONE,
            next: NONE,
            list,
            item,
        });
        self.link(key, list);
        key
    }

    /// Takes the item out, off whatever list it is on.
    pub fn remove(&mut self, key: Key) -> Option<T> {
        self.unlink(key)?;
        Some(self.slab.remove(key)?.item)
    }

    /// Moves the item to the end of `list`, also if it is on that list already. Returns the list
    /// it was on, or `None` if there is no such item.
    pub fn move_to(&mut self, key: Key, list: ListId) -> Option<ListId> {
        let from = self.unlink(key)?;
        self.link(key, list);
        Some(from)
    }

    /// The item.
    pub fn get(&self, key: Key) -> Option<&T> {
        Some(&self.slab.get(key)?.item)
    }

    /// The item, to be changed.
    pub fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        Some(&mut self.slab.get_mut(key)?.item)
    }

    /// The item at a place, if there is one: whoever goes through all places meets every item that
    /// stays, however often that changes its list.
    pub fn at(&self, place: usize) -> Option<(Key, &T)> {
        let (key, entry) = self.slab.at(place)?;
        Some((key, &entry.item))
    }

    /// How many places there are, vacant ones included.
    pub fn places(&self) -> usize {
        self.slab.places()
    }

    /// The list that the item is on.
    pub fn list_of(&self, key: Key) -> Option<ListId> {
        self.slab.get(key).map(|entry| entry.list)
    }

    /// The item that has been on `list` the longest.
    pub fn first(&self, list: ListId) -> Option<Key> {
        self.key_at(self.lists[list.0 as usize].first)
    }

    /// The item that came to `list` last.
    pub fn last(&self, list: ListId) -> Option<Key> {
        self.key_at(self.lists[list.0 as usize].last)
    }

    /// How many items are on `list`.
    pub fn len_of(&self, list: ListId) -> usize {
        self.lists[list.0 as usize].len
    }

    /// How many items there are.
    pub fn len(&self) -> usize {
        self.slab.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.slab.is_empty()
    }

    /// The items of `list`, the oldest first.
    pub fn iter(&self, list: ListId) -> impl Iterator<Item = (Key, &T)> {
        let next = |entry: &Entry<T>| entry.next;
        self.walk(self.lists[list.0 as usize].first, next)
    }

    /// The items of `list`, the youngest first.
    pub fn iter_back(&self, list: ListId) -> impl Iterator<Item = (Key, &T)> {
        let previous = |entry: &Entry<T>| entry.previous;
        self.walk(self.lists[list.0 as usize].last, previous)
    }

    /// How many lists there are.
    pub fn lists(&self) -> u32 {
        self.lists.len() as u32
    }

    /// Bytes that the entries take, without what the items own.
    pub fn bytes(&self) -> usize {
        self.slab.bytes()
    }

    fn walk(&self, first: u32, step: impl Fn(&Entry<T>) -> u32) -> impl Iterator<Item = (Key, &T)> {
        let mut next = first;
        std::iter::from_fn(move || {
            let (key, entry) = self.slab.at(next as usize)?;
            next = step(entry);
            Some((key, &entry.item))
        })
    }

    /// `key` must stand on no list.
    fn link(&mut self, key: Key, list: ListId) {
        let (index, last) = (key.index() as u32, self.lists[list.0 as usize].last);
        if let Some(entry) = self.slab.get_mut(key) {
            (entry.previous, entry.next, entry.list) = (last, NONE, list);
        }
        self.set_next(last, list, index);
        let list = &mut self.lists[list.0 as usize];
        list.last = index;
        list.len += 1;
    }

    /// Leaves the entry's own links as they were.
    fn unlink(&mut self, key: Key) -> Option<ListId> {
        let &Entry {
            previous,
            next,
            list,
            ..
        } = self.slab.get(key)?;
        self.set_next(previous, list, next);
        match self.slab.at_mut(next as usize) {
            Some((_, entry)) => entry.previous = previous,
            None => self.lists[list.0 as usize].last = previous,
        }
        self.lists[list.0 as usize].len -= 1;
        Some(list)
    }

    /// `index` comes behind `previous` on `list`, or first.
    fn set_next(&mut self, previous: u32, list: ListId, index: u32) {
        match self.slab.at_mut(previous as usize) {
            Some((_, entry)) => entry.next = index,
            None => self.lists[list.0 as usize].first = index,
        }
    }

    fn key_at(&self, index: u32) -> Option<Key> {
        self.slab.at(index as usize).map(|(key, _)| key)
    }
}

impl<T> Default for Roster<T> {
    fn default() -> Self {
        Self::new(1)
    }
}
