//! The slab, its lists and its keys.

/// Entries per page: what the roster grows by at a time.
const PAGE: usize = 256;
const NONE: u32 = u32::MAX;

/// Names an item for as long as it is in its roster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    index: u32,
    generation: u32,
}

impl Key {
    /// The key as one number, for whoever can carry only that.
    pub fn to_bits(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.index)
    }

    /// The key of such a number.
    pub fn from_bits(bits: u64) -> Self {
        Self {
            index: bits as u32,
            generation: (bits >> 32) as u32,
        }
    }

    /// The item's place: unique among the items of the roster, used again after it is gone.
    pub fn index(self) -> usize {
        self.index as usize
    }
}

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
    generation: u32,
    previous: u32,
    next: u32,
    list: ListId,
    /// `None`: the entry is vacant, and `next` chains the vacant ones.
    item: Option<T>,
}

/// Items on lists.
pub struct Roster<T> {
    pages: Vec<Box<[Entry<T>]>>,
    vacant: u32,
    lists: Vec<List>,
    len: usize,
}

impl<T> Roster<T> {
    /// A roster with the lists 0 to `lists` − 1.
    pub fn new(lists: u32) -> Self {
        let lists = vec![EMPTY; lists as usize];
        Self {
            pages: Vec::new(),
            vacant: NONE,
            lists,
            len: 0,
        }
    }

    /// Adds one more list.
    pub fn add_list(&mut self) -> ListId {
        self.lists.push(EMPTY);
        ListId((self.lists.len() - 1) as u32)
    }

    /// Puts a new item at the end of `list`.
    pub fn insert(&mut self, list: ListId, item: T) -> Key {
        if self.vacant == NONE {
            self.grow();
        }
        let index = self.vacant;
        let entry = self.entry_mut(index);
        entry.item = Some(item);
        let key = Key {
            index,
            generation: entry.generation,
        };
        self.vacant = entry.next;
        self.len += 1;
        self.link(index, list);
        key
    }

    /// Takes the item out, off whatever list it is on.
    pub fn remove(&mut self, key: Key) -> Option<T> {
        self.find(key)?;
        self.unlink(key.index);
        let vacant = self.vacant;
        let entry = self.entry_mut(key.index);
        entry.generation = entry.generation.wrapping_add(1);
        entry.next = vacant;
        let item = entry.item.take();
        self.vacant = key.index;
        self.len -= 1;
        item
    }

    /// Moves the item to the end of `list`, also if it is on that list already. Returns the list
    /// it was on, or `None` if there is no such item.
    pub fn move_to(&mut self, key: Key, list: ListId) -> Option<ListId> {
        let from = self.find(key)?.list;
        self.unlink(key.index);
        self.link(key.index, list);
        Some(from)
    }

    /// The item.
    pub fn get(&self, key: Key) -> Option<&T> {
        self.find(key)?.item.as_ref()
    }

    /// The item, to be changed.
    pub fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        self.find(key)?;
        self.entry_mut(key.index).item.as_mut()
    }

    /// The list that the item is on.
    pub fn list_of(&self, key: Key) -> Option<ListId> {
        self.find(key).map(|entry| entry.list)
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
        self.len
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The items of `list`, the oldest first.
    pub fn iter(&self, list: ListId) -> impl Iterator<Item = (Key, &T)> {
        std::iter::successors(self.first(list), |key| {
            self.key_at(self.entry(key.index).next)
        })
        .filter_map(|key| Some((key, self.get(key)?)))
    }

    /// The items of `list`, the youngest first.
    pub fn iter_back(&self, list: ListId) -> impl Iterator<Item = (Key, &T)> {
        std::iter::successors(self.last(list), |key| {
            self.key_at(self.entry(key.index).previous)
        })
        .filter_map(|key| Some((key, self.get(key)?)))
    }

    /// How many lists there are.
    pub fn lists(&self) -> u32 {
        self.lists.len() as u32
    }

    /// Bytes that the roster's pages take, whatever is in them.
    pub fn bytes(&self) -> usize {
        self.pages.len() * PAGE * size_of::<Entry<T>>()
    }

    fn grow(&mut self) {
        let base = (self.pages.len() * PAGE) as u32;
        let page = (0..PAGE as u32).map(|offset| Entry {
            generation: 0,
            previous: NONE,
            next: if offset + 1 < PAGE as u32 {
                base + offset + 1
            } else {
                NONE
            },
            list: ListId(0),
            item: None,
        });
        self.pages.push(page.collect());
        self.vacant = base;
    }

    fn link(&mut self, index: u32, list: ListId) {
        let last = self.lists[list.0 as usize].last;
        let entry = self.entry_mut(index);
        entry.previous = last;
        entry.next = NONE;
        entry.list = list;
        match last {
            NONE => self.lists[list.0 as usize].first = index,
            last => self.entry_mut(last).next = index,
        }
        let list = &mut self.lists[list.0 as usize];
        list.last = index;
        list.len += 1;
    }

    fn unlink(&mut self, index: u32) {
        let &Entry {
            previous,
            next,
            list,
            ..
        } = self.entry(index);
        match previous {
            NONE => self.lists[list.0 as usize].first = next,
            previous => self.entry_mut(previous).next = next,
        }
        match next {
            NONE => self.lists[list.0 as usize].last = previous,
            next => self.entry_mut(next).previous = previous,
        }
        self.lists[list.0 as usize].len -= 1;
    }

    fn find(&self, key: Key) -> Option<&Entry<T>> {
        let entry = self
            .pages
            .get(key.index as usize / PAGE)?
            .get(key.index as usize % PAGE)?;
        (entry.generation == key.generation && entry.item.is_some()).then_some(entry)
    }

    fn key_at(&self, index: u32) -> Option<Key> {
        (index != NONE).then(|| Key {
            index,
            generation: self.entry(index).generation,
        })
    }

    fn entry(&self, index: u32) -> &Entry<T> {
        &self.pages[index as usize / PAGE][index as usize % PAGE]
    }

    fn entry_mut(&mut self, index: u32) -> &mut Entry<T> {
        &mut self.pages[index as usize / PAGE][index as usize % PAGE]
    }
}

impl<T> Default for Roster<T> {
    fn default() -> Self {
        Self::new(1)
    }
}
