//! `myriad load run`.

use std::net::IpAddr;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use driver::{Driver, Wanted};
use output::Unsaid;

use super::flags::Where;
use super::group::GroupFlags;
use crate::{duration, log};

/// The name of the only group.
const ONLY: &str = "all";

#[derive(Clone, Copy, clap::ValueEnum)]
enum DriverName {
    /// io_uring where the kernel allows it.
    Auto,
    /// epoll.
    Epoll,
    /// io_uring.
    #[value(name = "io_uring")]
    IoUring,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Tls {
    /// The session of an earlier connection is resumed.
    Resume,
    /// Each connection agrees on keys anew.
    Full,
}

/// One run.
#[derive(clap::Args)]
pub(crate) struct Run {
    #[command(flatten)]
    target: Where,
    #[command(flatten)]
    flags: GroupFlags,
    /// Several kinds of connections at once, each reported alone: name=… and any of the flags from
    /// --user to --on-timeout, without dashes and separated by commas, such as
    /// name=a,user=u1,connections=128,workload=token; may be given several times.
    #[arg(long, value_name = "NAME=…")]
    group: Vec<String>,
    /// Connect from these addresses of this machine in turn. If not given, and many connections go
    /// to the loopback network: 127.0.0.1, 127.0.0.2, …
    #[arg(long, value_name = "ADDRESS", value_delimiter = ',')]
    source: Vec<IpAddr>,
    /// What moves the bytes; io_uring holds more connections than the process may open files.
    #[arg(long, value_enum, default_value_t = DriverName::Auto)]
    driver: DriverName,
    /// Connect over TLS, whatever certificate is shown: `resume` the session of an earlier connection, or
    /// agree on keys anew (`full`).
    #[arg(long, value_enum, num_args = 0..=1, default_missing_value = "resume", require_equals = true)]
    tls: Option<Tls>,
    /// How many connections may be logging in at once.
    #[arg(long, default_value_t = 200)]
    connect_concurrency: u32,
    /// How many threads share the connections; one per core if not given.
    #[arg(long)]
    threads: Option<u32>,
    /// Open the connections evenly over this time, each beginning at once; 0: as fast as
    /// possible, and all begin together.
    #[arg(long, default_value = "0", value_parser = duration::parse, value_name = "DURATION")]
    ramp: Duration,
    /// Give up if no more connections can be logged in for so long.
    #[arg(long, default_value = "20s", value_parser = duration::parse, value_name = "DURATION")]
    login_timeout: Duration,
    /// How long statements run before they are measured.
    #[arg(long, default_value = "5s", value_parser = duration::parse)]
    warmup: Duration,
    /// How long statements are measured.
    #[arg(long, default_value = "60s", value_parser = duration::parse)]
    duration: Duration,
    /// How long answers are awaited once no more statements are sent.
    #[arg(long, default_value = "10s", value_parser = duration::parse, value_name = "DURATION")]
    answer_timeout: Duration,
    /// How often a line is printed.
    #[arg(long, default_value = "1s", value_parser = duration::parse)]
    report_interval: Duration,
    /// Measure the CPU time and memory of this process, too; may be given several times.
    #[arg(long, value_name = "PID")]
    watch_pid: Vec<u32>,
    /// Write the summary to this file as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write a report with plots to this file.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

impl Run {
    pub(super) fn run(&self) -> anyhow::Result<()> {
        log::start(&config::Log::default())?;
        let summary = self.measure()?;
        self.say(format_args!("\n{summary}\n"))?;
        if let Some(file) = &self.json {
            let json = summary.to_json();
            let json = json.context("the summary cannot be written as JSON")?;
            write(file, &(json + "\n"))?;
        }
        if let Some(file) = &self.html {
            write(file, &summary.to_html())?;
        }
        let total = &summary.total;
        anyhow::ensure!(
            summary.is_clean(),
            "not all went well: errors: {}; wrong answers: {}, reconnects: {}, unanswered: {}",
            total.errors_text,
            total.wrong_answers,
            total.reconnects,
            total.unanswered
        );
        Ok(())
    }

    /// What was measured. The run ends early when its progress can be shown to nobody.
    fn measure(&self) -> anyhow::Result<load::Summary> {
        let mut unsaid = None;
        let measured = load::run_while(self.plan()?, |progress| {
            match self.say(format_args!("{progress}\n")) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    unsaid = Some(error);
                    ControlFlow::Break(())
                }
            }
        });
        match unsaid {
            Some(error) => Err(error.into()),
            None => Ok(measured?),
        }
    }

    /// Prints. Whoever wants a file gets it, also if nobody reads what is printed.
    fn say(&self, text: std::fmt::Arguments<'_>) -> Result<(), Unsaid> {
        match output::say(text) {
            Err(Unsaid::ReaderGone) if self.json.is_some() || self.html.is_some() => Ok(()),
            said => said,
        }
    }

    fn plan(&self) -> anyhow::Result<load::Plan> {
        let mut groups: Vec<load::Group> = if self.group.is_empty() {
            vec![self.flags.group(ONLY)?]
        } else {
            let groups = self.group.iter().map(|text| self.flags.group_of(text));
            groups.collect::<anyhow::Result<_>>()?
        };
        for group in &mut groups {
            group.account.tls = self.tls.is_some();
        }
        let target = self.target.addresses()?;
        let sources = if self.source.is_empty() {
            load::loopback_sources(&target, &groups)
        } else {
            self.source.clone()
        };
        let wanted = match self.driver {
            DriverName::Auto => Wanted::Auto,
            DriverName::Epoll => Wanted::Epoll,
            DriverName::IoUring => Wanted::IoUring,
        };
        Ok(load::Plan {
            driver: Driver::choose(wanted)?,
            spread: self.target.takes_turns(),
            target,
            sources,
            groups,
            connect_concurrency: self.connect_concurrency,
            threads: self.threads.unwrap_or_else(cores),
            ramp: self.ramp,
            login_timeout: self.login_timeout,
            answer_timeout: self.answer_timeout,
            warmup: self.warmup,
            duration: self.duration,
            resumes_tls: self.tls == Some(Tls::Resume),
            report_interval: self.report_interval,
            watched: self.watch_pid.clone(),
        })
    }
}

fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    let written = output::replace(file, text.as_bytes(), 0o666);
    written.with_context(|| format!("cannot write {}", file.display()))
}

fn cores() -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    u32::try_from(cores).unwrap_or(u32::MAX)
}
