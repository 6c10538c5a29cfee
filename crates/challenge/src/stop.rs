//! Whether somebody has asked for an early end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::ChallengeError;

/// Shared by whoever hears of signals and whoever waits for something.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks for an end.
    pub fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was asked for.
    pub fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Ends what is being done if that was asked for.
    pub(crate) fn check(&self) -> Result<(), ChallengeError> {
        if self.is_requested() {
            Err(ChallengeError::Interrupted)
        } else {
            Ok(())
        }
    }
}
