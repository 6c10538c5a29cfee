//! Numbers from a seed, so that a test that failed can be run again, and from the environment.

/// Numbers from a seed; the constants are those of Knuth's MMIX.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    /// The next number, smaller than `limit`.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = self.0.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

/// A number from the environment.
pub(crate) fn number(name: &str, otherwise: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{name}={text} is no number")),
        Err(_) => otherwise,
    }
}
