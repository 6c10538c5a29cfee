//! What whoever shows progress is told.

use crate::{Course, Row};

/// What a run is doing at this moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Live {
    /// Connections logged in.
    pub connections: u32,
    /// Transactions per second.
    pub per_s: f64,
    /// Whether it is being measured already.
    pub is_measuring: bool,
}

/// Shows progress.
pub trait Watcher {
    /// Something that should be read.
    fn say(&mut self, text: &str);
    /// What is being prepared.
    fn prepare(&mut self, text: &str);
    /// A run begins, the `number`th of `all`.
    fn begin(&mut self, course: &Course, number: usize, all: usize);
    /// It goes on.
    fn look(&mut self, live: &Live);
    /// It is over, or will not be done.
    fn done(&mut self, row: &Row);
}
