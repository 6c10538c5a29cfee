//! Waiting for a condition, within a bound.

use std::time::{Duration, Instant};

/// The longest that any test waits for one thing.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);

/// Looks again and again until there is something, and fails after [`LIMIT`].
pub(crate) fn eventually<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    in_time(look).unwrap_or_else(|| panic!("never came: {what}"))
}

/// The same, for what may not come: then there is nothing after [`LIMIT`].
pub(crate) fn in_time<T>(look: impl FnMut() -> Option<T>) -> Option<T> {
    within(LIMIT, look)
}

/// The same within another bound.
pub(crate) fn within<T>(limit: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + limit;
    loop {
        let found = look();
        if found.is_some() || Instant::now() >= deadline {
            return found;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
