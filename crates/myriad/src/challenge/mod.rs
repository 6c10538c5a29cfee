//! `myriad challenge`: the ladder of connections and further chapters, in one report.

mod signals;
mod view;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use challenge::{Chapter, Plan, Steps, Stop};

use crate::doctor::uring;
use crate::{duration, log};
use view::View;

/// How long each run is measured.
const USUAL: Duration = Duration::from_secs(20);
const QUICK: Duration = Duration::from_secs(5);

/// The numbers of reconnecting users.
const USERS: &str = "8,16,32,64,128,256,512,1024";

/// The numbers of updating connections.
const WIDTHS: &str = "8,16,32,64,128,256,512,1024,10000,100000";

/// What to find out.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The chapters to run: ladder, connect-rate, update-ladder, isolation, storm; the first two if none
    /// is named.
    #[arg(value_name = "CHAPTER")]
    chapters: Vec<Chapter>,
    /// The ladder's numbers of connections, such as 1000,10k,1M.
    #[arg(
        long,
        value_name = "N,…",
        default_value = "10000,25000,50000,75000,100000"
    )]
    steps: Steps,
    /// The numbers of users that connect for every statement.
    #[arg(long, value_name = "N,…", default_value = USERS)]
    users: Steps,
    /// The update ladder's numbers of connections.
    #[arg(long, value_name = "N,…", default_value = WIDTHS)]
    widths: Steps,
    /// How many clients the misbehaving account of isolation has where they are many.
    #[arg(long, value_name = "N", default_value_t = 50_000, value_parser = clap::value_parser!(u32).range(129..=1_000_000))]
    crowd: u32,
    /// How many clients are in the storm.
    #[arg(long, value_name = "N", default_value_t = 5_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    storm_clients: u32,
    /// Measure each run for 5 s instead of 20 s.
    #[arg(long)]
    quick: bool,
    /// Measure each run for so long.
    #[arg(long, value_parser = duration::parse, conflicts_with = "quick")]
    duration: Option<Duration>,
    /// Where the reports go: challenge.html and challenge.json.
    #[arg(long, value_name = "DIR", default_value = "var/challenge")]
    out: PathBuf,
    /// Where the private MariaDB lives; the tables stay in it for the next time.
    #[arg(long, value_name = "FOLDER", default_value = "var/mariadb")]
    local_folder: PathBuf,
    /// How many rows each of the ten tables has.
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..))]
    table_size: u32,
    /// Change no settings of this host, even if they stop a step.
    #[arg(long)]
    keep_settings: bool,
    /// Where old values of settings are kept until they are put back.
    #[arg(
        long,
        value_name = "FILE",
        default_value = "/run/myriad-challenge.json",
        hide = true
    )]
    state: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    log::start(&config::Log {
        level: config::Level::Warn,
        ..config::Log::default()
    })?;
    let stop = Stop::default();
    signals::request_stop(stop.clone())?;
    let plan = arguments.plan()?;
    let report = challenge::run(&plan, &mut View::new(), &stop)?;
    let file = arguments.out.join("challenge.html");
    output::say(format_args!("\n{report}\nThe report: {}\n", file.display()))?;
    anyhow::ensure!(
        !report.interrupted,
        "ended early; what was measured is in the report"
    );
    match report.trouble() {
        Some(trouble) => Err(anyhow::anyhow!(
            "not all went well: {trouble}; the report says more"
        )),
        None => Ok(()),
    }
}

impl Arguments {
    fn plan(&self) -> anyhow::Result<Plan> {
        let program = std::env::current_exe().context("cannot find this program")?;
        let usual = if self.quick { QUICK } else { USUAL };
        let duration = self.duration.unwrap_or(usual);
        anyhow::ensure!(
            !duration.is_zero(),
            "--duration must be more than 0, such as 5s"
        );
        let chapters = match self.chapters.is_empty() {
            true => Chapter::USUAL.to_vec(),
            false => self.chapters.clone(),
        };
        Ok(Plan {
            program,
            chapters,
            steps: self.steps.clone(),
            users: self.users.clone(),
            widths: self.widths.clone(),
            crowd: self.crowd,
            storm: self.storm_clients,
            duration,
            table_size: self.table_size,
            database: self.local_folder.clone(),
            out: self.out.clone(),
            state: self.state.clone(),
            keep_settings: self.keep_settings,
            uring: uring(),
        })
    }
}
