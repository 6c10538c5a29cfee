//! Changing limits and reading the configuration again, while the front door serves.
//!
//! Owns that nobody waits for a disk that does not answer: files are read and written on threads of their own, whoever
//! asked is told after a while, and metrics, health and signals are dealt with meanwhile. What is written where is the
//! matter of `quotas` and `reload`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use control::{Lasts, Whose};
use driver::Postboxes;
use engine::{LimitsOrder, Mail};
use session::statement::Limits;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::timeout;

use crate::quotas::{self, Book};

/// How long whoever wants something changed waits for the disk.
const PATIENCE: Duration = Duration::from_millis(if cfg!(test) { 10 } else { 10_000 });

/// So many changes may wait for it; one more is refused.
const WAITING_MAX: usize = 64;

/// The way to the [`Book`]. It is cheap to clone.
#[derive(Clone)]
pub(crate) struct Office {
    book: Arc<Mutex<Book>>,
    /// What is in force, for whoever only looks.
    settings: Arc<Mutex<Arc<config::Settings>>>,
    places: Arc<Semaphore>,
    postboxes: Postboxes<Mail>,
}

type Changed = Result<(), String>;

impl Office {
    pub(crate) fn new(book: Book, postboxes: Postboxes<Mail>) -> Self {
        Self {
            settings: Arc::new(Mutex::new(Arc::new(book.settings.clone()))),
            book: Arc::new(Mutex::new(book)),
            places: Arc::new(Semaphore::new(WAITING_MAX)),
            postboxes,
        }
    }

    /// The settings in force.
    pub(crate) fn settings(&self) -> Arc<config::Settings> {
        open(&self.settings).clone()
    }

    /// Keeps what a statement of a client has changed, puts it in force, and tells whoever asked. Does not wait.
    pub(crate) fn carry_out(&self, order: LimitsOrder) {
        let LimitsOrder { change, asker } = order;
        let changing = self.change(move |book| book.keep(&change));
        let postboxes = self.postboxes.clone();
        tokio::spawn(async move {
            let kept = told(changing).await;
            if let Err(error) = &kept {
                tracing::error!("limits could not be kept: {error}");
            }
            if let Some((worker, client)) = asker {
                // If that worker has ended, so has the client.
                let _ended = postboxes.post(worker, Mail::LimitsKept(client, kept));
            }
        });
    }

    /// Reads the configuration again; what goes wrong is told in the log. Does not wait.
    pub(crate) fn reload(&self) {
        let reloading = self.change(Book::reload);
        tokio::spawn(async move {
            if let Err(error) = told(reloading).await {
                tracing::error!("nothing was changed: {error}");
            }
        });
    }

    fn change(
        &self,
        change: impl FnOnce(&mut Book) -> anyhow::Result<()> + Send + 'static,
    ) -> Result<JoinHandle<Changed>, String> {
        let place = self.places.clone().try_acquire_owned();
        let place =
            place.map_err(|_| format!("{WAITING_MAX} changes wait for the disk already"))?;
        let office = self.clone();
        Ok(spawn_blocking(move || office.change_now(place, change)))
    }

    fn change_now(
        &self,
        place: OwnedSemaphorePermit,
        change: impl FnOnce(&mut Book) -> anyhow::Result<()>,
    ) -> Changed {
        let mut book = open(&self.book);
        let changed = change(&mut book);
        *open(&self.settings) = Arc::new(book.settings.clone());
        drop(place);
        changed.map_err(|error| format!("{error:#}"))
    }
}

/// Also if somebody failed while it was open: it is changed in one step.
fn open<T>(locked: &Mutex<T>) -> MutexGuard<'_, T> {
    locked.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What became of a change, or that this is not known yet.
async fn told(changing: Result<JoinHandle<Changed>, String>) -> Changed {
    match timeout(PATIENCE, changing?).await {
        Ok(Ok(changed)) => changed,
        Ok(Err(_panicked)) => Err("it could not be carried out; see the log".to_owned()),
        Err(_) => Err(format!(
            "the disk has not answered for {PATIENCE:?}; the change may come into force later"
        )),
    }
}

impl control::Office for Office {
    fn reload(&self) -> control::Changing {
        let reloading = self.change(Book::reload);
        Box::pin(told(reloading))
    }

    fn set_limits(&self, whose: &[Whose], limits: &Limits, lasts: Lasts) -> control::Changing {
        let (whose, limits) = (whose.to_vec(), quotas::written(limits));
        let setting = self.change(move |book| book.set(&whose, &limits, lasts));
        Box::pin(told(setting))
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    #[tokio::test]
    async fn whoever_asked_is_told_what_became_of_it() {
        let said = |answer: Changed| Ok(tokio::spawn(async { answer }));
        assert_eq!(told(said(Ok(()))).await, Ok(()));
        let no = || Err("no room".to_owned());
        assert_eq!(told(said(no())).await, no());
        assert_eq!(told(Err("no room".to_owned())).await, no());
        let panics = tokio::spawn(async { std::panic::resume_unwind(Box::new("on purpose")) });
        assert!(told(Ok(panics)).await.unwrap_err().contains("see the log"));
        let never = tokio::spawn(pending());
        assert!(
            told(Ok(never))
                .await
                .unwrap_err()
                .contains("has not answered")
        );
    }
}
