//! Mail between threads: each worker has one inbox, everybody may have the postboxes.
//!
//! Posting wakes the worker only if it sleeps: waking costs more than all the rest. The queue is
//! not bounded here: what is posted is bounded by those who post.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use events::Peer;
use rustix::event::{EventfdFlags, eventfd};

use crate::balance::Balance;
use crate::error::DriverError;

/// The receiving end of one worker's mail. Dropping it ends the worker for those who post.
pub struct Inbox<M> {
    worker: usize,
    office: Arc<Office<M>>,
}

/// The sending end of the mail of all workers.
pub struct Postboxes<M> {
    office: Arc<Office<M>>,
}

/// Makes the mail of `workers` workers: an inbox for each, and the postboxes for everybody.
/// Fails if the process has too many open files.
pub fn mailboxes<M>(workers: usize) -> Result<(Vec<Inbox<M>>, Postboxes<M>), DriverError> {
    let boxes: Result<Vec<_>, _> = (0..workers).map(|_| Mailbox::new()).collect();
    let office = Arc::new(Office {
        boxes: boxes?,
        balance: Balance::new(workers),
    });
    let inbox = |worker| Inbox {
        worker,
        office: Arc::clone(&office),
    };
    Ok(((0..workers).map(inbox).collect(), Postboxes { office }))
}

/// What may lie in an inbox.
pub(crate) enum Letter<M> {
    /// For the handler.
    Mail(M),
    /// A connection that another worker accepted, for the driver.
    Adopt(OwnedFd, Peer),
}

struct Office<M> {
    boxes: Vec<Mailbox<M>>,
    balance: Balance,
}

struct Mailbox<M> {
    queue: Mutex<Queue<M>>,
    wake: OwnedFd,
}

struct Queue<M> {
    letters: VecDeque<Letter<M>>,
    owner: Owner,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    Awake,
    Asleep,
    Ended,
}

impl<M> Postboxes<M> {
    /// Posts to a worker. Returns the mail if that worker has ended or never existed.
    pub fn post(&self, worker: usize, mail: M) -> Result<(), M> {
        match self.send(worker, Letter::Mail(mail)) {
            Err(Letter::Mail(mail)) => Err(mail),
            _ => Ok(()),
        }
    }

    /// How many workers there are, ended ones included.
    pub fn workers(&self) -> usize {
        self.office.boxes.len()
    }

    pub(crate) fn send(&self, worker: usize, letter: Letter<M>) -> Result<(), Letter<M>> {
        match self.office.boxes.get(worker) {
            Some(mailbox) => mailbox.put(letter),
            None => Err(letter),
        }
    }
}

impl<M> Clone for Postboxes<M> {
    fn clone(&self) -> Self {
        Self {
            office: Arc::clone(&self.office),
        }
    }
}

impl<M> Inbox<M> {
    /// The number of the worker that this inbox belongs to.
    pub fn worker(&self) -> usize {
        self.worker
    }

    pub(crate) fn balance(&self) -> Balance {
        self.office.balance.clone()
    }

    /// Becomes readable, as an edge, whenever mail comes in while the worker sleeps.
    pub(crate) fn wake_fd(&self) -> BorrowedFd<'_> {
        self.mailbox().wake.as_fd()
    }

    /// Declares that the worker is about to sleep. False if there is mail, so that it must not.
    pub(crate) fn fall_asleep(&self) -> bool {
        let mut queue = self.mailbox().lock();
        let may_sleep = queue.letters.is_empty();
        if may_sleep && queue.owner == Owner::Awake {
            queue.owner = Owner::Asleep;
        }
        may_sleep
    }

    /// Takes what has come into `letters`, which must be empty, and declares the worker awake.
    pub(crate) fn take(&self, letters: &mut VecDeque<Letter<M>>) {
        let mut queue = self.mailbox().lock();
        queue.owner = Owner::Awake;
        std::mem::swap(&mut queue.letters, letters);
    }

    /// Refuses mail from now on, and drops what was not taken.
    pub(crate) fn end(&self) {
        self.office.balance.retire(self.worker);
        let undelivered = {
            let mut queue = self.mailbox().lock();
            queue.owner = Owner::Ended;
            std::mem::take(&mut queue.letters)
        };
        // Outside the lock: mail may do anything when dropped, even post.
        drop(undelivered);
    }

    fn mailbox(&self) -> &Mailbox<M> {
        &self.office.boxes[self.worker]
    }
}

impl<M> Drop for Inbox<M> {
    fn drop(&mut self) {
        self.end();
    }
}

impl<M> Mailbox<M> {
    fn new() -> Result<Self, DriverError> {
        let wake = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)
            .map_err(DriverError::setup("a mailbox"))?;
        let queue = Queue {
            letters: VecDeque::new(),
            owner: Owner::Awake,
        };
        Ok(Self {
            queue: Mutex::new(queue),
            wake,
        })
    }

    fn put(&self, letter: Letter<M>) -> Result<(), Letter<M>> {
        let mut queue = self.lock();
        if queue.owner == Owner::Ended {
            return Err(letter);
        }
        queue.letters.push_back(letter);
        let asleep = queue.owner == Owner::Asleep;
        queue.owner = Owner::Awake;
        drop(queue);
        if asleep {
            // Cannot fail: the descriptor lives as long as the mailbox, and a count that nobody
            // reads does not overflow in the life of a machine.
            let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
        }
        Ok(())
    }

    /// The queue is whole even if a thread panicked while holding it: each change is one step.
    fn lock(&self) -> MutexGuard<'_, Queue<M>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wakes(inbox: &Inbox<u32>) -> u64 {
        let mut count = [0; 8];
        match rustix::io::read(inbox.wake_fd(), &mut count) {
            Ok(_) => u64::from_ne_bytes(count),
            Err(_) => 0,
        }
    }

    fn taken(inbox: &Inbox<u32>) -> Vec<u32> {
        let mut letters = VecDeque::new();
        inbox.take(&mut letters);
        let mail = |letter| match letter {
            Letter::Mail(mail) => Some(mail),
            Letter::Adopt(..) => None,
        };
        letters.into_iter().filter_map(mail).collect()
    }

    #[test]
    fn only_a_sleeping_worker_is_woken_and_only_once() {
        let (inboxes, postboxes) = mailboxes::<u32>(1).unwrap();
        let inbox = &inboxes[0];
        postboxes.post(0, 1).unwrap();
        assert_eq!(wakes(inbox), 0);
        assert!(!inbox.fall_asleep());
        assert_eq!(taken(inbox), [1]);
        assert!(inbox.fall_asleep());
        postboxes.post(0, 2).unwrap();
        postboxes.post(0, 3).unwrap();
        assert_eq!(wakes(inbox), 1);
        assert_eq!(taken(inbox), [2, 3]);
    }

    #[test]
    fn mail_to_nobody_comes_back() {
        let (mut inboxes, postboxes) = mailboxes::<u32>(2).unwrap();
        drop(inboxes.remove(0));
        assert_eq!(postboxes.post(0, 7), Err(7));
        assert_eq!(postboxes.post(2, 8), Err(8));
        assert_eq!(postboxes.post(1, 9), Ok(()));
        assert_eq!(taken(&inboxes[0]), [9]);
    }
}
