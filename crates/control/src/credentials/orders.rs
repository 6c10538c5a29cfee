//! What workers order: of each only the last order matters, so there is one place per worker and no queue.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use engine::AccountsOrder;
use tokio::sync::Notify;

/// The orders of all workers to read the accounts.
#[derive(Debug)]
pub struct Orders {
    /// Of each worker the last ticket; they grow, and begin at 1.
    tickets: Vec<AtomicU64>,
    news: Notify,
}

impl Orders {
    /// For so many workers.
    pub fn new(workers: usize) -> Arc<Self> {
        Arc::new(Self {
            tickets: (0..workers).map(|_| AtomicU64::new(0)).collect(),
            news: Notify::new(),
        })
    }

    /// Gives an order. Whoever gives it does not wait. Of a worker that there is not it is nobody's.
    pub fn give(&self, order: AccountsOrder) {
        if let Some(ticket) = self.tickets.get(order.worker) {
            ticket.fetch_max(order.ticket, Ordering::Release);
            self.news.notify_one();
        }
    }

    /// Waits for an order.
    pub(super) async fn given(&self) {
        self.news.notified().await;
    }

    /// The tickets of which none was collected.
    pub(super) fn none(&self) -> Vec<u64> {
        vec![0; self.tickets.len()]
    }

    /// The last order of each worker that gave any since.
    pub(super) fn collect(&self, collected: &mut [u64]) -> Vec<AccountsOrder> {
        let each = self.tickets.iter().zip(collected).enumerate();
        each.filter_map(|(worker, (ticket, collected))| {
            let ticket = ticket.load(Ordering::Acquire);
            let before = std::mem::replace(collected, ticket);
            (ticket > before).then_some(AccountsOrder { worker, ticket })
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_last_order_of_each_worker_is_collected_once() {
        let orders = Orders::new(3);
        let mut collected = orders.none();
        for (worker, ticket) in [(2, 1), (0, 1), (2, 7), (2, 6), (9, 1)] {
            orders.give(AccountsOrder { worker, ticket });
        }
        orders.given().await;
        let told = |orders: Vec<AccountsOrder>| -> Vec<_> {
            let each = orders.into_iter();
            each.map(|order| (order.worker, order.ticket)).collect()
        };
        assert_eq!(told(orders.collect(&mut collected)), [(0, 1), (2, 7)]);
        assert_eq!(told(orders.collect(&mut collected)), []);
        orders.give(AccountsOrder {
            worker: 0,
            ticket: 2,
        });
        assert_eq!(told(orders.collect(&mut collected)), [(0, 2)]);
    }
}
