//! A set of names, fixed when the program is built, found without regard to case.
//! Owns the hashing; what a name means is its place in the list, which the owner of the list knows.

/// No name is longer than this; a longer word is not looked up.
pub(super) const LONGEST: usize = 40;

const FREE: u16 = u16::MAX;

/// A table of names with `SLOTS` places, at least twice as many as names.
pub(super) struct Names<const SLOTS: usize> {
    names: &'static [&'static str],
    slots: [u16; SLOTS],
}

impl<const SLOTS: usize> Names<SLOTS> {
    /// Builds the table; to be done in a `static`, so that a list too long fails the build.
    pub(super) const fn new(names: &'static [&'static str]) -> Self {
        assert!(SLOTS.is_power_of_two() && names.len() * 2 <= SLOTS);
        let mut slots = [FREE; SLOTS];
        let mut index = 0;
        while index < names.len() {
            let name = names[index].as_bytes();
            assert!(name.len() <= LONGEST);
            let mut slot = hash(name) as usize % SLOTS;
            while slots[slot] != FREE {
                slot = (slot + 1) % SLOTS;
            }
            slots[slot] = index as u16;
            index += 1;
        }
        Self { names, slots }
    }

    /// The place of `word` in the list of names.
    pub(super) fn find(&self, word: &[u8]) -> Option<usize> {
        if word.len() > LONGEST {
            return None;
        }
        let mut slot = hash(word) as usize % SLOTS;
        loop {
            let index = usize::from(*self.slots.get(slot)?);
            if self.names.get(index)?.as_bytes().eq_ignore_ascii_case(word) {
                return Some(index);
            }
            slot = (slot + 1) % SLOTS;
        }
    }
}

/// Equal for names that differ in case only.
const fn hash(name: &[u8]) -> u32 {
    let mut hash = 0x811c_9dc5_u32;
    let mut index = 0;
    while index < name.len() {
        hash = (hash ^ (name[index] | 0x20) as u32).wrapping_mul(0x0100_0193);
        index += 1;
    }
    hash ^ (hash >> 15)
}
