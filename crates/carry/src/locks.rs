//! carry::locks

pub mod answer;
pub mod effect;
pub mod held;
pub mod registry;
