//! Logging, as the configuration asks for it.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

/// Starts logging to standard error.
pub(crate) fn start(log: &config::Log) {
    let filter = EnvFilter::new(log.level.as_str());
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    match log.format {
        config::Format::Text => subscriber.with_target(false).init(),
        config::Format::Json => subscriber.json().init(),
    }
}
