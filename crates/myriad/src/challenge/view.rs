//! Progress as people see it: bars in a terminal, plain lines elsewhere.

use std::io::IsTerminal;
use std::time::Duration;

use challenge::{Course, Live, Outcome, Row, Watcher};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

const TEMPLATE: &str = "{prefix:.bold} {bar:30.cyan/dim} {msg}";
const SPIN: Duration = Duration::from_millis(200);

/// Shows progress on standard error.
pub(super) struct View {
    /// Hidden where there is no terminal.
    bar: ProgressBar,
    is_terminal: bool,
    connections: u32,
}

impl View {
    pub(super) fn new() -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        let bar = if is_terminal {
            ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr())
        } else {
            ProgressBar::hidden()
        };
        if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
            bar.set_style(style);
        }
        bar.enable_steady_tick(SPIN);
        Self {
            bar,
            is_terminal,
            connections: 0,
        }
    }

    fn line(&self, text: &str) {
        if self.is_terminal {
            self.bar.println(text);
        } else {
            output::complain(format_args!("{text}\n"));
        }
    }
}

impl Watcher for View {
    fn say(&mut self, text: &str) {
        self.line(text);
    }

    fn prepare(&mut self, text: &str) {
        self.bar.set_message(format!("{text} …"));
        if !self.is_terminal {
            output::complain(format_args!("{text} …\n"));
        }
    }

    fn begin(&mut self, course: &Course, number: usize, all: usize) {
        self.connections = course.connections;
        self.bar.set_prefix(format!("{number}/{all}"));
        self.bar.set_length(u64::from(course.connections));
        self.bar.set_position(0);
    }

    fn look(&mut self, live: &Live) {
        self.bar.set_position(u64::from(live.connections));
        self.bar.set_message(match live {
            live if live.connections < self.connections => {
                format!("{} connections are logged in", live.connections)
            }
            live if live.is_measuring => format!("{:.0} statements/s", live.per_s),
            live => format!("{:.0} statements/s, warming up", live.per_s),
        });
    }

    fn done(&mut self, row: &Row) {
        let (connections, name) = (row.connections, row.name());
        let what = match &row.outcome {
            Outcome::Measured(figures) => format!(
                "{:.0} per second, {:.1} ms (95 %), errors: {}",
                figures.statements_per_s, figures.latency_ms.p95, figures.errors
            ),
            Outcome::Stopped(limit) => format!("✕ {}", limit.text),
            Outcome::Failed(why) => format!("✕ {why}"),
        };
        self.line(&format!("{connections:>9} {name}: {what}"));
    }
}

impl Drop for View {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
