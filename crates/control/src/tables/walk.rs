//! From worker to worker and slice to slice, so that none of them is held up and nothing piles up
//! here: the next slice is asked for when the one before it was taken.

use std::sync::Arc;
use std::time::Duration;

use engine::{Look, Mail, Reply, Slice};
use tokio::time::Instant;

use crate::workers::{Workers, ask};

/// Makes the question for the slice that begins at a place.
pub(super) type Question<T> = fn(usize, Reply<Slice<T>>) -> Look;

/// How far it has come.
pub(super) struct Walk<T> {
    workers: Arc<dyn Workers>,
    question: Question<T>,
    answer_time: Duration,
    worker: usize,
    place: usize,
    /// Workers that did not answer.
    pub(super) silent: Vec<usize>,
}

impl<T: Send + 'static> Walk<T> {
    pub(super) fn new(
        workers: Arc<dyn Workers>,
        answer_time: Duration,
        question: Question<T>,
    ) -> Self {
        Self {
            workers,
            question,
            answer_time,
            worker: 0,
            place: 0,
            silent: Vec::new(),
        }
    }

    /// What the next slice holds, which may be nothing; `None` after the last.
    pub(super) async fn next(&mut self) -> Option<Vec<T>> {
        if self.worker >= self.workers.count() {
            return None;
        }
        let (question, place) = (self.question, self.place);
        let deadline = Instant::now() + self.answer_time;
        let asked = ask(self.workers.as_ref(), self.worker, deadline, |reply| {
            Mail::Look(question(place, reply))
        });
        let Some(slice) = asked.await else {
            self.silent.push(self.worker);
            self.go_on(None);
            return Some(Vec::new());
        };
        self.go_on(slice.next);
        Some(slice.lines)
    }

    fn go_on(&mut self, next: Option<usize>) {
        self.place = next.unwrap_or_default();
        self.worker += usize::from(next.is_none());
    }
}
