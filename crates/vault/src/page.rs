//! A page of secrets: locked memory in cells of 32 bytes, of which a secret has as many as it needs, side by
//! side.

use std::fmt;
use std::io;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use memmap2::{Advice, MmapMut};
use zeroize::Zeroize;

/// Where the kernel's pages are larger, one of them is locked for each of these.
pub(crate) const PAGE_BYTES: usize = 4_096;
/// Most passwords, and all hashes of 20 bytes, have room in one.
const CELL_BYTES: usize = 32;
const CELLS: usize = PAGE_BYTES / CELL_BYTES;

/// A page.
pub(crate) struct Page(RwLock<Cells>);

struct Cells {
    memory: MmapMut,
    /// A bit per cell that belongs to a secret.
    taken: u128,
}

/// A page that is looked at.
pub(crate) struct Opened<'a>(RwLockReadGuard<'a, Cells>);

impl Page {
    /// A new one, empty. `Err` if the kernel does not lock it, or does not leave it out of dumps.
    pub(crate) fn lock() -> io::Result<Self> {
        let memory = MmapMut::map_anon(PAGE_BYTES)?;
        memory.advise(Advice::DontDump)?;
        memory.advise(Advice::DontFork)?;
        memory.lock()?;
        Ok(Self(RwLock::new(Cells { memory, taken: 0 })))
    }

    /// Puts a secret where there is room. The first of its cells; `None` if there is too little room.
    pub(crate) fn put(&self, secret: &[u8]) -> Option<usize> {
        let mut cells = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let mask = mask(secret.len())?;
        let room = CELLS - mask.count_ones() as usize;
        let first = (0..=room).find(|first| cells.taken & (mask << first) == 0)?;
        let start = first * CELL_BYTES;
        let place = cells.memory.get_mut(start..start + secret.len())?;
        place.copy_from_slice(secret);
        cells.taken |= mask << first;
        Some(first)
    }

    /// Overwrites a secret of so many bytes, and has its cells back.
    pub(crate) fn take(&self, first: usize, bytes: usize) {
        let mut cells = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let start = first * CELL_BYTES;
        if let Some(place) = cells.memory.get_mut(start..start + bytes) {
            place.zeroize();
        }
        cells.taken &= !(mask(bytes).unwrap_or_default() << first);
    }

    pub(crate) fn open(&self) -> Opened<'_> {
        Opened(self.0.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Opened<'_> {
    pub(crate) fn bytes(&self, first: usize, bytes: usize) -> &[u8] {
        let start = first * CELL_BYTES;
        let secret = self.0.memory.get(start..start + bytes);
        secret.unwrap_or_default()
    }
}

impl fmt::Debug for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Page").finish_non_exhaustive()
    }
}

/// The lowest bits, as many as a secret of so many bytes needs cells; one at least. `None` if there are not
/// so many cells.
fn mask(bytes: usize) -> Option<u128> {
    let cells = bytes.div_ceil(CELL_BYTES).max(1);
    u128::MAX.checked_shr(u32::try_from(CELLS.checked_sub(cells)?).ok()?)
}
