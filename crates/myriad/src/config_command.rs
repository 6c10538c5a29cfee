//! `myriad config`: the configuration file without serving.

use std::path::PathBuf;

use clap::Subcommand;

/// What to do with configuration.
#[derive(Subcommand)]
pub(crate) enum Arguments {
    /// Say what is wrong with a file, or that nothing is.
    Check {
        /// The file.
        file: PathBuf,
    },
    /// Print the default configuration, with comments.
    Default,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    match arguments {
        Arguments::Check { file } => {
            let settings = config::load(file)?;
            let mut text = format!("{}: fine ({})\n", file.display(), accounts(&settings));
            if settings.has_no_accounts() {
                text += "nobody can log in yet: add [monitor] or an [[account]]\n";
            }
            output::say(format_args!("{text}"))?;
        }
        Arguments::Default => output::say(format_args!("{}", config::default_toml()))?,
    }
    Ok(())
}

/// Who may log in, in a few words.
fn accounts(settings: &config::Settings) -> String {
    let configured = match settings.accounts.len() {
        1 => "1 account".to_owned(),
        count => format!("{count} accounts"),
    };
    match &settings.monitor {
        None => configured,
        Some(monitor) => format!(
            "{configured}, and those of the database, which {} reads",
            monitor.user
        ),
    }
}
