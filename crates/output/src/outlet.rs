//! Lines that a thread of its own writes, so that nobody who says something waits for the reader, or hears that there
//! is none.
//!
//! What is not written yet is bounded. Lines that find no room are lost, and counted; those that wait are written once
//! the writer works again, whole and in order.

use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Bytes that may wait, those that are being written included.
const ROOM: usize = 1 << 20;

/// How long a writer that has failed is left alone.
const RETRY: Duration = Duration::from_secs(1);

/// Room beyond that for the words that lines were lost: in a queue that stays full nobody would ever hear them.
const RESERVE: usize = 4 << 10;

/// Buffers that became larger are given back.
const BUFFER_MAX: usize = 64 << 10;

/// The way to the thread. It is cheap to clone.
#[derive(Clone)]
pub struct Outlet(Arc<Desk>);

struct Desk {
    state: Mutex<State>,
    /// There is something to write, or the end has come.
    due: Condvar,
    /// The thread has nothing left to do.
    ended: Condvar,
    lines_lost: AtomicU64,
    retry: Duration,
}

#[derive(Default)]
struct State {
    waiting: Vec<u8>,
    /// Bytes that the thread has taken and not written.
    in_hand: usize,
    /// Room beyond [`ROOM`], for now.
    reserve: usize,
    /// The thread ends when all is written, or when writing fails.
    is_ending: bool,
    has_ended: bool,
}

impl Outlet {
    /// Starts the thread, which calls `tell_lost` when lines were lost and it can write again, with their number: it
    /// may say so here.
    ///
    /// # Errors
    ///
    /// The system has no thread to give.
    pub fn start(
        name: &str,
        writer: impl Write + Send + 'static,
        tell_lost: impl Fn(u64) + Send + 'static,
    ) -> io::Result<Self> {
        Self::start_patiently(name, (writer, tell_lost), RETRY)
    }

    fn start_patiently(
        name: &str,
        (writer, tell_lost): (impl Write + Send + 'static, impl Fn(u64) + Send + 'static),
        retry: Duration,
    ) -> io::Result<Self> {
        let desk = Arc::new(Desk {
            state: Mutex::default(),
            due: Condvar::new(),
            ended: Condvar::new(),
            lines_lost: AtomicU64::new(0),
            retry,
        });
        let mut scribe = Scribe {
            desk: desk.clone(),
            writer,
            tell_lost,
            batch: Vec::new(),
            written: 0,
            told: 0,
        };
        let thread = thread::Builder::new().name(name.to_owned());
        // Should it ever panic, it goes on with what it has in hand.
        thread
            .spawn(move || while catch_unwind(AssertUnwindSafe(|| scribe.serve())).is_err() {})?;
        Ok(Self(desk))
    }

    /// Has lines written. Never waits and never fails.
    pub fn put(&self, lines: &[u8]) {
        let mut state = self.0.open();
        let taken = state.waiting.len() + state.in_hand;
        if state.has_ended || taken + lines.len() > ROOM + state.reserve {
            drop(state);
            self.0.lose(lines);
            return;
        }
        let is_first = state.waiting.is_empty();
        state.waiting.extend_from_slice(lines);
        drop(state);
        if is_first {
            self.0.due.notify_one();
        }
    }

    /// Lines that were lost so far.
    pub fn lines_lost(&self) -> u64 {
        self.0.lines_lost.load(Ordering::Relaxed)
    }

    /// Waits until everything is written, at most for so long. What is put from then on is lost.
    pub fn finish(&self, within: Duration) {
        let mut state = self.0.open();
        state.is_ending = true;
        self.0.due.notify_one();
        let waited = self
            .0
            .ended
            .wait_timeout_while(state, within, |state| !state.has_ended);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.has_ended = true;
    }
}

/// Each write is some whole lines.
impl Write for Outlet {
    fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
        self.put(lines);
        Ok(lines.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Desk {
    /// Also if somebody failed while it was open: it is changed in single steps.
    fn open(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lose(&self, lines: &[u8]) {
        let ends = lines.iter().filter(|&&byte| byte == b'\n').count();
        self.lines_lost
            .fetch_add(ends.max(1) as u64, Ordering::Relaxed);
    }

    /// Waits until there is something to write, and takes it. False once the end has come.
    fn take(&self, batch: &mut Vec<u8>) -> bool {
        let idle = |state: &mut State| state.waiting.is_empty() && !state.is_ending;
        let state = self.due.wait_while(self.open(), idle);
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        if state.waiting.is_empty() {
            state.has_ended = true;
            self.ended.notify_all();
            return false;
        }
        std::mem::swap(batch, &mut state.waiting);
        state.in_hand = batch.len();
        true
    }

    /// Leaves a writer that has failed alone for a while. False if the end has come.
    fn rest(&self) -> bool {
        let state = self.open();
        let rested = self
            .due
            .wait_timeout_while(state, self.retry, |state| !state.is_ending);
        let (state, _) = rested.unwrap_or_else(PoisonError::into_inner);
        !state.is_ending
    }
}

/// What the thread has.
struct Scribe<W, F> {
    desk: Arc<Desk>,
    writer: W,
    tell_lost: F,
    batch: Vec<u8>,
    /// So much of the batch is written.
    written: usize,
    /// Lines that were lost and told.
    told: u64,
}

impl<W: Write, F: Fn(u64)> Scribe<W, F> {
    fn serve(&mut self) {
        loop {
            if self.write_batch() {
                self.tell_lost();
            }
            self.batch.clear();
            self.batch.shrink_to(BUFFER_MAX);
            self.written = 0;
            if !self.desk.take(&mut self.batch) {
                return;
            }
        }
    }

    /// Writes what is in hand, however long that takes. False if it cannot be written, and the end has come.
    fn write_batch(&mut self) -> bool {
        while self.written < self.batch.len() {
            match self.writer.write(&self.batch[self.written..]) {
                Ok(count) if count > 0 => {
                    self.written += count;
                    self.desk.open().in_hand = self.batch.len().saturating_sub(self.written);
                }
                _ => {
                    if !self.desk.rest() {
                        self.desk.lose(&self.batch[self.written..]);
                        return false;
                    }
                }
            }
        }
        true
    }

    /// Says how many lines were lost. Those words may be lost as well: then they are among the next.
    fn tell_lost(&mut self) {
        let lost = self.desk.lines_lost.load(Ordering::Relaxed);
        if lost == self.told {
            return;
        }
        self.desk.open().reserve = RESERVE;
        (self.tell_lost)(lost - self.told);
        self.desk.open().reserve = 0;
        if self.desk.lines_lost.load(Ordering::Relaxed) == lost {
            self.told = lost;
        }
    }
}

#[cfg(test)]
mod tests;
