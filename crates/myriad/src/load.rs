//! `myriad load`: the load generator.

use std::net::ToSocketAddrs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::{Subcommand, ValueEnum};
use driver::{Address, Driver, Wanted};

use crate::log;

/// What to do with the load generator.
#[derive(Subcommand)]
pub(crate) enum Arguments {
    /// Keep many connections busy, check every answer, and say how long they took.
    ///
    /// Exits with status 1 if anything went wrong: an error, a wrong answer, a lost connection.
    Run(Box<Run>),
}

/// One run.
#[derive(clap::Args)]
pub(crate) struct Run {
    /// The host to connect to.
    #[arg(long, default_value = "127.0.0.1")]
    host: String,
    /// Its TCP port.
    #[arg(long, default_value_t = 3306)]
    port: u16,
    /// Connect to this unix socket instead of a host.
    #[arg(long, value_name = "PATH", conflicts_with_all = ["host", "port"])]
    socket: Option<PathBuf>,
    /// The user name; its account must use mysql_native_password.
    #[arg(long, default_value = "sbtest")]
    user: String,
    /// The password; empty for none.
    #[arg(long, default_value = "", hide_default_value = true)]
    password: String,
    /// The default schema; empty for none.
    #[arg(long, default_value = "sbtest")]
    database: String,
    /// What the connections do.
    #[arg(long, value_enum, default_value_t = Workload::PointSelect)]
    workload: Workload,
    /// How many tables point-select reads: sbtest1 and so on, as sysbench makes them.
    #[arg(long, default_value_t = 10)]
    tables: u32,
    /// How many rows each of them has.
    #[arg(long, default_value_t = 100_000)]
    table_size: u32,
    /// How many connections to keep.
    #[arg(long, default_value_t = 64)]
    connections: u32,
    /// How many of them may be logging in at once.
    #[arg(long, default_value_t = 200)]
    connect_concurrency: u32,
    /// How many threads share the connections; one per core if not given.
    #[arg(long)]
    threads: Option<u32>,
    /// What moves the bytes; io_uring holds more connections than the process may open files.
    #[arg(long, value_enum, default_value_t = DriverName::Auto)]
    driver: DriverName,
    /// How long statements run before they are measured.
    #[arg(long, default_value = "5s", value_parser = parse_duration)]
    warmup: Duration,
    /// How long statements are measured.
    #[arg(long, default_value = "60s", value_parser = parse_duration)]
    duration: Duration,
    /// How often a line is printed.
    #[arg(long, default_value = "1s", value_parser = parse_duration)]
    report_interval: Duration,
    /// Measure the CPU time and memory of this process, too; may be given several times.
    #[arg(long, value_name = "PID")]
    watch_pid: Vec<u32>,
    /// Write the summary to this file as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum DriverName {
    /// io_uring where the kernel allows it.
    Auto,
    /// epoll.
    Epoll,
    /// io_uring.
    #[value(name = "io_uring")]
    IoUring,
}

#[derive(Clone, Copy, ValueEnum)]
enum Workload {
    /// Read single rows of sysbench tables by primary key.
    PointSelect,
    /// Ask for texts that only their sender can expect.
    Token,
    /// Log in, say nothing, and check at the end that all connections are still there.
    Idle,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let Arguments::Run(arguments) = arguments;
    log::start(&config::Log::default());
    let plan = plan(arguments)?;
    let summary = load::run(plan, |progress| println!("{progress}"))?;
    println!("\n{summary}");
    if let Some(file) = &arguments.json {
        let json = summary
            .to_json()
            .context("the summary cannot be written as JSON")?;
        std::fs::write(file, json + "\n")
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    anyhow::ensure!(
        summary.is_clean(),
        "not all went well: errors: {}; wrong answers: {}, reconnects: {}, unanswered: {}",
        summary.errors_text,
        summary.wrong_answers,
        summary.reconnects,
        summary.unanswered
    );
    Ok(())
}

fn plan(arguments: &Run) -> anyhow::Result<load::Plan> {
    Ok(load::Plan {
        target: target(arguments)?,
        driver: Driver::choose(match arguments.driver {
            DriverName::Auto => Wanted::Auto,
            DriverName::Epoll => Wanted::Epoll,
            DriverName::IoUring => Wanted::IoUring,
        }),
        account: load::Account {
            user: arguments.user.clone(),
            password: arguments.password.clone(),
            schema: arguments.database.clone(),
        },
        workload: match arguments.workload {
            Workload::PointSelect => load::Workload::PointSelect {
                tables: arguments.tables,
                rows: arguments.table_size,
            },
            Workload::Token => load::Workload::Token,
            Workload::Idle => load::Workload::Idle,
        },
        connections: arguments.connections,
        connect_concurrency: arguments.connect_concurrency,
        threads: arguments.threads.unwrap_or_else(cores),
        warmup: arguments.warmup,
        duration: arguments.duration,
        report_interval: arguments.report_interval,
        watched: arguments.watch_pid.clone(),
    })
}

fn target(arguments: &Run) -> anyhow::Result<Vec<Address>> {
    if let Some(path) = &arguments.socket {
        return Ok(vec![Address::Unix(path.clone())]);
    }
    let host = arguments.host.trim_matches(['[', ']']);
    let found = (host, arguments.port)
        .to_socket_addrs()
        .with_context(|| format!("the host name {host} does not resolve"))?;
    Ok(found.map(Address::Tcp).collect())
}

fn cores() -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    u32::try_from(cores).unwrap_or(u32::MAX)
}

/// A whole number and a unit, as in the configuration; zero needs none.
fn parse_duration(text: &str) -> Result<Duration, String> {
    let number = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit_ms = match &text[number.len()..] {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "" if number == "0" => 0,
        _ => return Err("write a whole number and ms, s, m or h, such as 10s".to_owned()),
    };
    let number: u32 = number
        .parse()
        .map_err(|_| "write a smaller whole number".to_owned())?;
    Ok(Duration::from_millis(u64::from(number) * unit_ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_unit() {
        assert_eq!(parse_duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(parse_duration("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(parse_duration("0"), Ok(Duration::ZERO));
        for bad in ["10", "s", "", "1.5s", "-1s", "10 s", "99999999999s", "10µs"] {
            assert!(parse_duration(bad).is_err(), "{bad}");
        }
    }
}
