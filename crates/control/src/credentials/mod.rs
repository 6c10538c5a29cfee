//! The accounts of the database, read again and again: cheaply as long as nothing has changed there, and at
//! once when a worker asks.
//!
//! Owns when they are read, and who is told. What becomes of them is `accounts`' matter.

mod facts;
mod mariadb;
mod mysql;
mod orders;
mod rows;
mod status;
mod succession;
mod sums;
mod tables;

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use accounts::{Directory, Reading, Register};
use engine::AccountsOrder;
use tokio::time::{Instant, sleep_until, timeout};

use crate::lasting::{Panicked, caught};

pub use orders::Orders;
pub use status::AccountsStatus;
pub(crate) use status::{Attempt, Attempts, Unread};
pub use succession::{Succession, Successor};
pub use tables::Database;

/// How often is looked unless somebody asks.
const INTERVAL: Duration = Duration::from_secs(1);

/// Not more often, whoever asks: those who ask meanwhile share the next answer.
const PAUSE: Duration = Duration::from_millis(50);

/// Reading takes at most one part in so many of the database's time, unless somebody asks.
const SHARE: u32 = 20;

/// But accounts are read this often even where one reading takes long: on a busy machine it may be slow once.
const LONGEST: Duration = Duration::from_secs(10);

/// How long the database may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// The same when nobody waits for what it says any more.
const PATIENCE_AT_END: Duration = Duration::from_millis(500);

/// What is told of each time that the accounts were read, or could not be.
pub trait Notice: Send + Sync {
    /// Other accounts are known than before.
    fn changed(&self, directory: Arc<Directory>);

    /// They were read, or could not be, after these orders had been given: for each worker that asked, the
    /// last one.
    fn read(&self, order: AccountsOrder, read: bool);
}

/// Reads the accounts of a database into `register` until `stopped`.
pub async fn read_accounts(
    register: Arc<Mutex<Register>>,
    database: Database,
    (orders, succession): (Arc<Orders>, Arc<Succession>),
    status: Arc<AccountsStatus>,
    notice: impl Notice,
    stopped: impl Future<Output = ()>,
) {
    let mut stopped = std::pin::pin!(stopped);
    let mut begun = Instant::now();
    let mut next = begun;
    let mut collected = orders.none();
    let mut reader = Reader {
        register,
        database,
        notice,
        status,
        failing: false,
    };
    loop {
        tokio::select! {
            () = &mut stopped => return leave(&mut reader.database).await,
            () = sleep_until(next) => {}
            () = orders.given() => {}
            () = succession.offered() => {}
        }
        sleep_until(begun + PAUSE).await;
        let asked = orders.collect(&mut collected);
        begun = Instant::now();
        let told = match caught(reader.look(succession.take())).await {
            Ok(told) => told,
            Err(Panicked) => reader.failed("reading them panicked"),
        };
        next = begun + interval(begun.elapsed(), told);
        for order in asked {
            reader.notice.read(order, told);
        }
    }
}

struct Reader<N> {
    register: Arc<Mutex<Register>>,
    database: Database,
    notice: N,
    status: Arc<AccountsStatus>,
    failing: bool,
}

impl<N: Notice> Reader<N> {
    /// Reads the accounts once, as a successor if there is one and it can. False if that cannot be done.
    async fn look(&mut self, successor: Option<Successor>) -> bool {
        let succeeded = match successor {
            Some(successor) => self.give_way(successor).await,
            None => false,
        };
        succeeded || self.read().await
    }

    /// Reads the accounts once. False if that cannot be done.
    async fn read(&mut self) -> bool {
        let began = Instant::now();
        let read = patiently(&mut self.database).await;
        self.status.note(began, read.as_ref().err());
        match read {
            Ok(reading) => {
                if std::mem::replace(&mut self.failing, false) {
                    tracing::info!("the database's accounts can be read again");
                }
                self.publish(|register| register.update(reading?));
                true
            }
            Err(Unread { error, .. }) => self.failed(&error),
        }
    }

    /// The accounts could not be read: false.
    fn failed(&mut self, error: &str) -> bool {
        self.database.forget();
        if !std::mem::replace(&mut self.failing, true) {
            tracing::error!(error, "the database's accounts cannot be read");
        }
        false
    }

    /// Reads the accounts as a successor, which stays if that can be done. False if not: all is as before.
    async fn give_way(&mut self, mut successor: Successor) -> bool {
        let user = successor.login.0.clone();
        let began = Instant::now();
        match patiently(&mut successor.database).await {
            Ok(reading) => {
                self.database = successor.database;
                self.failing = false;
                self.status.note(began, None);
                self.publish(|register| register.change_ours(successor.login));
                self.publish(|register| register.update(reading?));
                tracing::info!(
                    user,
                    "the database's accounts are read with the new settings"
                );
                true
            }
            Err(Unread { error, .. }) => {
                let stays = "the database's accounts cannot be read with the new settings; \
                             those of before stay";
                tracing::error!(user, error, "{stays}");
                false
            }
        }
    }

    /// Published before anybody else can change it: the last one published is the latest.
    fn publish(&self, change: impl FnOnce(&mut Register) -> Option<Arc<Directory>>) {
        let mut register = self.register.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(directory) = change(&mut register) {
            self.notice.changed(directory);
        }
    }
}

/// How long after one reading began the next one begins. `took`: how long it took; `told`: the database answered.
fn interval(took: Duration, told: bool) -> Duration {
    match told {
        true => (SHARE * took).clamp(INTERVAL, LONGEST),
        // Who does not answer does not lose time either.
        false => took.max(INTERVAL),
    }
}

/// Nothing more is to be read.
async fn leave(database: &mut Database) {
    // Who cannot be told so need not be.
    let _told = timeout(PATIENCE_AT_END, database.leave()).await;
}

/// What the database says, if it does within its time.
async fn patiently(database: &mut Database) -> Result<Option<Reading>, Unread> {
    let read = timeout(PATIENCE, database.read()).await;
    read.unwrap_or_else(|_| {
        Err(Unread {
            error: format!("no answer within {} s", PATIENCE.as_secs()),
            answered: false,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_slow_reading_delays_the_next_one_within_a_bound() {
        for (took, told, expected) in [
            (1, true, INTERVAL),
            (100, true, Duration::from_secs(2)),
            (2_000, true, LONGEST),
            (1, false, INTERVAL),
            (5_000, false, PATIENCE),
        ] {
            let took = Duration::from_millis(took);
            assert_eq!(interval(took, told), expected, "{took:?} {told}");
        }
    }
}
