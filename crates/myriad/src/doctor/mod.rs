//! `myriad doctor`: what would stop so many connections here. One file per part: the flags, what is
//! done about findings, what errors mean.

mod backend;
mod explain;
mod fix;
mod flags;
mod quick;
mod tracker;

use std::io::IsTerminal;
use std::process::ExitCode;

use anyhow::Context;
use clap::Subcommand;
use doctor::{Host, Report, Style, Uring};
use output::Unsaid;

use crate::log;

pub(crate) use quick::warn_of_obstacles;

/// What to examine.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    wanted: flags::Wanted,
    /// Print everything as JSON.
    #[arg(long)]
    json: bool,
    /// Show at full length also what is fine.
    #[arg(long, short)]
    verbose: bool,
    #[command(flatten)]
    fix: fix::Flags,
}

#[derive(Subcommand)]
enum Command {
    /// Tell what an error means: a number, a symbol, or a whole message.
    Explain(explain::Explain),
}

/// The status of a run that could not examine anything; 0 to 2 say what was found.
const FAILED: u8 = 3;

/// How wide the text is where nobody says.
const WIDTH: usize = 100;

pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let done = match &arguments.command {
        Some(Command::Explain(explain)) => explain.run(style(false)),
        None => examine(arguments),
    };
    done.unwrap_or_else(|error| {
        log::complain(&error);
        ExitCode::from(FAILED)
    })
}

fn examine(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let need = arguments.wanted.need()?;
    let host = arguments.wanted.host(Host::here(uring()));
    let mut report = doctor::examine(&host, &need);
    report.add(arguments.wanted.examine_database(&host, &need)?);
    if arguments.fix.wanted() {
        return arguments.fix.run(&report);
    }
    show(&report, arguments)?;
    Ok(ExitCode::from(report.exit_status()))
}

fn show(report: &Report, arguments: &Arguments) -> anyhow::Result<()> {
    let text = if arguments.json {
        let json = report.to_json();
        json.context("the report cannot be written as JSON")? + "\n"
    } else {
        report.to_text(style(arguments.verbose))
    };
    print(&text)
}

/// Whether the kernel offers io_uring, asked by making a ring.
pub(crate) fn uring() -> Uring {
    match driver::Driver::IoUring.probe() {
        Ok(()) => Uring::Works,
        Err(error) => Uring::Refused(error.to_string()),
    }
}

fn style(verbose: bool) -> Style {
    let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let size = rustix::termios::tcgetwinsize(std::io::stdout());
    let columns = size.map_or(0, |size| usize::from(size.ws_col));
    Style {
        colour: wanted && std::io::stdout().is_terminal(),
        width: if columns == 0 {
            WIDTH
        } else {
            columns.min(WIDTH)
        },
        verbose,
    }
}

/// Prints to standard output. A reader that has gone, as `head` does, changes nothing about what was found.
fn print(text: &str) -> anyhow::Result<()> {
    match output::say(format_args!("{text}")) {
        Err(Unsaid::ReaderGone) => Ok(()),
        said => Ok(said?),
    }
}
