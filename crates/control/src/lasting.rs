//! What must go on although a part of it panics: listeners, and the reading of accounts. What a panic says, and where it began,
//! is logged by the process.

use std::future::poll_fn;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tokio::time::sleep;

/// How long what has failed rests before it begins anew.
const REST: Duration = Duration::from_millis(if cfg!(test) { 1 } else { 1_000 });

/// It panicked.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Panicked;

/// Waits for a future. It is dropped if it panics.
pub(crate) async fn caught<F: Future>(future: F) -> Result<F::Output, Panicked> {
    let mut future = pin!(future);
    poll_fn(
        |context| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
            Ok(polled) => polled.map(Ok),
            Err(_) => Poll::Ready(Err(Panicked)),
        },
    )
    .await
}

/// Serves until that ends by itself. Should it fail or panic, this is logged, and it begins anew after a second, unless
/// `stopped` says that the end has come.
pub async fn lasting<F, S>(
    name: &'static str,
    mut begin: impl FnMut() -> F,
    stopped: impl Fn() -> S,
) where
    F: Future<Output = io::Result<()>>,
    S: Future<Output = ()>,
{
    loop {
        match caught(async { begin().await }).await {
            Ok(Ok(())) => return,
            Ok(Err(error)) => tracing::error!(%error, "{name} has failed and begins anew"),
            Err(Panicked) => tracing::error!("{name} has panicked and begins anew"),
        }
        tokio::select! {
            () = stopped() => return,
            () = sleep(REST) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::pending;

    use super::*;

    #[tokio::test]
    async fn a_panic_is_caught_wherever_it_happens() {
        assert_eq!(caught(async { 7 }).await, Ok(7));
        let late = async {
            tokio::task::yield_now().await;
            panic!("on purpose")
        };
        assert_eq!(caught(late).await, Err::<(), _>(Panicked));
    }

    #[tokio::test]
    async fn what_fails_or_panics_begins_anew_until_it_ends_well() {
        let begun = Cell::new(0);
        let begin = || async {
            begun.set(begun.get() + 1);
            match begun.get() {
                1 => Err(io::Error::other("on purpose")),
                2 => panic!("on purpose"),
                _ => Ok(()),
            }
        };
        lasting("it", begin, async || pending().await).await;
        assert_eq!(begun.get(), 3);
    }

    #[tokio::test]
    async fn nothing_begins_anew_when_the_end_has_come() {
        let begun = Cell::new(0);
        let begin = || async {
            begun.set(begun.get() + 1);
            Err(io::Error::other("on purpose"))
        };
        lasting("it", begin, async || {}).await;
        assert_eq!(begun.get(), 1);
    }
}
