//! `myriad doctor explain`: what an error means.

use std::process::ExitCode;

use doctor::Style;

/// Which error.
#[derive(clap::Args)]
pub(super) struct Explain {
    /// A number (99, 2003, 1040), a symbol (EMFILE), or the whole message.
    #[arg(required = true)]
    error: Vec<String>,
    /// Print it as JSON.
    #[arg(long)]
    json: bool,
}

impl Explain {
    pub(super) fn run(&self, style: Style) -> anyhow::Result<ExitCode> {
        let text = self.error.join(" ");
        let known = doctor::explain(&text);
        if self.json {
            super::print(&(serde_json::to_string_pretty(&known)? + "\n"))?;
        } else {
            let texts: Vec<String> = known.iter().map(|entry| entry.to_text(style)).collect();
            super::print(&texts.join("\n"))?;
        }
        if known.is_empty() {
            anyhow::bail!(
                "nothing is known about {text:?}; give a number, such as 99, 2003 or 1040"
            );
        }
        Ok(ExitCode::SUCCESS)
    }
}
