//! The accounts of the database, read again and again: cheaply as long as nothing has changed there, and at
//! once when a worker asks.
//!
//! Owns when they are read, and who is told. What becomes of them is `accounts`' matter.

mod facts;
mod mariadb;
mod mysql;
mod orders;
mod rows;
mod sums;
mod tables;

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use accounts::{Directory, Register};
use engine::AccountsOrder;
use tokio::time::{Instant, sleep_until, timeout};

pub use orders::Orders;
pub use tables::Database;

/// How often is looked unless somebody asks.
const INTERVAL: Duration = Duration::from_secs(1);

/// Not more often, whoever asks: those who ask meanwhile share the next answer.
const PAUSE: Duration = Duration::from_millis(50);

/// One part in so many of its time is the most that is taken of a connection's, unless somebody asks.
const SHARE: u32 = 20;

/// How long the database may take.
const PATIENCE: Duration = Duration::from_secs(5);

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
    mut database: Database,
    orders: Arc<Orders>,
    notice: impl Notice,
    stopped: impl Future<Output = ()>,
) {
    let mut stopped = std::pin::pin!(stopped);
    let mut begun = Instant::now();
    let mut next = begun;
    let mut failing = false;
    let mut collected = orders.none();
    loop {
        tokio::select! {
            () = &mut stopped => return,
            () = sleep_until(next) => {}
            () = orders.given() => {}
        }
        sleep_until(begun + PAUSE).await;
        let asked = orders.collect(&mut collected);
        begun = Instant::now();
        let read = timeout(PATIENCE, database.read()).await;
        let read = read.unwrap_or_else(|_| Err("no answer within 5 s".to_owned()));
        // Of a database with very many privileges not much of its time is taken.
        next = begun + INTERVAL.max(SHARE * begun.elapsed());
        let told = read.is_ok();
        match read {
            Ok(reading) => {
                if std::mem::replace(&mut failing, false) {
                    tracing::info!("the database's accounts can be read again");
                }
                if let Some(reading) = reading {
                    // Published before anybody else can change it: the last one published is the latest.
                    let mut register = register.lock().unwrap_or_else(PoisonError::into_inner);
                    let changed = register.update(reading);
                    changed
                        .into_iter()
                        .for_each(|directory| notice.changed(directory));
                }
            }
            Err(error) => {
                database.forget();
                if !std::mem::replace(&mut failing, true) {
                    tracing::error!(error, "the database's accounts cannot be read");
                }
            }
        }
        for order in asked {
            notice.read(order, told);
        }
    }
}
