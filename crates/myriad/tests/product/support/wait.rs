//! Waiting for a condition, within a bound.

use std::time::{Duration, Instant};

/// The longest that any test waits for one thing.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);

/// Looks again and again until there is something, and fails after [`LIMIT`].
pub(crate) fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + LIMIT;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "never came: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
