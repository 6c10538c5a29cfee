//! A password in memory: never printed, overwritten when dropped.

use std::fmt;

use zeroize::Zeroizing;

/// A password. Its `Debug` shows nothing of it, not even its length.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Takes `text` over; the memory it is in will be overwritten.
    pub fn new(text: String) -> Self {
        Self(Zeroizing::new(text))
    }

    /// The password itself, for those who must know it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether the password is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}
