//! What is to be done, as the command line asks for it.

use std::num::NonZero;
use std::path::PathBuf;
use std::time::Duration;

use crate::{Chapter, Course, Steps};

/// What is to be done.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The program of which front door and load generator are commands.
    pub program: PathBuf,
    /// What is to be run, in this order.
    pub chapters: Vec<Chapter>,
    /// The ladder's numbers of connections.
    pub steps: Steps,
    /// The numbers of reconnecting users.
    pub users: Steps,
    /// The numbers of updating connections.
    pub widths: Steps,
    /// How many clients a misbehaving account has where they are many.
    pub crowd: u32,
    /// How many clients are in a retry storm.
    pub storm: u32,
    /// How long each run of the ladder is measured.
    pub duration: Duration,
    /// Rows of each of the ten tables.
    pub table_size: u32,
    /// Where the private database lives.
    pub database: PathBuf,
    /// Where reports and logs go.
    pub out: PathBuf,
    /// Where old values of the host's settings are kept until they are put back: a file that the next
    /// challenge finds, wherever it is started.
    pub state: PathBuf,
    /// Whether no setting of the host is to be changed.
    pub keep_settings: bool,
    /// Whether front door and generator will run over io_uring.
    pub uring: doctor::Uring,
}

impl Plan {
    /// All runs, in order.
    pub(crate) fn courses(&self) -> impl Iterator<Item = Course> + '_ {
        self.chapters
            .iter()
            .flat_map(|chapter| chapter.courses(self))
    }

    /// This machine, as the doctor sees it.
    pub(crate) fn host(&self) -> doctor::Host {
        doctor::Host::here(self.uring.clone())
    }

    /// Workers of the front door, and as many threads of the generator. The database needs twice what
    /// either needs, so each of them gets a quarter of the machine.
    pub(crate) fn threads(&self) -> u32 {
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        u32::try_from(cores / 4).unwrap_or(u32::MAX).max(1)
    }

    /// The reports, without what comes behind the dot.
    pub(crate) fn report(&self, extension: &str) -> PathBuf {
        self.out.join(format!("challenge.{extension}"))
    }
}
