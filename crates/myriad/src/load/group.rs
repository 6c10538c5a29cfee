//! What the connections of a group do: the flags of `myriad load run`, and the same words in
//! `--group name=…,connections=…`.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use anyhow::Context;
use clap::ValueEnum;

use super::flags::{Tables, Who};
use crate::duration;

/// The flags of a group.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct GroupFlags {
    #[command(flatten)]
    who: Who,
    #[command(flatten)]
    tables: Tables,
    /// How many connections to keep.
    #[arg(long, default_value_t = 64)]
    connections: u32,
    /// What the connections do; point-select if not given.
    #[arg(long, value_enum)]
    workload: Option<Workload>,
    /// Run the statements of this file; `--workload script` is implied.
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Use prepared statements, each prepared when a connection first needs it.
    #[arg(long)]
    prepared: bool,
    /// Which rows are chosen how often.
    #[arg(long, value_enum, default_value_t = Distribution::Uniform)]
    distribution: Distribution,
    /// How much zipfian prefers the first rows.
    #[arg(long, default_value_t = 0.8, value_name = "NUMBER")]
    zipfian_exponent: f64,
    /// Begin so many transactions per second, at random times, whether those before them are done or
    /// not (open loop); latency counts from when they were to begin.
    #[arg(long, value_name = "PER_SECOND", conflicts_with = "think_time")]
    rate: Option<f64>,
    /// Wait for so long between two transactions.
    #[arg(long, default_value = "0", value_parser = duration::parse, value_name = "DURATION")]
    think_time: Duration,
    /// Transactions that take no longer than this are goodput.
    #[arg(long, value_parser = duration::parse, value_name = "DURATION")]
    client_timeout: Option<Duration>,
    /// What becomes of a statement that takes longer.
    #[arg(long, value_enum, default_value_t = OnTimeout::Wait, requires = "client_timeout")]
    on_timeout: OnTimeout,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum Workload {
    /// Read single rows by primary key.
    PointSelect,
    /// Change single rows by primary key, each in a transaction of its own.
    UpdateByPrimaryKey,
    /// The transactions of sysbench's oltp_read_only.
    ReadOnly,
    /// The transactions of sysbench's oltp_read_write.
    ReadWrite,
    /// Connect, log in, read a row and quit, again and again.
    Reconnect,
    /// Ask for texts that only their sender can expect.
    Token,
    /// Log in, say nothing, and check at the end that all connections are still there.
    Idle,
    /// What --script says.
    Script,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Distribution {
    /// All equally often.
    Uniform,
    /// The first ones most.
    Zipfian,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum OnTimeout {
    /// The client goes on waiting.
    Wait,
    /// The client closes the connection, connects again and repeats the transaction.
    Reconnect,
}

impl GroupFlags {
    /// The group with these flags.
    pub(super) fn group(&self, name: &str) -> anyhow::Result<load::Group> {
        let pacing = match self.rate {
            Some(per_second) => load::Pacing::Open { per_second },
            None => load::Pacing::Closed {
                think_time: self.think_time,
            },
        };
        let on_timeout = match self.on_timeout {
            OnTimeout::Wait => load::OnTimeout::Wait,
            OnTimeout::Reconnect => load::OnTimeout::Reconnect,
        };
        let patience = self.client_timeout.map(|timeout| load::Patience {
            timeout,
            on_timeout,
        });
        Ok(load::Group {
            name: name.to_owned(),
            account: self.who.account(),
            connections: self.connections,
            workload: self.workload()?,
            prepared: self.prepared,
            pacing,
            patience,
        })
    }

    /// The group that a text such as `name=a,connections=8` describes; these flags hold for what it
    /// does not name.
    pub(super) fn group_of(&self, text: &str) -> anyhow::Result<load::Group> {
        let mut flags = self.clone();
        let mut name = None;
        for part in text.split(',') {
            let (key, value) = part.split_once('=').unwrap_or((part, "true"));
            match key {
                "name" => name = Some(value),
                _ => flags
                    .set(key, value)
                    .with_context(|| format!("--group {text}: {part}"))?,
            }
        }
        let name = name.with_context(|| format!("--group {text}: give it a name=…"))?;
        flags.group(name)
    }

    fn set(&mut self, key: &str, value: &str) -> anyhow::Result<()> {
        match key {
            "user" => self.who.user = value.to_owned(),
            "password" => self.who.password = value.to_owned(),
            "database" => self.who.database = value.to_owned(),
            "tables" => self.tables.tables = number(value)?,
            "table-size" => self.tables.table_size = number(value)?,
            "connections" => self.connections = number(value)?,
            "workload" => (self.workload, self.script) = (Some(choice(value)?), None),
            "script" => (self.workload, self.script) = (None, Some(value.into())),
            "prepared" => self.prepared = number(value)?,
            "distribution" => self.distribution = choice(value)?,
            "zipfian-exponent" => self.zipfian_exponent = number(value)?,
            "rate" => self.rate = Some(number(value)?),
            "think-time" => {
                self.think_time = span(value)?;
                self.rate = None;
            }
            "client-timeout" => self.client_timeout = Some(span(value)?),
            "on-timeout" => self.on_timeout = choice(value)?,
            _ => anyhow::bail!("there is no {key}; write a flag of `myriad load run` without --"),
        }
        Ok(())
    }

    fn workload(&self) -> anyhow::Result<load::Workload> {
        let rows = load::Rows {
            tables: self.tables.tables,
            rows: self.tables.table_size,
            distribution: self.distribution()?,
        };
        if let Some(file) = &self.script {
            let is_script = matches!(self.workload, None | Some(Workload::Script));
            anyhow::ensure!(is_script, "--script goes with --workload script only");
            let text = std::fs::read_to_string(file)
                .with_context(|| format!("cannot read {}", file.display()))?;
            let script = load::Script::parse(&text, rows.distribution)
                .with_context(|| format!("cannot use {}", file.display()))?;
            return Ok(load::Workload::Script(script));
        }
        Ok(match self.workload.unwrap_or(Workload::PointSelect) {
            Workload::PointSelect => load::Workload::PointSelect(rows),
            Workload::UpdateByPrimaryKey => load::Workload::UpdateByPrimaryKey(rows),
            Workload::ReadOnly => load::Workload::ReadOnly(rows),
            Workload::ReadWrite => load::Workload::ReadWrite(rows),
            Workload::Reconnect => load::Workload::Reconnect(rows),
            Workload::Token => load::Workload::Token,
            Workload::Idle => load::Workload::Idle,
            Workload::Script => anyhow::bail!("--workload script needs --script FILE"),
        })
    }

    fn distribution(&self) -> anyhow::Result<load::Distribution> {
        let exponent = self.zipfian_exponent;
        anyhow::ensure!(
            exponent.is_finite() && exponent > 0.0,
            "--zipfian-exponent must be greater than 0, such as 0.8"
        );
        Ok(match self.distribution {
            Distribution::Uniform => load::Distribution::Uniform,
            Distribution::Zipfian => load::Distribution::Zipfian(exponent),
        })
    }
}

fn number<T: FromStr<Err: std::error::Error + Send + Sync + 'static>>(
    text: &str,
) -> anyhow::Result<T> {
    text.parse().with_context(|| format!("{text} will not do"))
}

fn choice<T: ValueEnum>(text: &str) -> anyhow::Result<T> {
    T::from_str(text, false).map_err(anyhow::Error::msg)
}

fn span(text: &str) -> anyhow::Result<Duration> {
    duration::parse(text).map_err(anyhow::Error::msg)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        flags: GroupFlags,
    }

    fn flags(arguments: &[&str]) -> GroupFlags {
        let arguments = std::iter::once("x").chain(arguments.iter().copied());
        Command::try_parse_from(arguments).unwrap().flags
    }

    #[test]
    fn a_group_takes_what_it_does_not_name_from_the_flags() {
        let flags = flags(&["--user", "u", "--client-timeout", "1s", "--tables", "3"]);
        let text = "name=a,connections=8,workload=read-only,rate=50,prepared,on-timeout=reconnect";
        let group = flags.group_of(text).unwrap();
        assert_eq!((group.name.as_str(), group.connections), ("a", 8));
        assert_eq!((group.account.user.as_str(), group.prepared), ("u", true));
        assert_eq!(group.pacing, load::Pacing::Open { per_second: 50.0 });
        assert_eq!(
            group.patience.unwrap().on_timeout,
            load::OnTimeout::Reconnect
        );
        let load::Workload::ReadOnly(rows) = group.workload else {
            panic!("{group:?}");
        };
        assert_eq!((rows.tables, rows.rows), (3, 100_000));
    }

    #[test]
    fn what_a_group_cannot_be_is_said() {
        let error = |text: &str| format!("{:#}", flags(&[]).group_of(text).unwrap_err());
        assert!(error("connections=1").contains("give it a name="));
        assert!(error("name=a,colour=red").contains("there is no colour"));
        assert!(error("name=a,connections=many").contains("many will not do"));
        assert!(error("name=a,workload=script").contains("needs --script FILE"));
    }
}
