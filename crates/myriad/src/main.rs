//! The `myriad` command: one file per subcommand.

mod admin;
mod assistants;
mod certificates;
mod challenge;
mod config_command;
mod confinement;
mod credentials;
mod database_tls;
mod doctor;
mod duration;
mod load;
mod local;
mod log;
mod office;
mod parent;
mod passwords;
mod quotas;
mod reload;
mod serve;
mod workers;

use std::process::ExitCode;

use anyhow::Context;
use clap::{Parser, Subcommand};
use output::Unsaid;
use rustix::process::Signal;
use tokio::signal::unix::{SignalKind, signal};

/// A front door for MySQL and MariaDB: very many client connections, a few dozen backend
/// connections.
#[derive(Parser)]
#[command(version, about, disable_help_subcommand = true)]
struct Arguments {
    /// End with this process, which must have started this one.
    #[arg(long, value_name = "PID", hide = true)]
    end_with: Option<u32>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Accept clients and serve them from a few backend connections.
    Serve(serve::Arguments),
    /// Check a configuration file, or print the default one.
    #[command(subcommand)]
    Config(config_command::Arguments),
    /// Find out how many connections can execute at once on this machine, and write a report of it.
    Challenge(challenge::Arguments),
    /// Find out what would stop so many connections here, and what to do about it.
    Doctor(doctor::Arguments),
    /// Generate load, and measure how it is borne.
    #[command(subcommand)]
    Load(load::Arguments),
}

fn main() -> ExitCode {
    let code = match Arguments::try_parse() {
        Ok(arguments) => run(arguments).unwrap_or_else(|error| failed(&error)),
        Err(usage) => explain(&usage),
    };
    log::finish();
    code
}

fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    survive_file_limit().context("cannot handle SIGXFSZ")?;
    arguments.end_with.map_or(Ok(()), parent::end_with)?;
    match arguments.command {
        Command::Challenge(arguments) => challenge::run(&arguments),
        Command::Serve(arguments) => serve::run(&arguments),
        Command::Config(arguments) => config_command::run(&arguments),
        Command::Doctor(arguments) => return Ok(doctor::run(&arguments)),
        Command::Load(arguments) => load::run(&arguments),
    }
    .map(|()| ExitCode::SUCCESS)
}

/// A file that would grow beyond what the process may write (`ulimit -f`) is an error of that write, not the end of the
/// process. The same holds for pipes that nobody reads (SIGPIPE), which the standard library sees to.
fn survive_file_limit() -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    let _context = runtime.enter();
    // The handler stays when nobody listens any more.
    signal(SignalKind::from_raw(Signal::XFSZ.as_raw())).map(drop)
}

/// Help, the version, or what is wrong with the command line.
fn explain(usage: &clap::Error) -> ExitCode {
    match usage.print() {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            failed(&anyhow::Error::new(error).context("cannot write to standard output"))
        }
        _ => ExitCode::from(u8::try_from(usage.exit_code()).unwrap_or(u8::MAX)),
    }
}

/// That the reader of standard output has gone, as `head` does, is no failure.
fn failed(error: &anyhow::Error) -> ExitCode {
    if let Some(Unsaid::ReaderGone) = error.downcast_ref() {
        return ExitCode::SUCCESS;
    }
    log::complain(error);
    ExitCode::FAILURE
}
