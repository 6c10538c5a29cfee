//! The slab: items in pages, by key. What a place is used for, and which list an item is on, is
//! not its concern.

/// Places per page: what the slab grows and shrinks by.
const PAGE: usize = 256;
const WORD: usize = u64::BITS as usize;

/// Names an item for as long as it is there.
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

    /// The item's place: unique among the items of the slab, used again after it is gone.
    pub fn index(self) -> usize {
        self.index as usize
    }
}

/// Items by key. Pages never move in memory; low places are taken first, so that pages fill up,
/// and a page without items is given back, but for one.
pub struct Slab<T> {
    /// Without slots where a page was given back.
    pages: Vec<Box<[Slot<T>]>>,
    /// One per page.
    rooms: Vec<Room>,
    /// A bit per page that has room, given back or not.
    roomy: Vec<u64>,
    /// No page of a word before this one has room.
    first_roomy: usize,
    /// The empty page that is kept, if it is still empty.
    spare: Option<usize>,
    /// How many pages have slots.
    held: usize,
    len: usize,
}

struct Slot<T> {
    generation: u32,
    item: Option<T>,
}

/// What is known of a page without looking at it.
struct Room {
    /// A bit per vacant place.
    vacant: [u64; PAGE / WORD],
    /// What its places begin with when it is made again, so that no key comes twice.
    generation: u32,
}

const ALL_VACANT: [u64; PAGE / WORD] = [u64::MAX; PAGE / WORD];

impl<T> Slab<T> {
    /// Puts an item in, under a key that was never used before.
    pub fn insert(&mut self, item: T) -> Key {
        let page = self.page_with_room();
        let room = &mut self.rooms[page];
        let place = first_bit(&room.vacant).unwrap_or_default();
        flip(&mut room.vacant, place);
        if first_bit(&room.vacant).is_none() {
            flip(&mut self.roomy, page);
        }
        let slot = &mut self.pages[page][place];
        slot.item = Some(item);
        self.len += 1;
        Key {
            index: (page * PAGE + place) as u32,
            generation: slot.generation,
        }
    }

    /// Takes the item out; its key finds nothing from now on.
    pub fn remove(&mut self, key: Key) -> Option<T> {
        let slot = self.slot_mut(key)?;
        let item = slot.item.take()?;
        slot.generation = slot.generation.wrapping_add(1);
        self.len -= 1;
        let (page, place) = (key.index() / PAGE, key.index() % PAGE);
        let room = &mut self.rooms[page];
        if first_bit(&room.vacant).is_none() {
            flip(&mut self.roomy, page);
            self.first_roomy = self.first_roomy.min(page / WORD);
        }
        flip(&mut room.vacant, place);
        if room.vacant == ALL_VACANT {
            self.emptied(page);
        }
        Some(item)
    }

    /// The item.
    #[inline]
    pub fn get(&self, key: Key) -> Option<&T> {
        let slot = self.slot(key.index())?;
        slot.item
            .as_ref()
            .filter(|_| slot.generation == key.generation)
    }

    /// The item, to be changed.
    #[inline]
    pub fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        self.slot_mut(key)?.item.as_mut()
    }

    /// What is at a place, if anything is.
    #[inline]
    pub fn at(&self, index: usize) -> Option<(Key, &T)> {
        let slot = self.slot(index)?;
        Some((key(index, slot.generation), slot.item.as_ref()?))
    }

    /// What is at a place, to be changed.
    #[inline]
    pub fn at_mut(&mut self, index: usize) -> Option<(Key, &mut T)> {
        let slot = self.pages.get_mut(index / PAGE)?.get_mut(index % PAGE)?;
        Some((key(index, slot.generation), slot.item.as_mut()?))
    }

    /// The keys of all items, in the order of their places.
    pub fn keys(&self) -> impl Iterator<Item = Key> {
        (0..self.places()).filter_map(|index| self.at(index).map(|(key, _)| key))
    }

    /// No item has a place from this one on.
    pub fn places(&self) -> usize {
        self.pages.len() * PAGE
    }

    /// How many items there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes that it takes, without what the items own.
    pub fn bytes(&self) -> usize {
        let page = size_of::<Box<[Slot<T>]>>() + size_of::<Room>();
        self.held * PAGE * size_of::<Slot<T>>() + self.pages.len() * page
    }

    fn slot(&self, index: usize) -> Option<&Slot<T>> {
        self.pages.get(index / PAGE)?.get(index % PAGE)
    }

    #[inline]
    fn slot_mut(&mut self, key: Key) -> Option<&mut Slot<T>> {
        let page = self.pages.get_mut(key.index() / PAGE)?;
        let slot = page.get_mut(key.index() % PAGE)?;
        (slot.generation == key.generation).then_some(slot)
    }

    /// The first page with room, which has slots.
    fn page_with_room(&mut self) -> usize {
        let words = self.roomy.iter().skip(self.first_roomy);
        let full = words.take_while(|word| **word == 0).count();
        self.first_roomy += full;
        let Some(page) = first_bit(&self.roomy[self.first_roomy..]) else {
            return self.add_page();
        };
        let page = self.first_roomy * WORD + page;
        if self.pages[page].is_empty() {
            self.make(page);
        }
        page
    }

    fn add_page(&mut self) -> usize {
        let page = self.pages.len();
        self.pages.push(Box::default());
        self.rooms.push(Room {
            vacant: ALL_VACANT,
            generation: 0,
        });
        if page / WORD == self.roomy.len() {
            self.roomy.push(0);
        }
        flip(&mut self.roomy, page);
        self.first_roomy = page / WORD;
        self.make(page);
        page
    }

    fn make(&mut self, page: usize) {
        let generation = self.rooms[page].generation;
        let slots = (0..PAGE).map(|_| Slot {
            generation,
            item: None,
        });
        self.pages[page] = slots.collect();
        self.held += 1;
    }

    /// A page has lost its last item. One such page is kept, the lowest: whoever comes and goes at
    /// the end of a page shall not make and drop one each time.
    fn emptied(&mut self, page: usize) {
        let spare = self.spare.filter(|spare| self.is_spare(*spare));
        let Some(spare) = spare.filter(|spare| *spare != page) else {
            self.spare = Some(page);
            return;
        };
        self.spare = Some(spare.min(page));
        self.give_back(spare.max(page));
    }

    fn is_spare(&self, page: usize) -> bool {
        self.rooms[page].vacant == ALL_VACANT && !self.pages[page].is_empty()
    }

    fn give_back(&mut self, page: usize) {
        let slots = std::mem::take(&mut self.pages[page]);
        let generations = slots.iter().map(|slot| slot.generation);
        self.rooms[page].generation = generations.max().unwrap_or_default();
        self.held -= 1;
    }
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self {
            pages: Vec::new(),
            rooms: Vec::new(),
            roomy: Vec::new(),
            first_roomy: 0,
            spare: None,
            held: 0,
            len: 0,
        }
    }
}

fn key(index: usize, generation: u32) -> Key {
    Key {
        index: index as u32,
        generation,
    }
}

fn first_bit(words: &[u64]) -> Option<usize> {
    let word = words.iter().position(|word| *word != 0)?;
    Some(word * WORD + words[word].trailing_zeros() as usize)
}

fn flip(words: &mut [u64], bit: usize) {
    words[bit / WORD] ^= 1 << (bit % WORD);
}
