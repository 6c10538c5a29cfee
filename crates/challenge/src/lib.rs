//! The challenge: how many connections can execute at once on this machine, with the database alone
//! and through the front door, measured and told in one report.
//!
//! It brings up a private MariaDB ([`localdb`]), a front door and a load generator, each a process of
//! its own, and runs one [`Chapter`] after the other. What a host cannot do is foretold by the
//! [`doctor`] and told instead of tried; what stops a run and may be changed is changed and put back.
//!
//! Not here: command lines, progress bars, the front door and the generator themselves. Both are other
//! commands of the program whose path is in the [`Plan`].

mod bench;
mod case;
mod chapters;
mod checks;
mod child;
mod columns;
mod course;
mod database;
mod door;
mod error;
mod figures;
mod generator;
mod html;
mod kernel;
mod limits;
mod machine;
mod orders;
mod plan;
mod progress;
mod report;
mod run;
mod settings;
mod steps;
mod stop;
mod storm;
mod summary;
mod table;
mod text;

pub use case::Case;
pub use chapters::Chapter;
pub use checks::{Bound, Check};
pub use course::{Course, Way, Workload};
pub use error::ChallengeError;
pub use figures::{Beside, Figures, KernelMemory, Latency, Process, Storm};
pub use limits::Limit;
pub use machine::Machine;
pub use plan::Plan;
pub use progress::{Live, Watcher};
pub use report::{Outcome, Part, Reference, Report, Row, Settings};
pub use run::run;
pub use steps::Steps;
pub use stop::Stop;
