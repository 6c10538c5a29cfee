//! `myriad load`: the load generator. One file per command, and one per kind of flags.

mod flags;
mod group;
mod prepare;
mod run;

use clap::Subcommand;

/// What to do with the load generator.
#[derive(Subcommand)]
pub(crate) enum Arguments {
    /// Make the tables that the workloads use, as sysbench makes them, and fill them.
    Prepare(prepare::Prepare),
    /// Keep many connections busy, check every answer, and say how long they took.
    ///
    /// Exits with status 1 if anything went wrong: an error, a wrong answer, a lost connection.
    /// Deadlocks are no such thing where transactions write.
    Run(Box<run::Run>),
    /// Remove the tables.
    Cleanup(prepare::Cleanup),
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    match arguments {
        Arguments::Prepare(prepare) => prepare.run(),
        Arguments::Run(run) => run.run(),
        Arguments::Cleanup(cleanup) => cleanup.run(),
    }
}
