//! `myriad doctor --fix`: sets what may be set, and says how to undo it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use doctor::{Change, Report, Setting};

/// What is to be done about findings.
#[derive(clap::Args)]
pub(super) struct Flags {
    /// Set what can be set, as root, until the machine is restarted, and say how to undo it.
    #[arg(long)]
    fix: bool,
    /// With --fix: only show what would be set.
    #[arg(long, requires = "fix")]
    dry_run: bool,
    /// With --fix: also write /etc/sysctl.d/60-myriad.conf, so that it lasts.
    #[arg(long, requires = "fix")]
    permanent: bool,
}

/// Where what is to last is written.
const LASTING: &str = "/etc/sysctl.d/60-myriad.conf";

impl Flags {
    /// Whether anything is to be done.
    pub(super) fn wanted(&self) -> bool {
        self.fix
    }

    /// Does it. Status 0: everything that could be set was, and nothing else is wrong.
    pub(super) fn run(&self, report: &Report) -> anyhow::Result<ExitCode> {
        let settings = report.settings();
        let mut text = String::new();
        if self.dry_run {
            for Setting { name, value } in &settings {
                writeln!(text, "would set {name} = {value}")?;
            }
            if self.permanent && !settings.is_empty() {
                writeln!(text, "would write {LASTING}")?;
            }
        } else {
            let (changes, refusals) = doctor::set(&settings);
            for change in &changes {
                writeln!(text, "set {change}\n  undo: {}", undo(change))?;
            }
            for refusal in &refusals {
                writeln!(text, "{refusal}")?;
            }
            if self.permanent && !changes.is_empty() {
                write_lasting(Path::new(LASTING), &changes)?;
                writeln!(text, "wrote {LASTING}\n  undo: remove it, or its lines")?;
            }
        }
        if settings.is_empty() {
            text.push_str("nothing can be set here that would help\n");
        }
        text += &by_hand(report);
        super::print(&text)?;
        Ok(ExitCode::from(report.exit_status()))
    }
}

fn undo(change: &Change) -> String {
    let Change { name, old, .. } = change;
    if name.starts_with('/') {
        format!("echo {old} > {name}")
    } else {
        format!("sysctl -w {name}='{old}'")
    }
}

/// What is left to whoever reads this.
fn by_hand(report: &Report) -> String {
    let findings = report.findings.iter();
    let remedies = findings.flat_map(|finding| {
        let remedies = finding.observation.remedies.iter();
        remedies.map(move |remedy| (finding.check, remedy))
    });
    let lines = remedies
        .filter(|(_, remedy)| remedy.setting().is_none())
        .map(|(check, remedy)| format!("by hand, {check}: {}\n", remedy.now()));
    lines.collect()
}

/// Lines of the file that are about other settings stay.
fn write_lasting(path: &Path, changes: &[Change]) -> anyhow::Result<()> {
    let old = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        read => read.with_context(|| format!("cannot read {}", path.display()))?,
    };
    let text = merged(&old, changes);
    let written = output::replace(path, text.as_bytes(), 0o644);
    written.with_context(|| format!("cannot write {}", path.display()))
}

fn merged(old: &str, changes: &[Change]) -> String {
    let mut lines: BTreeMap<&str, &str> = old
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'))
        .filter_map(|line| line.split_once('='))
        .map(|(name, value)| (name.trim(), value.trim()))
        .collect();
    let sysctls = changes
        .iter()
        .filter(|change| !change.name.starts_with('/'));
    lines.extend(sysctls.map(|change| (change.name.as_str(), change.new.as_str())));
    let lines = lines
        .iter()
        .map(|(name, value)| format!("{name} = {value}\n"));
    std::iter::once("# Written by `myriad doctor --fix --permanent`.\n".to_owned())
        .chain(lines)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(name: &str, old: &str, new: &str) -> Change {
        Change {
            name: name.into(),
            old: old.into(),
            new: new.into(),
        }
    }

    #[test]
    fn undoing_names_the_old_value() {
        let range = change("net.ipv4.ip_local_port_range", "32768 60999", "4000 65000");
        assert_eq!(
            undo(&range),
            "sysctl -w net.ipv4.ip_local_port_range='32768 60999'"
        );
        assert_eq!(
            undo(&change("/sys/x", "always", "never")),
            "echo always > /sys/x"
        );
    }

    #[test]
    fn lasting_settings_join_those_that_are_there() {
        let changes = [change("a.b", "1", "2"), change("/sys/x", "1", "2")];
        let text = merged("# mine\na.b = 1\nc.d=7\n", &changes);
        assert_eq!(
            text,
            "# Written by `myriad doctor --fix --permanent`.\na.b = 2\nc.d = 7\n"
        );
    }
}
