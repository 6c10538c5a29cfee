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
mod parent;
mod passwords;
mod quotas;
mod reload;
mod serve;
mod workers;

use clap::{Parser, Subcommand};

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

fn main() -> std::process::ExitCode {
    let arguments = Arguments::parse();
    if let Err(error) = arguments.end_with.map_or(Ok(()), parent::end_with) {
        return failed(&error);
    }
    let result = match arguments.command {
        Command::Challenge(arguments) => challenge::run(&arguments),
        Command::Serve(arguments) => serve::run(&arguments),
        Command::Config(arguments) => config_command::run(&arguments),
        Command::Doctor(arguments) => return doctor::run(&arguments),
        Command::Load(arguments) => load::run(&arguments),
    };
    match result {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

fn failed(error: &anyhow::Error) -> std::process::ExitCode {
    eprintln!("myriad: {error:#}");
    std::process::ExitCode::FAILURE
}
