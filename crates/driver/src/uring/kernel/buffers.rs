//! The memory that a ring receives into, lent to the kernel piece by piece.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::Submitter;
use io_uring::types::BufRingEntry;

/// How many buffers a ring has; a power of two.
const COUNT: u16 = 256;
/// How large each of them is.
const SIZE: usize = 16 * 1024;
/// The name of the one group of buffers of a ring.
pub(super) const GROUP: u16 = 0;

/// How much memory the buffers of a ring take, in bytes, once all have been used.
pub(crate) const TOTAL: usize = COUNT as usize * SIZE;

const PAGE: usize = 4096;
const LAYOUT: Layout =
    match Layout::from_size_align(COUNT as usize * size_of::<BufRingEntry>(), PAGE) {
        Ok(layout) => layout,
        Err(_) => Layout::new::<()>(),
    };

/// The buffers of one ring. Each is in one of three places: on the list, where the kernel owns it;
/// with whoever handles what it holds ([`Filled`]); or on its way between the two.
pub(super) struct Buffers {
    /// What the kernel reads: a list that goes round.
    entries: NonNull<BufRingEntry>,
    tail: u16,
    /// Absent are those that are being handled.
    buffers: Vec<Option<Vec<u8>>>,
}

/// A buffer that holds what was received. It is to be given back to its ring.
pub(crate) struct Filled {
    id: u16,
    bytes: Vec<u8>,
    length: usize,
}

impl Filled {
    /// What was received.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl Buffers {
    /// Lends all buffers to the ring.
    pub(super) fn register(ring: &Submitter<'_>) -> io::Result<Self> {
        // SAFETY: the layout is not empty.
        let memory = unsafe { alloc_zeroed(LAYOUT) };
        let Some(entries) = NonNull::new(memory.cast::<BufRingEntry>()) else {
            return Err(io::ErrorKind::OutOfMemory.into());
        };
        let mut buffers = Self {
            entries,
            tail: 0,
            buffers: (0..COUNT).map(|_| None).collect(),
        };
        let address = entries.as_ptr() as u64;
        // SAFETY: the memory holds COUNT entries and lives until `unregister` has succeeded.
        unsafe { ring.register_buf_ring_with_flags(address, COUNT, GROUP, 0) }?;
        for id in 0..COUNT {
            buffers.lend(id, vec![0; SIZE]);
        }
        Ok(buffers)
    }

    /// Takes the buffer that the kernel has filled with `length` bytes.
    pub(super) fn take(&mut self, id: u16, length: usize) -> Option<Filled> {
        let bytes = self.buffers.get_mut(usize::from(id))?.take()?;
        let length = length.min(bytes.len());
        Some(Filled { id, bytes, length })
    }

    /// Lends a buffer to the kernel again.
    pub(super) fn give_back(&mut self, filled: Filled) {
        self.lend(filled.id, filled.bytes);
    }

    /// Takes all buffers from the kernel. Without success they must not be dropped.
    pub(super) fn unregister(&self, ring: &Submitter<'_>) -> io::Result<()> {
        ring.unregister_buf_ring(GROUP)
    }

    fn lend(&mut self, id: u16, mut bytes: Vec<u8>) {
        let place = usize::from(self.tail & (COUNT - 1));
        // SAFETY: the place lies within the list, and the kernel does not read it before the tail
        // has passed it. No reference to it is kept.
        let entry = unsafe { &mut *self.entries.as_ptr().add(place) };
        entry.set_addr(bytes.as_mut_ptr() as u64);
        entry.set_len(bytes.len() as u32);
        entry.set_bid(id);
        self.buffers[usize::from(id)] = Some(bytes);
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: the tail lies in the unused bytes of the first entry, is aligned, and is only
        // written here; the kernel reads it atomically.
        let tail =
            unsafe { AtomicU16::from_ptr(BufRingEntry::tail(self.entries.as_ptr()).cast_mut()) };
        tail.store(self.tail, Ordering::Release);
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout in `register`; the ring, which owns this, leaks it
        // unless the kernel has given it back.
        unsafe { dealloc(self.entries.as_ptr().cast(), LAYOUT) };
    }
}
