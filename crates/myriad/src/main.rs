//! The `myriad` command: one file per subcommand.

mod config_command;
mod doctor;
mod load;
mod local;
mod log;
mod serve;
mod workers;

use clap::{Parser, Subcommand};

/// A front door for MySQL and MariaDB: very many client connections, a few dozen backend
/// connections.
#[derive(Parser)]
#[command(version, about, disable_help_subcommand = true)]
struct Arguments {
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
    /// Find out what would stop so many connections here, and what to do about it.
    Doctor(doctor::Arguments),
    /// Generate load, and measure how it is borne.
    #[command(subcommand)]
    Load(load::Arguments),
}

fn main() -> std::process::ExitCode {
    let result = match Arguments::parse().command {
        Command::Serve(arguments) => serve::run(&arguments),
        Command::Config(arguments) => config_command::run(&arguments),
        Command::Doctor(arguments) => return doctor::run(&arguments),
        Command::Load(arguments) => load::run(&arguments),
    };
    match result {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("myriad: {error:#}");
            std::process::ExitCode::FAILURE
        }
    }
}
