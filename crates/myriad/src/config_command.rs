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
            let accounts = settings.accounts.len();
            let mut text = format!("{}: fine ({accounts} accounts)\n", file.display());
            if accounts == 0 {
                text += "nobody can log in yet: add an [[account]]\n";
            }
            output::say(format_args!("{text}"))?;
        }
        Arguments::Default => output::say(format_args!("{}", config::default_toml()))?,
    }
    Ok(())
}
