//! `myriad load prepare` and `myriad load cleanup`.

use std::io::IsTerminal;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::flags::{Tables, Where, Who};

/// Making tables.
#[derive(clap::Args)]
pub(crate) struct Prepare {
    #[command(flatten)]
    target: Where,
    #[command(flatten)]
    who: Who,
    #[command(flatten)]
    tables: Tables,
    /// How many connections share the work.
    #[arg(long, default_value_t = 4)]
    connections: u32,
}

/// Removing them.
#[derive(clap::Args)]
pub(crate) struct Cleanup {
    #[command(flatten)]
    target: Where,
    #[command(flatten)]
    who: Who,
    #[command(flatten)]
    tables: Tables,
}

impl Prepare {
    pub(super) fn run(&self) -> anyhow::Result<()> {
        let tables = load::Tables {
            connections: self.connections,
            ..tables(&self.target, &self.who, &self.tables)?
        };
        let begin = Instant::now();
        let bar = bar(tables.rows_total());
        tables.prepare(|rows| bar.set_position(rows))?;
        bar.finish_and_clear();
        let (rows, seconds) = (tables.rows_total(), begin.elapsed().as_secs_f64());
        let count = tables.tables;
        output::say(format_args!(
            "{count} tables with {rows} rows made in {seconds:.1} s\n"
        ))?;
        Ok(())
    }
}

impl Cleanup {
    pub(super) fn run(&self) -> anyhow::Result<()> {
        let tables = tables(&self.target, &self.who, &self.tables)?;
        tables.cleanup()?;
        output::say(format_args!("sbtest1 to sbtest{} removed\n", tables.tables))?;
        Ok(())
    }
}

fn tables(target: &Where, who: &Who, tables: &Tables) -> anyhow::Result<load::Tables> {
    Ok(load::Tables {
        target: target.addresses()?,
        account: who.account(),
        tables: tables.tables,
        rows: tables.table_size,
        connections: 1,
    })
}

/// A bar for people; nothing where output goes into a file.
fn bar(rows: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(Some(rows), ProgressDrawTarget::stderr());
    let template = "{bar:40} {human_pos} of {human_len} rows, {per_sec}, {eta} left";
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
