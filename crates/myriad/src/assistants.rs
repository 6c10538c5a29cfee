//! Threads that prepare long commands, one for each worker: joining packets and classifying a text take milliseconds per
//! megabyte, in which nobody else's statements would go on.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use driver::Postboxes;
use engine::{LongCommand, Mail, Preparer};
use membership::Key;

/// So many may wait for each; the worker itself prepares one more.
const WAITING_MAX: usize = 256;

/// The ways to the threads.
pub(crate) struct Assistants {
    orders: Vec<SyncSender<LongCommand>>,
}

impl Assistants {
    /// Starts them. They end when nobody can give them an order any more.
    pub(crate) fn start(workers: usize, postboxes: &Postboxes<Mail>) -> std::io::Result<Self> {
        let start = |worker| {
            let (orders, ordered) = sync_channel(WAITING_MAX);
            let postboxes = postboxes.clone();
            let thread = std::thread::Builder::new().name(format!("assistant-{worker}"));
            thread.spawn(move || serve(&ordered, &postboxes))?;
            Ok(orders)
        };
        let orders = (0..workers)
            .map(start)
            .collect::<Result<_, std::io::Error>>()?;
        Ok(Self { orders })
    }
}

impl Preparer for Assistants {
    fn prepare(&self, command: LongCommand) -> Result<(), LongCommand> {
        let Some(orders) = self.orders.get(command.worker()) else {
            return Err(command);
        };
        orders.try_send(command).map_err(|refused| match refused {
            TrySendError::Full(command) | TrySendError::Disconnected(command) => command,
        })
    }
}

fn serve(ordered: &Receiver<LongCommand>, postboxes: &Postboxes<Mail>) {
    while let Ok(command) = ordered.recv() {
        let asker = command.asker();
        let (worker, mail) = prepared_for(asker, || command.prepare());
        // If that worker has ended, so has its client.
        let _ended = postboxes.post(worker, mail);
    }
}

/// What `prepare` returns. If it panics, the command is lost and its client is closed; the thread goes on with the commands
/// of others.
fn prepared_for(
    (worker, client): (usize, Key),
    prepare: impl FnOnce() -> (usize, Mail),
) -> (usize, Mail) {
    catch_unwind(AssertUnwindSafe(prepare)).unwrap_or((worker, Mail::CommandLost(client)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_costs_the_client_whose_command_it_was() {
        let client = membership::Slab::default().insert(());
        let (worker, mail) = prepared_for((3, client), || panic!("a defect"));
        assert_eq!(worker, 3);
        assert!(
            matches!(mail, Mail::CommandLost(lost) if lost == client),
            "{mail:?}"
        );
    }
}
